/** Sessions in compressed files are the same runs, for every agent with such files. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { placeOf } from '../../../test/torture/watch-story.ts';
import { allAgents } from '../../agents/registry.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { openStateDir } from '../../store/state-dir.ts';
import type { Imported } from '../sessions/imported.ts';
import { watchSessions } from './watch.ts';

const AGENTS = join(import.meta.dirname, '../../agents');
const agents = (await allAgents()).filter(({ session }) => session?.places !== undefined);

/** Recordings with sub-agents, and one more. */
function scenariosOf(agent: string): string[] {
  const folder = join(AGENTS, agent, 'testdata');
  const all = readdirSync(folder).filter((name) => linesIn(join(folder, name, 'session')) > 0);
  return [...all.filter((name) => name.startsWith('subagent')), ...all].slice(0, 2);
}

function linesIn(folder: string): number {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    return names.filter((name) => name.endsWith('.jsonl') && !name.startsWith('db-')).length;
  } catch {
    return 0;
  }
}

for (const agent of agents) {
  const scenarios = scenariosOf(agent.id);
  if (scenarios.length === 0) continue;
  verifies(
    'WA-6',
    `${agent.id}: a compressed session is the same run, with its sub-agents`,
    async () => {
      const home = testFolder();
      for (const [n, scenario] of scenarios.entries())
        for (const { path, bytes } of placeOf(agent.id, scenario, n)) {
          mkdirSync(dirname(join(home, path)), { recursive: true });
          writeFileSync(join(home, path), bytes);
        }
      const watch = async (state = 'state') => {
        const rows: Imported[] = [];
        await watchSessions({
          state_dir: join(home, state),
          env: { HOME: home, TACHO_DEMO_SESSIONS: join(home, 'demo') },
          agents: [agent.id],
          redact: [],
          metadata_only: false,
          once: true,
          signal: new AbortController().signal,
          took: (row) => void rows.push(row),
          caughtUp: () => undefined,
          live: null,
          say: () => undefined,
        });
        return rows;
      };
      const outcomes = (state = 'state') => {
        using index = openIndex(openStateDir(join(home, state)));
        const runs = [...index.listRuns()].map(({ run_id }) => index.getRun(run_id) as RunOutcome);
        // Times of Cursor's sessions are those of their files.
        return runs
          .map(({ session_id, tool_calls, message, success, metrics }) =>
            JSON.stringify([session_id, tool_calls, message, success, metrics.tokens]),
          )
          .sort();
      };
      const first = await watch();
      const before = outcomes();
      expect(before.length).toBeGreaterThan(0);
      for (const name of readdirSync(home, { recursive: true, encoding: 'utf8' })) {
        if (!name.endsWith('.jsonl') || name.startsWith('state')) continue;
        const path = join(home, name);
        writeFileSync(`${path}.zst`, zstdCompressSync(readFileSync(path)));
        rmSync(path);
      }
      const again = await watch();
      const ids = (rows: readonly Imported[]) =>
        rows.map(({ run_id, why }) => why ?? run_id).sort();
      expect(ids(again)).toEqual(ids(first));
      expect(outcomes()).toEqual(before);
      await watch('another');
      expect(outcomes('another')).toEqual(before);
    },
    60_000,
  );
}
