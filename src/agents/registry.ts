/** The only list of agents. */
import type { Agent } from '../model/agent.ts';
import { claude } from './claude/index.ts';
import { demo } from './demo/index.ts';

export const AGENTS: readonly Agent[] = [claude, demo];

export function findAgent(id: string): Agent | undefined {
  return AGENTS.find((agent) => agent.id === id);
}
