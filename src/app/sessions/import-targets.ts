/** Finds the session files of an import. */
import { resolve } from 'node:path';
import { allAgents } from '../../agents/registry.ts';
import { TachoError } from '../../lib/errors.ts';
import type { Agent, Memo, SessionFile } from '../../model/agent.ts';
import { agentOf } from '../config/agent-of.ts';
import type { ImportTarget } from './imported.ts';
import { usedLast } from './last-record.ts';

export type Selection =
  | { what: 'files'; paths: readonly string[] }
  | { what: 'session'; session_id: string }
  | { what: 'last' | 'all'; since_ms: number | null };

interface Looking {
  env: NodeJS.ProcessEnv;
  /** Filled with the contents of the folders, for the import. */
  memo: Memo;
}

/** Contract: throws a TachoError if no session matches. */
export async function findTargets(
  agent_id: string | null,
  selection: Selection,
  { env, memo }: Looking,
): Promise<ImportTarget[]> {
  const agents = await agentsOf(agent_id);
  if (selection.what === 'files') return namedFiles(agents, selection.paths);
  const [only] = agents;
  if (only !== undefined && agents.length === 1 && only.session?.list === undefined)
    throw usage(`${only.title} have no common place: tacho import ${only.id} FILE…`);
  if (selection.what === 'session') return [await namedSession(agents, selection.session_id, env)];
  const found = await listed(agents, selection.since_ms, { env, memo });
  const wanted = selection.what === 'last' ? usedLast(found) : found;
  return wanted.map(({ agent, file }) => ({ agent, path: file.path, by_name: false }));
}

async function agentsOf(agent_id: string | null): Promise<Agent[]> {
  if (agent_id === null) return (await allAgents()).filter((agent) => agent.session !== null);
  const agent = await agentOf(agent_id);
  if (agent.session === null) throw usage(`${agent.title} has no session files`);
  return [agent];
}

const usage = (text: string) => new TachoError('usage', text, { stage: 'request' });

function namedFiles(agents: readonly Agent[], paths: readonly string[]): ImportTarget[] {
  const [agent, another] = agents;
  if (agent === undefined || another !== undefined)
    throw usage('name the agent that wrote the files: tacho import AGENT FILES');
  return paths.map((path) => ({ agent, path: resolve(path), by_name: true }));
}

async function namedSession(agents: readonly Agent[], session_id: string, env: NodeJS.ProcessEnv) {
  for (const agent of agents) {
    const path = await agent.session?.find({ session_id, cwd: process.cwd(), env });
    if (path != null) return { agent, path, by_name: true };
  }
  const names = agents.map((agent) => agent.title).join(', ');
  const text = `there is no session "${session_id}" of ${names}; tacho import --help lists the folders that are searched`;
  throw new TachoError('not_found', text, { stage: 'request' });
}

/** Oldest first, over all agents: the copied part of a fork is then counted with its original session. */
async function listed(agents: readonly Agent[], since_ms: number | null, looking: Looking) {
  const found: { agent: Agent; file: SessionFile }[] = [];
  for (const agent of agents) {
    for await (const file of agent.session?.list?.(looking) ?? []) {
      if (since_ms === null || file.modified_ms >= since_ms) found.push({ agent, file });
    }
  }
  return found.sort((a, b) => a.file.modified_ms - b.file.modified_ms);
}
