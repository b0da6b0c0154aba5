/** Looks up an agent by its id, or throws with the list of known agents. */
import { AGENT_IDS, findAgent } from '../../agents/registry.ts';
import { TachoError } from '../../lib/errors.ts';
import { unknownWord } from '../../lib/schema/read.ts';
import type { Agent, RunnableAgent } from '../../model/agent.ts';

export async function agentOf(id: string): Promise<Agent> {
  const agent = await findAgent(id);
  if (agent !== undefined) return agent;
  throw new TachoError('agent_unknown', unknownWord('agent', id, AGENT_IDS), { stage: 'request' });
}

const usage = (text: string) => new TachoError('usage', text, { stage: 'request' });

/** The agent, or an error that lists the other ways to record it. */
export function runnable(agent: Agent): RunnableAgent {
  if (isRunnable(agent)) return agent;
  const { id, title, session, instead } = agent;
  const followed = session?.list && `, follow them with: tacho watch ${id}`;
  const files = session?.list ? '--all' : 'FILE…';
  const ways = `import its sessions with: tacho import ${id} ${files}${followed ?? ''}`;
  throw usage(`tacho cannot run ${title}; ${ways}${instead === undefined ? '' : `. ${instead}`}`);
}

const isRunnable = (agent: Agent): agent is RunnableAgent =>
  agent.launch !== null && agent.stream !== null && agent.approval !== null;
