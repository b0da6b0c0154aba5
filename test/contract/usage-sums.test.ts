/** Usage in the store, compared with the truth of all recordings: each session once, and unknown stays unknown (SE-6). */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { allAgents } from '../../src/agents/registry.ts';
import { openStore } from '../../src/app/runs/open-store.ts';
import type { Usage } from '../../src/model/parts.ts';
import { openIndex } from '../../src/store/index/index-db.ts';
import { openStateDir } from '../../src/store/state-dir.ts';
import { verifies } from '../e2e/verifies.ts';
import { testFolder } from '../fixtures/folder.ts';
import { type Recording, recordingsIn } from '../test-agent.ts';

const AGENTS = join(import.meta.dirname, '..', '..', 'src', 'agents');
const KINDS = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const;

/** Main files of agents with several files in a folder. */
const MAIN: Readonly<Record<string, RegExp>> = {
  gemini: /chats[\\/]session-[^\\/]*\.jsonl$/,
  grok: /updates\.jsonl$/,
  kilo: /db-part\.jsonl$/,
  opencode: /db-part\.jsonl$/,
};

function sessionsOf(id: string): Recording[] {
  const folder = join(AGENTS, id, 'testdata');
  if (!existsSync(folder)) return [];
  const main = MAIN[id];
  const sessionFile = (dir: string) => {
    const names = existsSync(dir) ? readdirSync(dir, { recursive: true, encoding: 'utf8' }) : [];
    const name = names.sort().find((one) => main?.test(one));
    return name === undefined ? null : join(dir, name);
  };
  return recordingsIn(folder, main === undefined ? {} : { sessionFile }).filter(
    ({ channel }) => channel === 'session',
  );
}

const NOTHING = { input: null, output: null, cache_read: null, cache_write: null, reasoning: null };

function added(a: Usage, b: Usage): Usage {
  const plus = (x: number | null, y: number | null) => (x === null ? y : y === null ? x : x + y);
  return Object.fromEntries(KINDS.map((name) => [name, plus(a[name], b[name])])) as never;
}

verifies(
  'SE-6',
  'the usage of all recorded sessions is that of their truth, each session once',
  async () => {
    const path = join(testFolder(), 'state');
    using store = openStore({ stateDir: path });
    const expected = new Map<string, Usage>();
    const states = new Map<string, number>();
    for (const { id } of await allAgents()) {
      const sessions = sessionsOf(id);
      if (sessions.length === 0) continue;
      const truths = new Map(sessions.map((one) => [one.path, one.truth?.usage ?? null]));
      for await (const found of store.import({ agent: id, files: [...truths.keys()] })) {
        const { state, run_id, why } = found;
        expect([found.path, why ?? null]).toEqual([found.path, null]);
        states.set(state, (states.get(state) ?? 0) + 1);
        const truth = truths.get(found.path) ?? null;
        // A fork without content of its own has nothing to count. A session that continues counts both of its runs.
        if (run_id === null || truth === null || state === 'shared') continue;
        expected.set(run_id, added(expected.get(run_id) ?? NOTHING, truth));
      }
    }
    // One Claude session was resumed; two files are copies of other sessions.
    expect(states.get('grown')).toBe(1);
    expect(states.get('shared')).toBe(2);
    expect(expected.size).toBeGreaterThan(200);
    using index = openIndex(openStateDir(path));
    const sums = new Map<string, Usage>();
    for (const { run_id, tokens } of index.usage())
      sums.set(run_id, added(sums.get(run_id) ?? NOTHING, tokens));
    for (const [run_id, truth] of expected)
      expect([run_id, sums.get(run_id)]).toEqual([run_id, truth]);
    const total = [...expected.values()].reduce(added);
    const same = [...expected.keys()].map((run_id) => sums.get(run_id) ?? NOTHING);
    expect(same.reduce(added)).toEqual(total);
  },
);
