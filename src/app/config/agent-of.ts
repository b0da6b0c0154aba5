/** The agent that a person names, or a word on which there are. */
import { AGENT_IDS, findAgent } from '../../agents/registry.ts';
import { TachoError } from '../../lib/errors.ts';
import type { Agent } from '../../model/agent.ts';

export async function agentOf(id: string): Promise<Agent> {
  const agent = await findAgent(id);
  if (agent !== undefined) return agent;
  throw new TachoError(
    'agent_unknown',
    `unknown agent "${id}": known are ${AGENT_IDS.join(', ')}`,
    {
      stage: 'request',
    },
  );
}
