/** The agent that a person names, or a word on which there are. */
import { AGENTS, findAgent } from '../agents/registry.ts';
import { TachoError } from '../lib/errors.ts';
import type { Agent } from '../model/agent.ts';

export function agentOf(id: string): Agent {
  const agent = findAgent(id);
  if (agent !== undefined) return agent;
  const known = AGENTS.map((known) => known.id).join(', ');
  throw new TachoError('agent_unknown', `unknown agent "${id}": known are ${known}`, {
    stage: 'request',
  });
}
