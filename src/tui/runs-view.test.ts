import { expect, test } from 'vitest';
import { PLAIN } from '../../test/tui-frame.ts';
import { columns } from '../lib/terminal-text.ts';
import { type ListedRun, RunsView } from './runs-view.ts';

const SIZE = { cols: 60, rows: 8 };
const run = (n: number): ListedRun => ({
  run_id: `r_${n}`,
  agent: 'demo',
  ok: n % 2 === 0,
  here: n < 3,
  words: `demo prompt ${n}`,
});
let made = 0;
function* table(runs: readonly ListedRun[]): Generator<string, void> {
  made = 0;
  yield 'RUN   PROMPT';
  for (const { run_id, words } of runs) {
    made += 1;
    yield `${run_id}  ${run_id} ${words}`;
  }
}
function listOf(count: number, more = false) {
  const view = new RunsView(table, '/store');
  view.take(
    Array.from({ length: count }, (_, n) => run(n)),
    more,
  );
  const lines = (size = SIZE) => view.lines(size, PLAIN).map((line) => line.trimEnd());
  const press = (...keys: string[]) => keys.map((key) => view.press(key, SIZE)).at(-1);
  return { view, lines, press };
}

test('shows the runs, the selection, their location and the keys', () => {
  const { lines, press } = listOf(3);
  press('j');
  expect(lines()).toEqual([
    ` 3 runs${' '.repeat(46)}/store`,
    '  RUN   PROMPT',
    '  r_0  r_0 demo prompt 0',
    '› r_1  r_1 demo prompt 1',
    '  r_2  r_2 demo prompt 2',
    '',
    '',
    ' q quit · Enter open · / filter · ? keys             2 of 3',
  ]);
  expect(press('<enter>')).toEqual({ open: run(1) });
  expect(press('q')).toBe('quit');
  expect(press('r')).toBe('reload');
});

test('moves through long lists, and makes only the visible lines', () => {
  const { lines, press } = listOf(1000, true);
  press('<page_down>', '<page_down>');
  expect(lines()[0]).toMatch(/^ newest 1000 runs/);
  expect(lines()[6]).toMatch(/^› r_8 /);
  expect(made).toBeLessThan(20);
  press('G');
  expect(lines()[6]).toMatch(/^› r_999 /);
  press('k', 'k', 'k', 'k', 'k');
  expect(lines()[2]).toMatch(/^› r_994 /);
  press('g');
  expect(lines()[2]).toMatch(/^› r_0 /);
});

test('filters by text while it is typed, by failure and by project', () => {
  const { lines, press } = listOf(20);
  press('/', 'P', 'T', ' ', '1', '2');
  expect(lines().slice(0, 3)).toEqual([
    expect.stringMatching(/^ 1 run · \/PT 12/),
    '  RUN   PROMPT',
    expect.stringMatching(/^› r_12 /),
  ]);
  expect(lines().at(-1)).toBe(' /PT 12_');
  press('9');
  expect(lines()[2]).toBe(' No runs match. Esc shows all.');
  press('<escape>', 'f');
  expect(lines().slice(0, 3)).toEqual([
    expect.stringMatching(/^ 10 runs · failed runs/),
    '  RUN   PROMPT',
    expect.stringMatching(/^› r_1 /),
  ]);
  press('f');
  expect(lines()[0]).toMatch(/^ 3 runs · runs of this project/);
  press('<escape>');
  expect(lines()[0]).toMatch(/^ 20 runs /);
});

test('a filter finds runs that have all its words, and ids by their beginning', () => {
  const { lines, press } = listOf(20);
  press('/', ...'12 DEMO');
  expect(lines().slice(2, 4)).toEqual([expect.stringMatching(/^› r_12 /), '']);
  press('<ctrl_u>', ...'r_1');
  expect(lines()[0]).toMatch(/^ 11 runs · \/r_1/);
  press('<ctrl_u>', ...'_1');
  expect(lines()[2]).toBe(' No runs match. Esc shows all.');
});

test('the selected run stays selected when the list is reloaded', () => {
  const { view, lines, press } = listOf(5);
  press('j', 'j');
  view.take([run(9), ...Array.from({ length: 5 }, (_, n) => run(n))], false);
  expect(lines()[5]).toMatch(/^› r_2 /);
});

test('fits any size, shows its keys, and reports when there are no runs', () => {
  const { view, lines, press } = listOf(30);
  press('?');
  expect(lines({ cols: 80, rows: 20 })[2]).toMatch(/^ Up Down {2}k j +one line up or down$/);
  for (const help of [true, false]) {
    for (const cols of [1, 2, 5, 10, 40, 200]) {
      for (const rows of [1, 2, 3, 4, 30]) {
        const all = view.lines({ cols, rows }, PLAIN);
        expect(all.length).toBe(rows);
        for (const line of all) expect(columns(line)).toBeLessThanOrEqual(Math.max(3, cols));
      }
    }
    if (help) press('q');
  }
  expect(listOf(0).lines()[2]).toMatch(/^ No runs yet\. Record one: tacho run /);
});
