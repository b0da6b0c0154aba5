/** Alignment of calls, shared calls, spread and medoid. */
import { describe, expect, test } from 'vitest';
import { createMaker } from '../../../test/build-events.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import type { AlignedCall } from '../../model/comparison.ts';
import type { DataOf, Event } from '../../model/event.ts';
import { alignCalls } from './align.ts';
import { callsOf, createRunFacts } from './call-facts.ts';
import { compare } from './compare.ts';
import { spreadOf } from './shared.ts';

type Given =
  | string
  | { tool?: string; input: unknown; end?: Partial<DataOf<'call_finished'>>; open?: true };

/** A run with these calls; a text is a Bash command. */
function run(given: readonly Given[], started: Partial<DataOf<'run_started'>> = {}): Event[] {
  const event = createMaker();
  const calls = given.flatMap((one, at) => {
    const {
      tool = 'Bash',
      input,
      end,
      open,
    } = typeof one === 'string' ? { input: { command: one } } : (one as Exclude<Given, string>);
    const call = { call_id: `c${at + 1}`, tool };
    const request = event('call_requested', { ...call, native_call_id: call.call_id, input });
    if (open) return [request];
    const finish = event('call_finished', { ...call, output: 'done', exit_code: null, ...end });
    return [request, finish];
  });
  return [event('run_started', started), ...calls];
}

const SIGNS = { equal: '=', changed: '~', moved: '>', added: '+', removed: '-' };
const lineOf = ({ mark, a, b }: AlignedCall) =>
  `${SIGNS[mark]} ${a?.number ?? '.'} ${b?.number ?? '.'} ${(b ?? a)?.about}`;
const linesOf = (a: readonly Given[], b: readonly Given[]) =>
  alignCalls(callsOf(run(a)), callsOf(run(b))).calls.map(lineOf);

const facts = (events: readonly Event[]) => {
  const made = createRunFacts();
  for (const event of events) made.push(event);
  return made.finish();
};

const LONG = 'npm run test -- --reporter dot src/store';

describe('alignCalls', () => {
  verifies('RR-1', 'shows insertions, deletions, changed inputs, changed results and moves', () => {
    const a = ['git status', 'ls src', LONG, 'cat readme.md', 'make docs', 'echo end'];
    const b: Given[] = [
      'make docs',
      'git status',
      `${LONG} --bail`,
      'curl localhost',
      { input: { command: 'cat readme.md' }, end: { ok: false, status: 'error', exit_code: 1 } },
      'echo end',
    ];
    const { calls, counts, first_divergence } = alignCalls(callsOf(run(a)), callsOf(run(b)));
    expect(calls.map(lineOf)).toEqual([
      '> 5 1 make docs',
      '= 1 2 git status',
      '- 2 . ls src',
      `~ 3 3 ${LONG} --bail`,
      '+ . 4 curl localhost',
      '~ 4 5 cat readme.md',
      '= 6 6 echo end',
    ]);
    expect(counts).toEqual({ equal: 2, changed: 2, moved: 1, added: 1, removed: 1 });
    expect(first_divergence).toBe(0);
    expect(calls.map(({ input, result }) => [input, result])).toEqual([
      ['equal', 'equal'],
      ['equal', 'equal'],
      [null, null],
      ['changed', 'equal'],
      [null, null],
      ['equal', 'changed'],
      ['equal', 'equal'],
    ]);
  });

  test('a run has no divergence from itself', () => {
    const calls = callsOf(run(['ls', 'ls', LONG]));
    expect(alignCalls(calls, calls)).toMatchObject({
      counts: { equal: 3, changed: 0, moved: 0, added: 0, removed: 0 },
      first_divergence: null,
      distance: 0,
    });
    expect(alignCalls([], [])).toMatchObject({ calls: [], distance: 0, first_divergence: null });
    expect(alignCalls(calls, []).distance).toBe(1);
  });

  test('a call of another tool, or of another file in the same folder, is another call', () => {
    const read = (file_path: string) => ({ tool: 'Read', input: { file_path } });
    expect(linesOf([read('src/store/a.ts')], [read('src/store/b.ts')])).toEqual([
      '- 1 . src/store/a.ts',
      '+ . 1 src/store/b.ts',
    ]);
    const grep = { tool: 'Grep', input: { command: 'ls' } };
    expect(linesOf(['ls'], [grep])).toEqual(['- 1 . ls', '+ . 1 ls']);
  });

  test('another edit of the same file is a changed input', () => {
    const edit = (old_string: string) => ({
      tool: 'Edit',
      input: { file_path: 'a.ts', old_string, new_string: `${old_string} 2` },
    });
    expect(linesOf([edit('one')], [edit('other')])).toEqual(['~ 1 1 a.ts']);
  });

  test('folders of the run, temporary folders, descriptions and times do not count', () => {
    const of = (cwd: string, tmp: string, time: string) =>
      callsOf(
        run(
          [
            {
              input: { command: `cat ${cwd}/src/a.ts > /tmp/${tmp}/out`, description: tmp },
              end: { output: `${cwd}/src/a.ts: ok in ${time} ms at 2026-11-18T09:${time}:01Z` },
            },
          ],
          { cwd },
        ),
      );
    const a = of('/home/a/project', 'x1', '12');
    const { first_divergence } = alignCalls(a, of('/work/copy-2', 'y2', '34'));
    expect(first_divergence).toBe(null);
    expect(a[0]?.call.about).toContain('/home/a/project/src/a.ts');
  });

  test('a folder with a longer name is not the folder of the run', () => {
    const of = (path: string) => callsOf(run([`rm ${path}/a/b/c/d`], { cwd: '/home/p' }));
    expect(alignCalls(of('/home/p'), of('/home/p-2')).calls[0]?.input).toBe('changed');
  });

  test('another output is a changed result, unless outputs are ignored; an unknown one is not', () => {
    const with_output = (output: string | null) =>
      callsOf(run([{ input: { command: 'ls' }, end: { output } }]));
    const [a, b] = [with_output('one'), with_output('two')];
    expect(alignCalls(a, b).calls[0]).toMatchObject({ mark: 'changed', result: 'changed' });
    expect(alignCalls(a, b, { ignoreOutputs: true }).first_divergence).toBe(null);
    expect(alignCalls(a, with_output(null)).first_divergence).toBe(null);
  });

  test('a late update of a call counts', () => {
    const event = createMaker();
    const late = event('call_updated', { call_id: 'c1', status: 'error', exit_code: 3 });
    const ok = run(['ls']);
    const [change] = alignCalls(callsOf(ok), callsOf([...ok, late])).calls;
    expect(change).toMatchObject({ mark: 'changed', b: { status: 'error', exit_code: 3 } });
  });

  test('gives the same result however the runs were made, and pairs each call at most once', () => {
    const words = ['ls', 'cat', 'make all', LONG, 'git diff'];
    const commands = (seed: number, count: number) =>
      Array.from({ length: count }, (_, at) => words[(at * at * seed + at) % 5] as string);
    const a = callsOf(run(commands(3, 900)));
    const b = callsOf(run(commands(7, 700)));
    const aligned = alignCalls(a, b);
    expect(alignCalls(a, b)).toEqual(aligned);
    for (const side of ['a', 'b'] as const) {
      const numbers = aligned.calls.flatMap((call) => call[side]?.number ?? []);
      expect(new Set(numbers).size).toBe(side === 'a' ? 900 : 700);
      expect(numbers.length).toBe(side === 'a' ? 900 : 700);
    }
  });

  test('long runs are aligned at their common calls, however far they are shifted', () => {
    const commands = Array.from({ length: 3_000 }, (_, at) => `make part-${at}`);
    const inserted = Array.from({ length: 800 }, (_, at) => `git show ${at}`);
    const changed = commands.map((text, at) => (at % 50 === 0 ? `${text} --verbose` : text));
    const b = [...changed.slice(0, 100), ...inserted, ...changed.slice(100)];
    const { counts } = alignCalls(callsOf(run(commands)), callsOf(run(b)));
    expect(counts).toEqual({ equal: 2_940, changed: 60, moved: 0, added: 800, removed: 0 });
  });
});

describe('compare', () => {
  const runs = (...lists: readonly (readonly Given[])[]) => lists.map((list) => facts(run(list)));

  verifies('RR-2', 'names the shared calls, the places where runs part, and the medoid', () => {
    const start = ['git status', 'ls src'];
    const compared = compare(
      runs(
        [...start, 'make docs', 'echo end'],
        [...start, LONG, 'echo end'],
        [...start, LONG, 'echo end'],
        [...start, 'echo end', 'curl localhost'],
      ),
    );
    expect(compared.shared.map(({ about }) => about)).toEqual([...start, 'echo end']);
    const ways = compared.partings.map(({ after, ways }) => ({
      after,
      ways: ways.map(({ runs, calls }) => [runs, calls.map(({ about }) => about)]),
    }));
    expect(ways).toEqual([
      {
        after: 2,
        ways: [
          [[0], ['make docs']],
          [[1, 2], [LONG]],
          [[3], []],
        ],
      },
      {
        after: 3,
        ways: [
          [[0, 1, 2], []],
          [[3], ['curl localhost']],
        ],
      },
    ]);
    expect(compared).toMatchObject({ medoid: 1, reference: 1, diverges: true });
    expect(compared.distances.map((row) => row.map((one) => Math.round(one * 100)))).toEqual([
      [0, 25, 25, 25],
      [25, 0, 0, 25],
      [25, 0, 0, 25],
      [25, 25, 25, 0],
    ]);
    expect(compared.alignments.map(({ run }) => run)).toEqual([0, 2, 3]);
  });

  test('two runs have no medoid, and the first is the reference', () => {
    expect(compare(runs(['ls'], ['ls']))).toMatchObject({
      medoid: null,
      reference: 0,
      diverges: false,
      partings: [],
    });
  });

  test('an open call of an unfinished run has no result, which is not a divergence', () => {
    const compared = compare(runs(['ls'], [{ input: { command: 'ls' }, open: true }]));
    expect(compared.diverges).toBe(false);
    expect(compared.runs.map(({ finished }) => finished)).toEqual([false, false]);
    expect(compared.alignments[0]?.calls[0]).toMatchObject({
      result: null,
      b: { status: 'unknown' },
    });
  });

  test('outputs of different agents are not compared', () => {
    const [a, b] = ['demo', 'other'].map((agent) =>
      facts(run([{ input: { command: 'ls' }, end: { output: agent } }], { agent })),
    );
    const compared = compare([a, b].filter((one) => one !== undefined));
    expect(compared).toMatchObject({ outputs_compared: false, diverges: false });
  });

  test('unknown figures are counted, never 0', () => {
    expect(spreadOf([4, null, 1, 2, 3])).toEqual({
      ...{ known: 4, unknown: 1, min: 1, q1: 1.75, median: 2.5, q3: 3.25, max: 4 },
    });
    expect(spreadOf([null])).toMatchObject({ known: 0, unknown: 1, min: null, median: null });
  });
});
