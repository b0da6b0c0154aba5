/** Looks up an agent by its id, or throws with the list of known agents. */
import { AGENT_IDS, findAgent } from '../../agents/registry.ts';
import { TachoError } from '../../lib/errors.ts';
import { unknownWord } from '../../lib/schema/read.ts';
import type { Agent } from '../../model/agent.ts';

export async function agentOf(id: string): Promise<Agent> {
  const agent = await findAgent(id);
  if (agent !== undefined) return agent;
  throw new TachoError('agent_unknown', unknownWord('agent', id, AGENT_IDS), { stage: 'request' });
}
