import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createMaker, EVENT_KINDS, type MakeEvent } from '../../test/build-events.ts';
import { keptBytes, longText } from '../../test/kept-bytes.ts';
import { columns } from '../lib/terminal-text.ts';
import type { Event } from '../model/event.ts';
import { type Frame, layout, type Place, scroll, type TuiStyle } from './layout.ts';
import { createTuiState, takeEvent } from './state.ts';

const plain = (text: string) => text;
const STYLE: TuiStyle = {
  colour: { bold: plain, dim: plain, red: plain, green: plain, yellow: plain, inverse: plain },
  unicode: true,
};

function frameOf(events: readonly Event[], size = { cols: 50, rows: 12 }): Frame {
  const state = createTuiState('demo', 0);
  for (const event of events) takeEvent(state, event, 1000);
  return { state, place: 'end', size, now_ms: 3400, cancelling: false };
}
const linesOf = (frame: Frame): string[] => layout(frame, STYLE).map((line) => line.trimEnd());
const numbered = (make: MakeEvent, count: number): Event[] => [
  make('message_finished', {
    text: Array.from({ length: count }, (_, i) => `line ${i + 1}`).join('\n'),
  }),
];

describe('the live view', () => {
  test('shows header, calls, text and footer', () => {
    const make = createMaker();
    const frame = frameOf([
      make('run_started'),
      make('step_started'),
      make('call_requested', { input: { command: 'npm test' } }),
      make('call_finished', { duration_ms: 1234 }),
      make('call_requested', { call_id: 'c2', tool: 'Read', input: { file_path: 'a.txt' } }),
      make('call_finished', {
        call_id: 'c2',
        status: 'error',
        exit_code: null,
        output: 'no\nfile',
      }),
      make('call_requested', { call_id: 'c3', tool: 'Grep', parent_call_id: 'c2' }),
      make('usage_reported', { cost_usd: 0.5 }),
      make('message_delta', { text: 'Hel' }),
      make('message_delta', { text: 'lo,\nthere' }),
    ]);
    expect(linesOf({ ...frame, size: { cols: 66, rows: 12 } })).toEqual([
      ' demo 1.0 · toy · step 1 · 3s · 125 tokens · $0.5000',
      `✓ Bash npm test${' '.repeat(66 - 15 - 4)}1.2s`,
      `✗ Read a.txt${' '.repeat(66 - 12 - 4)}12ms`,
      '  no',
      '  file',
      `  ⠼ Grep npm test${' '.repeat(66 - 17 - 2)}2s`,
      '',
      'Hello,',
      'there',
      '',
      '',
      ` q cancel · ↑↓ PgUp PgDn scroll · G follow${' '.repeat(14)}following`,
    ]);
  });

  test('says what is not known, what the run came to, and that it is being cancelled', () => {
    const make = createMaker();
    const frame = frameOf([make('run_finished', { exit_reason: 'cancelled', model: null })]);
    const lines = linesOf({ ...frame, cancelling: true, size: { cols: 90, rows: 3 } });
    expect(lines[0]).toBe(
      ' demo · model unknown · step 0 · 1.2s · tokens unknown · cost unknown · cancelled',
    );
    expect(lines[2]).toMatch(/^ cancelling +following$/);
  });

  test('shows a message once, whether it came in pieces or whole', () => {
    const make = createMaker();
    const body = (events: Event[]) => linesOf(frameOf(events)).slice(1, 4);
    const deltas = [make('message_delta', { text: 'Hello.' }), make('message_finished')];
    expect(body(deltas)).toEqual(['Hello.', '', '']);
    expect(body([make('message_finished')])).toEqual(['Hello.', '', '']);
    const short = [make('message_delta', { text: 'Hel' }), make('message_finished')];
    expect(body(short)).toEqual(['Hello.', '', '']);
    const unnamed = [make('message_delta', { message_id: null }), make('message_finished')];
    expect(body(unnamed)).toEqual(['Hello.', '', '']);
  });

  test('fits any size, whatever the run says', () => {
    const make = createMaker();
    const text = fc.string({ unit: 'binary', maxLength: 60 });
    const sizes = fc.record({
      cols: fc.integer({ min: 1, max: 90 }),
      rows: fc.integer({ min: 1, max: 30 }),
    });
    const kinds = fc.array(fc.constantFrom(...EVENT_KINDS), { maxLength: 20 });
    fc.assert(
      fc.property(kinds, text, sizes, (list, words, size) => {
        const events = list.map((kind) => {
          const event = make(kind);
          const data = Object.entries(event.data).map(([key, value]) => [
            key,
            ['text', 'tool', 'output', 'message', 'model'].includes(key) ? words : value,
          ]);
          return { ...event, data: Object.fromEntries(data) } as Event;
        });
        const lines = layout(frameOf(events, size), STYLE);
        expect(lines.length).toBe(size.rows);
        for (const line of lines) {
          expect(line).not.toMatch(/[\0-\x1f\x7f-\x9f\u202e]/);
          // A single wide character cannot be made narrower than it is.
          expect(columns(line)).toBeLessThanOrEqual(Math.max(2, size.cols));
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe('scrolling', () => {
  const body = (frame: Frame): string[] => linesOf(frame).slice(1, -1);
  const moved = (frame: Frame, ...steps: Parameters<typeof scroll>[1][]): Frame => {
    let place: Place = frame.place;
    for (const step of steps) place = scroll({ ...frame, place }, step);
    return { ...frame, place };
  };

  test('moves by lines, by pages and to both ends, and follows again at the end', () => {
    const frame = frameOf(numbered(createMaker(), 20), { cols: 30, rows: 6 });
    expect(body(frame)).toEqual(['line 17', 'line 18', 'line 19', 'line 20']);
    const up = moved(frame, { by: -1 }, { by: -2 });
    expect(body(up)).toEqual(['line 14', 'line 15', 'line 16', 'line 17']);
    expect(linesOf(up).at(-1)).toMatch(/line 17 of 20$/);
    expect(body(moved(frame, 'first'))[0]).toBe('line 1');
    expect(body(moved(frame, { by: -99 }))[0]).toBe('line 1');
    expect(moved(up, { by: 3 }).place).toBe('end');
    expect(moved(up, 'last').place).toBe('end');
  });

  test('stays where it is while the run goes on, the window changes and old lines go', () => {
    const make = createMaker();
    const frame = moved(frameOf(numbered(make, 6000), { cols: 30, rows: 6 }), { by: -100 });
    expect(body(frame)[0]).toBe('line 5897');
    takeEvent(
      frame.state,
      make('message_finished', { message_id: 'm2', text: 'more\n'.repeat(600) }),
      0,
    );
    expect(body(frame)[0]).toBe('line 5897');
    expect(body({ ...frame, size: { cols: 4, rows: 20 } })[0]).toBe('line');
    takeEvent(
      frame.state,
      make('message_finished', { message_id: 'm3', text: 'x\n'.repeat(9000) }),
      0,
    );
    expect(body(frame)[0]).toBe('x');
    expect(frame.state.rows.length).toBeLessThanOrEqual(5000);
  });

  test('does nothing where everything fits', () => {
    const frame = frameOf(numbered(createMaker(), 2));
    expect(moved(frame, { by: -5 }).place).toBe('end');
  });
});

test('one endless line is kept in pieces and loses nothing', () => {
  const make = createMaker();
  const state = createTuiState('demo', 0);
  for (let i = 0; i < 100; i += 1)
    takeEvent(state, make('message_delta', { text: '🚀'.repeat(51) }), 0);
  const texts = state.rows.map((row) => (row.kind === 'text' ? row.text : ''));
  expect(texts.join('')).toBe('🚀'.repeat(5100));
  expect(texts.every((text) => text.isWellFormed() && text.length <= 1000)).toBe(true);
});

test('the live view keeps little of long texts', () => {
  const make = createMaker();
  const kept = keptBytes(() => {
    const state = createTuiState('demo', 0);
    for (let n = 0; n < 40; n++) {
      const call_id = `c${n}`;
      const input = { command: longText(n) };
      takeEvent(state, make('call_requested', { call_id, tool: longText(n), input }), 1);
      takeEvent(state, make('thinking_finished', { text: longText(n) }), 1);
      if (n % 2 === 0) continue;
      const failed = { call_id, status: 'error' as const, output: `x\n${longText(n)}` };
      takeEvent(state, make('call_finished', failed), 1);
    }
    return state;
  });
  expect(kept).toBeLessThan(8 * 1024 * 1024);
});
