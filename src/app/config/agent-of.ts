/** Looks up an agent by its id, or throws with the list of known agents. */
import { AGENT_IDS, findAgent } from '../../agents/registry.ts';
import { TachoError } from '../../lib/errors.ts';
import type { Agent } from '../../model/agent.ts';

export async function agentOf(id: string): Promise<Agent> {
  const agent = await findAgent(id);
  if (agent !== undefined) return agent;
  const text = `unknown agent "${id}": known are ${AGENT_IDS.join(', ')}`;
  throw new TachoError('agent_unknown', text, { stage: 'request' });
}
