import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createMaker, EVENT_KINDS, type MakeEvent } from '../../test/build-events.ts';
import { keptBytes, longText } from '../../test/kept-bytes.ts';
import { bodyOf, frameOf, linesOf, newState, PLAIN, press } from '../../test/tui-frame.ts';
import { columns } from '../lib/terminal-text.ts';
import type { Event } from '../model/event.ts';
import { takeEvent } from './fold.ts';
import { layout } from './layout.ts';

const numbered = (make: MakeEvent, count: number): Event[] => [
  make('message_finished', {
    text: Array.from({ length: count }, (_, i) => `line ${i + 1}`).join('\n'),
  }),
];
const EDIT = {
  file_path: '/home/user/project/sum.js',
  old_string: 'a - b\n',
  new_string: 'a + b\n',
};

function worked(make: MakeEvent): Event[] {
  return [
    make('run_started'),
    make('step_started'),
    make('call_requested', { input: { command: 'npm test' } }),
    make('call_finished', { duration_ms: 1234, output: 'all\ngood' }),
    make('call_requested', { call_id: 'c2', tool: 'Read', input: { file_path: 'a.txt' } }),
    make('call_requested', { call_id: 'c3', tool: 'Edit', input: EDIT }),
    make('call_finished', { call_id: 'c2', status: 'error', exit_code: null, output: 'no\nfile' }),
    make('call_finished', { call_id: 'c3', status: 'ok', exit_code: null, output: 'done' }),
    make('call_requested', { call_id: 'c4', tool: 'Task', input: { description: 'look' } }),
    make('call_requested', { call_id: 'c5', tool: 'Grep', parent_call_id: 'c4' }),
    make('call_decided', { call_id: 'c5', decision: 'deny', reason: 'not here' }),
    make('call_finished', { call_id: 'c5', status: 'denied', exit_code: null, output: null }),
    make('usage_reported', { cost_usd: 0.5 }),
    make('message_delta', { text: 'Hel' }),
    make('message_delta', { text: 'lo,\nthere' }),
  ];
}

describe('the view of a run', () => {
  test('shows header, prompt and folder, calls with their diffs, text, activity and keys', () => {
    const size = { cols: 100, rows: 19 };
    const right = (left: string, notes: string) =>
      `  ${left}${' '.repeat(98 - left.length - notes.length)}${notes}`;
    expect(linesOf(frameOf(worked(createMaker()), size))).toEqual([
      ' ⠼ running 3s · 5 calls, 1 failed, 1 denied · 125 tokens · $0.5000 · step 1 · demo 1.0 · toy',
      ` Say hello${' '.repeat(76)}1 · ~/project`,
      right('✓ Bash npm test', '1.2s'),
      right('✗ Read a.txt', '12ms'),
      '    no',
      '    file',
      right('✓ Edit sum.js', '12ms'),
      '    -a - b',
      '    +a + b',
      right('⠼ Task look', '2s'),
      right('  ⊘ Grep npm test', 'denied 12ms'),
      '',
      '  Hello,',
      '› there',
      '',
      '',
      '',
      ' ⠼ Task 2s',
      ` q leave · Enter open · / search · ? keys · Ctrl-C cancel · e next failure${' '.repeat(16)}following`,
    ]);
  });

  test('shows how long the model has been thinking', () => {
    const make = createMaker();
    const frame = frameOf([make('run_started')]);
    takeEvent(frame.state, make('thinking_delta'), 2000);
    expect(linesOf({ ...frame, now_ms: 13_400 }).at(-2)).toBe(' ⠼ thinking 12s');
    expect(linesOf({ ...frame, now_ms: 13_500 }).at(-2)).toBe(' ⠴ thinking 12s');
  });

  test('shows the outcome of a finished run, its error, and how to leave', () => {
    const make = createMaker();
    const end = { exit_reason: 'agent_error', ok: false, model: null, error: 'it broke' } as const;
    const frame = frameOf([make('run_finished', end)], { cols: 90, rows: 9 });
    const lines = linesOf(frame);
    expect(lines[0]).toBe(
      ' ✗ agent_error 1.2s · 0 calls · tokens unknown · cost unknown · step 0 · demo',
    );
    expect(lines.slice(-2)).toEqual([
      ' it broke',
      expect.stringMatching(/^ q quit · Enter open .* end$/),
    ]);
    expect(press(frame, 'q')).toBe('quit');
    expect(press(frame, '<ctrl_c>')).toBe('quit');
  });

  test('asks before the run is cancelled', () => {
    const frame = frameOf([createMaker()('run_started')]);
    const question = ' Cancel the run? y/n';
    expect(press(frame, '<ctrl_c>')).toBe(null);
    expect(linesOf(frame).at(-1)).toBe(question);
    expect(press(frame, 'n')).toBe(null);
    expect(linesOf(frame).at(-1)).toContain('q leave');
    expect(press(frame, '<ctrl_c>', '<ctrl_c>')).toBe('cancel');
    expect(linesOf(frame).at(-1)).toContain('cancelling');
    expect(press(frame, '<ctrl_c>')).toBe('cancel');
  });

  test('a run that ends while the question is shown needs no answer', () => {
    const make = createMaker();
    const frame = frameOf([make('run_started')]);
    press(frame, '<ctrl_c>');
    const ended = { ...frame, place: 'ended' as const };
    takeEvent(ended.state, make('run_finished'), 1);
    expect(linesOf(ended).at(-1)).toMatch(/^ q quit/);
    expect(press(ended, 'y')).toBe(null);
    expect(press(ended, 'q')).toBe('quit');
  });

  test('shows fewer facts and keys on a narrow screen, none of them cut', () => {
    const frame = frameOf(worked(createMaker()), { cols: 40, rows: 10 });
    const lines = linesOf(frame);
    expect(lines[0]).toBe(' ⠼ running 3s · $0.5000 · demo 1.0');
    expect(lines.at(-1)).toBe(' q leave · / search · ? keys  following');
  });

  test('shows a message once, whether or not it arrived in pieces', () => {
    const make = createMaker();
    const body = (events: Event[]) => bodyOf(frameOf(events)).slice(0, 3);
    const deltas = [make('message_delta', { text: 'Hello.' }), make('message_finished')];
    expect(body(deltas)).toEqual(['› Hello.', '', '']);
    expect(body([make('message_finished')])).toEqual(['› Hello.', '', '']);
    const short = [make('message_delta', { text: 'Hel' }), make('message_finished')];
    expect(body(short)).toEqual(['› Hello.', '', '']);
    const unnamed = [make('message_delta', { message_id: null }), make('message_finished')];
    expect(body(unnamed)).toEqual(['› Hello.', '', '']);
  });

  test('fits any size, for any run and any keys', () => {
    const make = createMaker();
    const text = fc.string({ unit: 'binary', maxLength: 60 });
    const sizes = fc.record({
      cols: fc.oneof(fc.integer({ min: 1, max: 90 }), fc.constantFrom(160, 200)),
      rows: fc.integer({ min: 1, max: 30 }),
    });
    const kinds = fc.array(fc.constantFrom(...EVENT_KINDS), { maxLength: 20 });
    const keys = fc.array(
      fc.constantFrom(
        '<up>',
        'g',
        '<enter>',
        '<escape>',
        '/',
        'a',
        'n',
        'z',
        '?',
        '<tab>',
        '<ctrl_c>',
      ),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(kinds, text, sizes, keys, (list, words, size, pressed) => {
        const events = list.map((kind) => {
          const event = make(kind);
          const data = Object.entries(event.data).map(([key, value]) => [
            key,
            ['text', 'tool', 'output', 'message', 'model', 'prompt', 'cwd', 'diff'].includes(key)
              ? words
              : value,
          ]);
          return { ...event, data: Object.fromEntries(data) } as Event;
        });
        const frame = frameOf(events, size);
        press(frame, ...pressed);
        const lines = layout(frame, PLAIN);
        expect(lines.length).toBe(size.rows);
        for (const line of lines) {
          expect(line).not.toMatch(/[\0-\x1f\x7f-\x9f\u202e]/);
          // A single wide character cannot be made narrower than it is.
          expect(columns(line)).toBeLessThanOrEqual(Math.max(2, size.cols));
        }
      }),
      { numRuns: 25 },
    );
  });

  test('shows the selected call beside the list if there is room', () => {
    const frame = frameOf(worked(createMaker()), { cols: 160, rows: 14 });
    press(frame, 'g');
    const beside = () => bodyOf(frame).map((line) => line.slice(80));
    expect(beside().slice(0, 7)).toEqual([
      ' │ ✓ Bash · ok · 1.2s · step 1',
      ' │ command: npm test',
      ' │',
      ' │ output',
      ' │ all',
      ' │ good',
      ' │',
    ]);
    press(frame, 'j');
    expect(beside()[0]).toBe(' │ ✗ Read · error · 12ms · step 1');
  });
});

describe('moving', () => {
  test('works by lines, by pages and to both ends, and follows again at the end', () => {
    const frame = frameOf(numbered(createMaker(), 20), { cols: 40, rows: 8 });
    expect(bodyOf(frame)).toEqual(['  line 17', '  line 18', '  line 19', '› line 20']);
    press(frame, 'k', '<up>');
    expect(bodyOf(frame)).toEqual(['  line 17', '› line 18', '  line 19', '  line 20']);
    press(frame, 'k', 'k', 'k');
    expect(bodyOf(frame)).toEqual(['› line 15', '  line 16', '  line 17', '  line 18']);
    expect(linesOf(frame).at(-1)).toMatch(/row 15 of 20$/);
    press(frame, '<page_up>');
    expect(bodyOf(frame)[0]).toBe('› line 12');
    press(frame, 'g');
    expect(bodyOf(frame)[0]).toBe('› line 1');
    press(frame, 'j', '<page_down>');
    expect(bodyOf(frame)[3]).toBe('› line 5');
    press(frame, 'G');
    expect(frame.view.cursor).toBe('end');
    press(frame, 'k', 'j');
    expect(frame.view.cursor).toBe('end');
  });

  test('keeps its position while the run continues, the window changes and old lines are dropped', () => {
    const make = createMaker();
    const frame = frameOf(numbered(make, 20_000), { cols: 30, rows: 8 });
    for (let n = 0; n < 100; n++) press(frame, 'k');
    expect(bodyOf(frame)[0]).toBe('› line 19900');
    const more = (message_id: string, text: string) =>
      takeEvent(frame.state, make('message_finished', { message_id, text }), 0);
    more('m2', 'more\n'.repeat(600));
    expect(bodyOf(frame)[0]).toBe('› line 19900');
    expect(bodyOf({ ...frame, size: { cols: 6, rows: 20 } })[0]).toBe('› line');
    more('m3', 'x\n'.repeat(25_000));
    expect(bodyOf(frame)[0]).toBe('› x');
    expect(linesOf({ ...frame, size: { cols: 60, rows: 8 } }).slice(-2)).toEqual([
      expect.stringMatching(/no longer has the first \d+ rows/),
      expect.stringMatching(/row \d+ of \d+$/),
    ]);
    expect(frame.state.rows.length).toBeLessThanOrEqual(20_000);
  });

  test('e goes to failed and denied calls, also on a page, and unfolds sub-agents', () => {
    const frame = frameOf(worked(createMaker()), { cols: 60, rows: 18 });
    const selected = () => bodyOf(frame).find((line) => line.startsWith('›'));
    press(frame, 'g', '<tab>', '<tab>', '<tab>', 'z', 'g', 'e');
    expect(selected()).toContain('Read a.txt');
    press(frame, '<enter>', 'e');
    expect(bodyOf(frame)[0]).toContain('⊘ Grep · denied');
    press(frame, 'q');
    expect(selected()).toContain('Grep npm test');
    press(frame, 'e');
    expect(selected()).toContain('Grep npm test');
    press(frame, 'E');
    expect(selected()).toContain('Read a.txt');
  });

  test('half a page is half of the list', () => {
    const frame = frameOf(numbered(createMaker(), 40), { cols: 40, rows: 12 });
    press(frame, 'g', '<ctrl_d>');
    expect(bodyOf(frame)[4]).toBe('› line 5');
    press(frame, '<ctrl_f>', '<ctrl_u>', '<ctrl_b>');
    expect(bodyOf(frame)[0]).toBe('› line 1');
  });

  test('Tab goes from call to call', () => {
    const frame = frameOf(worked(createMaker()), { cols: 60, rows: 18 });
    press(frame, 'g', '<tab>', '<tab>');
    expect(bodyOf(frame).find((line) => line.startsWith('›'))).toContain('Edit sum.js');
    press(frame, '<backtab>');
    expect(bodyOf(frame).find((line) => line.startsWith('›'))).toContain('Read a.txt');
  });
});

describe('an opened line', () => {
  test('shows the complete input and output of a call, its diff and the reason of a denial', () => {
    const frame = frameOf(worked(createMaker()), { cols: 60, rows: 18 });
    press(frame, 'g', '<enter>');
    const opened = () => bodyOf(frame).filter((line) => line !== '');
    expect(opened()).toEqual([
      '✓ Bash · ok · 1.2s · step 1',
      'command: npm test',
      'output',
      'all',
      'good',
    ]);
    press(frame, '<tab>', '<tab>');
    expect(opened()).toEqual([
      '✓ Edit · ok · 12ms · step 1',
      'sum.js',
      'diff',
      '-a - b',
      '+a + b',
      'output',
      'done',
    ]);
    press(frame, '<tab>', '<tab>');
    expect(opened().slice(0, 3)).toEqual(['⊘ Grep · denied · 12ms · step 1', 'denied', 'not here']);
    press(frame, '<escape>');
    expect(bodyOf(frame).find((line) => line.startsWith('›'))).toContain('Grep');
  });

  test('scrolls, is searched, and shows all keys', () => {
    const make = createMaker();
    const output = Array.from({ length: 100 }, (_, n) => `out ${n + 1}`).join('\n');
    const frame = frameOf([make('call_requested'), make('call_finished', { output })], {
      cols: 60,
      rows: 12,
    });
    press(frame, '<enter>', 'G');
    expect(bodyOf(frame).at(-1)).toBe('out 100');
    press(frame, 'g', '/', ...'OUT 5', '<enter>');
    expect(bodyOf(frame)[1]).toBe('out 5');
    press(frame, 'n');
    expect(bodyOf(frame)[1]).toBe('out 50');
    press(frame, 'N');
    expect(bodyOf(frame)[1]).toBe('out 5');
    press(frame, '?');
    expect(bodyOf(frame).slice(0, 3)).toEqual(['keys', 'Up Down  k j', '  one line up or down']);
    press(frame, 'q');
    expect(bodyOf(frame)[0]).toContain('Bash');
    press(frame, 'q');
    expect(bodyOf(frame)[0]).toMatch(/^› ✓ Bash/);
    expect(press(frame, 'q')).toBe('leave');
  });

  test('reports texts that are no longer kept', () => {
    const make = createMaker();
    const frame = frameOf([make('run_started')], { cols: 60, rows: 12 });
    const output = 'x'.repeat(300_000);
    for (let n = 0; n < 70; n++) {
      const call_id = `c${n}`;
      takeEvent(frame.state, make('call_requested', { call_id }), 1);
      takeEvent(frame.state, make('call_finished', { call_id, output }), 1);
    }
    press(frame, 'G', '<enter>', 'G');
    expect(bodyOf(frame).join(' ')).toMatch(/more characters: tacho show r_1 --full/);
    press(frame, 'q', 'g', '<enter>');
    expect(bodyOf(frame).join(' ')).toContain('no longer has the texts of this line');
  });
});

describe('prompts', () => {
  test('the first prompt is in the header, repeated or not, and later ones are rows', () => {
    const make = createMaker();
    const user = (text: string, more = {}) =>
      make('message_finished', { role: 'user', text, message_id: null, ...more });
    const imported = frameOf([
      make('run_started', { prompt: null }),
      user('Fix it'),
      make('message_finished'),
      user('And now\nthe tests'),
      user('of a sub-agent', { parent_call_id: 'c1' }),
      user('made by the CLI', { synthetic: true }),
    ]);
    expect(linesOf(imported)[1]).toMatch(/^ Fix it .*~\/project$/);
    expect(bodyOf(imported).slice(0, 4)).toEqual(['  Hello.', '', '› you: And now the tests', '']);
    press(imported, '<enter>');
    expect(bodyOf(imported).slice(0, 3)).toEqual(['you', 'And now', 'the tests']);
    const repeated = frameOf([make('run_started', { prompt: 'Fix it' }), user('Fix it\n')]);
    expect(repeated.state.rows).toEqual([]);
  });

  test('i shows the whole prompt and the facts about the run', () => {
    const make = createMaker();
    const prompt = `${'word '.repeat(20)}end`;
    const frame = frameOf([make('run_started', { prompt }), make('usage_reported')], {
      cols: 60,
      rows: 24,
    });
    press(frame, 'i');
    const about = bodyOf(frame).join('\n');
    expect(about).toMatch(/^about the run\nprompt\nword word .*\n.*word end\n\nrun +r_1\n/);
    expect(about).toMatch(/\nfolder +\/home\/user\/project\nagent +demo 1\.0\nmodel +toy\n/);
    expect(about).toMatch(/\ntokens +125 \(/);
    press(frame, '<escape>');
    expect(frame.view.page).toBe(null);
  });
});

describe('searching', () => {
  test('finds lines, inputs and outputs while it is typed, and wraps around', () => {
    const frame = frameOf(worked(createMaker()), { cols: 60, rows: 18 });
    const selected = () => bodyOf(frame).find((line) => line.startsWith('›'));
    press(frame, 'g', '/', 'N', 'p');
    expect(linesOf(frame).at(-1)).toBe(' /Np_');
    expect(selected()).toContain('Bash npm test');
    press(frame, '<enter>', 'n');
    expect(selected()).toContain('Grep npm test');
    press(frame, 'n');
    expect(selected()).toContain('Bash npm test');
    press(frame, '/', ...'good', '<enter>');
    expect(selected()).toContain('Bash npm test');
    press(frame, '/', ...'there');
    expect(selected()).toContain('there');
    press(frame, '<escape>');
    expect(selected()).toContain('Bash npm test');
  });

  test('says when nothing was found', () => {
    const frame = frameOf(worked(createMaker()), { cols: 60, rows: 18 });
    press(frame, '/', ...'nowhere');
    expect(linesOf(frame).at(-1)).toBe(' /nowhere_  no match');
    press(frame, '<enter>', 'n');
    expect(linesOf(frame).at(-1)).toMatch(/^ q leave · n next match · .* no match$/);
    press(frame, '<escape>');
    expect(linesOf(frame).at(-1)).toMatch(/^ q leave · Enter open · .*following$/);
  });

  test('Escape in a run from the list clears the search, then returns to the list', () => {
    const frame = { ...frameOf(worked(createMaker())), place: 'past' as const };
    press(frame, '/', 'n', '<enter>');
    expect(press(frame, '<escape>')).toBe(null);
    expect(press(frame, '<escape>')).toBe('leave');
    expect(press(frame, 'h')).toBe('leave');
    expect(press(frame, '<ctrl_c>')).toBe('quit');
  });

  test('a sub-agent is folded and unfolded, and a match inside unfolds it', () => {
    const frame = frameOf(worked(createMaker()), { cols: 60, rows: 18 });
    const shown = () => bodyOf(frame).join('\n');
    press(frame, 'g', '<tab>', '<tab>', '<tab>', 'z');
    expect(shown()).toMatch(/› . Task look +\+1 folded/);
    expect(shown()).not.toContain('Grep');
    press(frame, '/', ...'npm', '<enter>');
    expect(shown()).toMatch(/› +⊘ Grep/);
  });
});

test('an endless line is kept in pieces without loss', () => {
  const make = createMaker();
  const state = newState();
  for (let i = 0; i < 100; i += 1)
    takeEvent(state, make('message_delta', { text: '🚀'.repeat(51) }), 0);
  const texts = state.rows.map((row) => (row.kind === 'text' ? row.text : ''));
  expect(texts.join('')).toBe('🚀'.repeat(5100));
  expect(texts.every((text) => text.isWellFormed() && text.length <= 1000)).toBe(true);
});

test('the view keeps little of long texts', () => {
  const make = createMaker();
  const kept = keptBytes(() => {
    const state = newState();
    for (let n = 0; n < 30; n++) {
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
  expect(kept).toBeLessThan(48 * 1024 * 1024);
});

/** Average time of a key press and the picture after it. */
function pressMs(frame: ReturnType<typeof frameOf>, keys: readonly string[]): number {
  const began = performance.now();
  for (const key of keys) {
    press(frame, key);
    layout(frame, PLAIN);
  }
  return (performance.now() - began) / keys.length;
}
const WALK = ['g', 'j', '<page_down>', '<tab>', 'e', '<enter>', '<page_down>', '<tab>', 'q', 'k'];
const LONG_WALK = Array.from({ length: 20 }, () => WALK).flat();
/** About 1 ms on an idle machine; a view that visits all rows at every key takes much longer. */
const PRESS_MS_MAX = 100;

test('a run of more calls than the view keeps reacts to keys as fast as a short one', () => {
  const make = createMaker();
  const frame = frameOf([make('run_started')], { cols: 200, rows: 50 });
  for (let n = 0; n < 30_000; n++) {
    const call_id = `c${n}`;
    const status = n % 100 === 0 ? 'error' : 'ok';
    takeEvent(frame.state, make('call_requested', { call_id }), 1);
    takeEvent(frame.state, make('call_finished', { call_id, status, output: 'done' }), 1);
  }
  expect(pressMs(frame, LONG_WALK)).toBeLessThan(PRESS_MS_MAX);
  expect(linesOf(frame)[0]).toContain('30000 calls');
});

test('a prompt of 250,000 characters beside the list is wrapped once', () => {
  const make = createMaker();
  const prompt = '日本語 '.repeat(62_500);
  const events = [make('run_started', { prompt }), ...numbered(make, 100)];
  const frame = frameOf(events, { cols: 200, rows: 50 });
  layout(frame, PLAIN);
  expect(bodyOf(frame)[0]).toContain('about the run');
  expect(pressMs(frame, ['k', 'k', 'k', 'j', '<page_up>'])).toBeLessThan(PRESS_MS_MAX);
});

test('a message of 19,000 lines reacts to keys as fast as a short one, and is kept once', () => {
  const make = createMaker();
  const frame = frameOf([make('run_started'), ...numbered(make, 19_000)], { cols: 100, rows: 50 });
  press(frame, 'g', '<enter>');
  layout(frame, PLAIN);
  const open = ['q', 'j', '<enter>'];
  const kept = keptBytes(() => {
    expect(pressMs(frame, Array.from({ length: 60 }, () => open).flat())).toBeLessThan(
      PRESS_MS_MAX,
    );
    return frame;
  });
  expect(kept).toBeLessThan(24 * 1024 * 1024);
  expect(bodyOf(frame)[0]).toBe('message');
});

test('a list that fits is shown from its first line, also if rows have several lines', () => {
  const make = createMaker();
  const failed = make('call_finished', { status: 'error', output: 'a\nb' });
  const more = make('call_requested', { call_id: 'c2' });
  const frame = frameOf([make('call_requested'), failed, more], { cols: 60, rows: 12 });
  expect(bodyOf(frame)[0]).toMatch(/^ {2}✗ Bash/);
  press(frame, 'g', 'G', 'k', '<page_up>');
  expect(bodyOf(frame)[0]).toMatch(/^› ✗ Bash/);
});
