/** The chain over runs: links, torn lines, several writers, breaks. */
import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { newRunId, seededRandom } from '../../lib/ids.ts';
import { bury } from '../journal/tombstones.ts';
import { openStateDir, type StateDir } from '../state-dir.ts';
import { appendChain, type ChainLink, hasChain, readChain } from './chain.ts';

const random = seededRandom('chain');
const ids = Array.from({ length: 4 }, (_, at) => newRunId(1_000 + at, random));
const link = (at: number, events = 3): ChainLink => ({
  ...{ kind: 'run', run_id: ids[at] as string, events, sha256: String(at).repeat(64) },
});
const open = () => openStateDir(join(testFolder(), 'state'));
const pathOf = (state: StateDir) => join(state.path, 'chain.jsonl');
const linesOf = (state: StateDir) => readFileSync(pathOf(state), 'utf8').trimEnd().split('\n');
const shown = (state: StateDir) =>
  readChain(state)?.entries.map(({ n, kind, run_id }) => [n, kind, ids.indexOf(run_id)]);

test('every entry contains the hash of the one before it, and the file is private', () => {
  const state = open();
  expect([hasChain(state), readChain(state)]).toEqual([false, null]);
  appendChain(state, [link(0), link(1)], 5);
  const head = appendChain(state, [link(0, 9)], 6);
  const chain = readChain(state);
  expect(chain).toMatchObject({ faults: [], torn: 0 });
  expect(chain?.entries.map(({ n, events, at_ms }) => [n, events, at_ms])).toEqual([
    [1, 3, 5],
    [2, 3, 5],
    [3, 9, 6],
  ]);
  expect(head).toEqual({ entries: 3, sha256: chain?.entries.at(-1)?.hash });
  expect(chain?.entries.map(({ prev }) => prev)).toEqual([
    '0'.repeat(64),
    ...(chain?.entries.slice(0, 2).map(({ hash }) => hash) ?? []),
  ]);
  expect(statSync(pathOf(state)).mode & 0o777).toBe(0o600);
});

test('a torn last line is skipped, and the chain continues after the last whole one', () => {
  const state = open();
  appendChain(state, [link(0)], 1);
  appendFileSync(pathOf(state), '{"n":2,"prev":"00');
  appendChain(state, [link(1)], 2);
  expect(shown(state)).toEqual([
    [1, 'run', 0],
    [2, 'run', 1],
  ]);
  expect(readChain(state)).toMatchObject({ faults: [], torn: 1 });
});

test('a removed, changed or inserted entry breaks the chain', () => {
  const made = () => {
    const state = open();
    appendChain(state, [link(0), link(1), link(2)], 1);
    return state;
  };
  const edits: ((lines: string[]) => string[])[] = [
    ([a = '', , c = '']) => [a, c],
    ([a = '', b = '', c = '']) => [a, b.replace('"events":3', '"events":2'), c],
    ([a = '', b = '', c = '']) => [a, b, b, c],
    ([a = '', b = '', c = '']) => [b, a, c],
  ];
  for (const edit of edits) {
    const state = made();
    writeFileSync(pathOf(state), `${edit(linesOf(state)).join('\n')}\n`);
    expect(readChain(state)?.faults.length).toBeGreaterThan(0);
  }
});

test('deletions are recorded in an existing chain, and only there', () => {
  const state = open();
  bury(state, [ids[0] as string]);
  expect(hasChain(state)).toBe(false);
  appendChain(state, [link(1)], 1);
  bury(state, [ids[1] as string, 'not a run id']);
  bury(state, [ids[1] as string], 'restored');
  expect(shown(state)).toEqual([
    [1, 'run', 1],
    [2, 'removed', 1],
    [3, 'restored', 1],
  ]);
});

test('a file that is something else is refused', () => {
  const state = open();
  writeFileSync(pathOf(state), 'something else\n');
  expect(() => appendChain(state, [link(0)], 1)).toThrow('has no valid entry at its end');
});

test('several processes append at the same time, and one chain results', async () => {
  const state = open();
  const program = `
    import { appendChain } from ${JSON.stringify(new URL('./chain.ts', import.meta.url).href)};
    import { stateDirAt } from ${JSON.stringify(new URL('../state-dir.ts', import.meta.url).href)};
    const state = stateDirAt(${JSON.stringify(state.path)});
    for (let at = 0; at < 10; at++)
      appendChain(state, [{ kind: 'run', run_id: ${JSON.stringify(ids[0])}, events: at, sha256: 'a'.repeat(64) }], at);`;
  const run = () =>
    new Promise((resolve) => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
        stdio: 'inherit',
      });
      child.on('close', resolve);
    });
  expect(await Promise.all([run(), run(), run()])).toEqual([0, 0, 0]);
  const chain = readChain(state);
  expect([chain?.entries.length, chain?.faults, chain?.torn]).toEqual([30, [], 0]);
});
