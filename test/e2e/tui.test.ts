/** The live view in a real pseudo-terminal. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Event } from '../../src/model/event.ts';
import { createMaker } from '../build-events.ts';
import { openPty, type Pty } from './pty.ts';

const PROGRAM = join(import.meta.dirname, '../fixtures/tui-program.ts');
let folder = '';
let pty: Pty | null = null;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tacho-tui-'));
});
afterEach(() => {
  pty?.close();
  pty = null;
  rmSync(folder, { recursive: true, force: true });
});

function start(events: readonly Event[]): Pty {
  const file = join(folder, 'events.jsonl');
  writeFileSync(file, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  pty = openPty([process.execPath, PROGRAM, file]);
  return pty;
}

function recorded(lines = 0): Event[] {
  const make = createMaker();
  const text = Array.from({ length: lines }, (_, index) => `line ${index + 1}`).join('\n');
  return [
    make('run_started'),
    make('step_started'),
    make('usage_reported', { cost_usd: 0.5 }),
    make('call_requested', { input: { command: 'npm test' } }),
    make('call_finished', { status: 'error', exit_code: 3, output: '\u001b[2Jboom' }),
    make('call_requested', { call_id: 'c2', tool: 'Read', input: { file_path: '日本語.txt' } }),
    ...(lines > 0 ? [make('message_delta', { text })] : []),
  ];
}
const has = (part: string) => (lines: string[]) => lines.some((line) => line.includes(part));
/** The view fills exactly this window and shows the last line. */
const ends = (lines: string[], cols: number, rows: number): boolean =>
  lines.length === rows && lines.at(-1)?.length === cols - 1 && lines[rows - 3] === '› line 100';
const atLine = (row: number, text: string) => (lines: string[]) => lines[row] === text;
/** Echo and line mode are restored. */
const COOKED = /(?<!-)\bicanon\b.*(?<!-)\becho\b/s;

async function leaves(terminal: Pty, code: number, word: string): Promise<void> {
  const end = await terminal.ended;
  expect(end.code).toBe(code);
  expect(end.mode).toMatch(COOKED);
  expect(terminal.alternate()).toBe(false);
  const bytes = terminal.bytes();
  for (const mode of ['?25', '?7']) {
    expect(bytes.lastIndexOf(`\u001b[${mode}h`)).toBeGreaterThan(
      bytes.lastIndexOf(`\u001b[${mode}l`),
    );
  }
  expect(terminal.lines().join('\n')).toContain(word);
  expect(terminal.lines().join('\n')).not.toContain('following');
}

describe('the view of a run in a terminal', () => {
  test('shows header, calls and footer on the alternate screen', async () => {
    const terminal = start(recorded(2));
    await terminal.until('the text', has('line 2'));
    expect(terminal.alternate()).toBe(true);
    const [header, prompt, first, output, second, ...rest] = terminal.lines();
    expect(header).toMatch(
      /^ [⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] running \d+s · 2 calls, 1 failed · 125 tokens · \$0\.5000 · demo 1\.0 · toy$/,
    );
    expect(prompt).toMatch(/^ Say hello +1 · ~\/project$/);
    expect(first).toMatch(/^ {2}✗ Bash npm test +exit 3 12ms$/);
    expect(output).toBe('    \\u{1b}[2Jboom');
    expect(second).toMatch(/^ {2}[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] Read 日本語\.txt +\ds$/);
    expect(rest.slice(0, 3)).toEqual(['', '  line 1', '› line 2']);
    expect(rest.at(-2)).toMatch(/^ [⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] Read \ds$/);
    expect(rest.at(-1)).toMatch(/^ q leave · .* following$/);
    terminal.type('q');
    await leaves(terminal, 0, 'left: left');
  });

  test('counts the seconds of a running call, even when the clock is set; Ctrl-C asks', async () => {
    const terminal = start(recorded());
    await terminal.until('the first second', (lines) => / [1-9]\d*s$/.test(lines[4] ?? ''));
    terminal.type('\u0003');
    await terminal.until('the question', has('Cancel the run? y/n'));
    terminal.type('\u0003');
    await leaves(terminal, 130, 'left: interrupt');
  });

  test('moves by line, by page and to both ends, follows again, and adapts to the window size', async () => {
    const terminal = start(recorded(100));
    await terminal.until('the end', atLine(21, '› line 100'));
    terminal.type('k');
    await terminal.until('one line up', atLine(20, '› line 99'));
    terminal.type('\u001b[A\u001b[A');
    await terminal.until('three lines up', atLine(18, '› line 97'));
    terminal.type('\u001b[5~');
    await terminal.until('a page up', atLine(2, '› line 78'));
    terminal.type('g');
    await terminal.until('the beginning', (lines) => /^› . Bash npm/.test(lines[2] ?? ''));
    expect(terminal.lines().at(-1)).toMatch(/row 1 of 103$/);
    terminal.type('\u001b[6~');
    await terminal.until('a page down', atLine(21, '› line 16'));
    terminal.type('\u001b[F');
    await terminal.until('following', has('following'));
    terminal.resize(60, 20);
    await terminal.until('the smaller window', (lines) => ends(lines, 60, 20));
    terminal.resize(200, 30);
    await terminal.until(
      'the larger window',
      (lines) => ends(lines, 200, 30) || lines[27]?.startsWith('› line 100') === true,
    );
    expect(terminal.lines()[2]).toContain('│');
    terminal.type('q');
    await leaves(terminal, 0, 'left: left');
  });

  test('restores the terminal when a signal ends the app', async () => {
    const terminal = start(recorded(1));
    await terminal.until('the text', has('line 1'));
    terminal.signal('SIGTERM');
    await leaves(terminal, 143, 'left: terminated');
  });

  test('restores the terminal when the app fails, and the error is readable', async () => {
    const terminal = start(recorded(1));
    await terminal.until('the text', has('line 1'));
    terminal.signal('SIGUSR2');
    await leaves(terminal, 1, 'Error: a fault');
  });

  test('a run of 20,000 events reacts to every key without lag', async () => {
    const make = createMaker();
    const calls = Array.from({ length: 10_000 }, (_, n) => {
      const call_id = `c${n}`;
      const input = { command: `task ${n}` };
      return [make('call_requested', { call_id, input }), make('call_finished', { call_id })];
    });
    const terminal = start([make('run_started'), ...calls.flat()]);
    await terminal.until('the end', has('Bash task 9999'));
    terminal.type('g');
    await terminal.until('the beginning', has('› ✓ Bash task 0 '));
    const took: number[] = [];
    for (let n = 1; n <= 40; n++) {
      const began = performance.now();
      terminal.type('j');
      await terminal.until(`call ${n}`, has(`› ✓ Bash task ${n} `));
      took.push(performance.now() - began);
    }
    const median = took.sort((a, b) => a - b)[20] ?? 0;
    // About 40 ms on an idle machine; painting all 20,000 rows takes longer than this.
    expect(median).toBeLessThan(2000);
    terminal.type('q');
    await leaves(terminal, 0, 'left: left');
  });

  test('repaints only what changed', async () => {
    const terminal = start(recorded());
    await terminal.until('the first second', (lines) => / [1-9]\d*s$/.test(lines[4] ?? ''));
    const paints = terminal.bytes().split('\u001b[?2026h').slice(2);
    const rows = paints.flatMap((paint) =>
      [...paint.matchAll(/\u001b\[(\d+);1H/g)].map(([, n]) => n),
    );
    expect(paints.length).toBeLessThan(60);
    expect(rows.filter((row) => !['1', '2', '3', '4', '5', '23'].includes(row ?? ''))).toEqual([]);
    terminal.type('q');
    await leaves(terminal, 0, 'left: left');
  });
});
