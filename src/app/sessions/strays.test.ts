/** Files that look like sessions and are not imported, for all agents (WA-7). */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { placeOf } from '../../../test/torture/watch-story.ts';
import { allAgents } from '../../agents/registry.ts';
import { findStrays } from './strays.ts';

const AGENTS = join(import.meta.dirname, '../../agents');
const DATABASES = ['kilo', 'opencode'];
const agents = (await allAgents()).filter(({ session }) => session?.places !== undefined);

/** All recordings of an agent in a home folder. Returns its environment and a folder of a session. */
function homeOf(agent: string) {
  const home = testFolder();
  const env = { HOME: home, TACHO_DEMO_SESSIONS: join(home, 'demo') };
  if (DATABASES.includes(agent)) {
    const folder = join(home, '.local/share', agent);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${agent}.db`), '');
    return { env, folder };
  }
  let folder = '';
  for (const [n, scenario] of readdirSync(join(AGENTS, agent, 'testdata')).entries()) {
    if (!existsSync(join(AGENTS, agent, 'testdata', scenario, 'session'))) continue;
    for (const { path, bytes } of placeOf(agent, scenario, n)) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), bytes);
      if (!path.includes('subagents') && !basename(path).startsWith('agent'))
        folder ||= dirname(join(home, path));
    }
  }
  return { env, folder };
}

for (const agent of agents)
  verifies(
    'WA-7',
    `${agent.id}: sessions with unknown names are found, and nothing else`,
    async () => {
      const { env, folder } = homeOf(agent.id);
      expect(await findStrays([agent], env)).toEqual([]);
      const names = DATABASES.includes(agent.id)
        ? [`${agent.id}-next.db`]
        : ['not known.jsonl', 'not known.jsonl.zst', 'not known.jsonl.gz'];
      if (agent.id === 'cline') names.push('not known.messages.json');
      for (const name of [...names, 'notes.txt']) writeFileSync(join(folder, name), '{}\n');
      const paths = names.map((name) => join(folder, name)).sort();
      expect(await findStrays([agent], env)).toEqual(
        paths.map((path) => ({ agent: agent.id, path })),
      );
    },
  );

verifies('WA-7', 'a name that is not UTF-8 is found', async () => {
  const home = testFolder();
  const folder = join(home, '.claude/projects/p');
  mkdirSync(folder, { recursive: true });
  writeFileSync(Buffer.from(`${folder}/\xff\xfe.jsonl`, 'latin1'), '{}\n');
  const [claude] = agents.filter(({ id }) => id === 'claude');
  if (claude === undefined) throw new Error('no claude');
  expect(await findStrays([claude], { HOME: home })).toHaveLength(1);
});
