/** The only list of agents. An agent's code is loaded on demand. */
import { own } from '../lib/own.ts';
import type { Agent } from '../model/agent.ts';

const LOADERS: Readonly<Record<string, () => Promise<Agent>>> = {
  claude: async () => (await import('./claude/index.ts')).claude,
  codex: async () => (await import('./codex/index.ts')).codex,
  copilot: async () => (await import('./copilot/index.ts')).copilot,
  gemini: async () => (await import('./gemini/index.ts')).gemini,
  opencode: async () => (await import('./opencode/index.ts')).opencode,
  pi: async () => (await import('./pi/index.ts')).pi,
  qwen: async () => (await import('./qwen/index.ts')).qwen,
  acp: async () => (await import('./acp/index.ts')).acp,
  demo: async () => (await import('./demo/index.ts')).demo,
};

export const AGENT_IDS: readonly string[] = Object.keys(LOADERS);

export async function findAgent(id: string): Promise<Agent | undefined> {
  return own(LOADERS, id)?.();
}

export async function allAgents(): Promise<Agent[]> {
  return Promise.all(Object.values(LOADERS).map((load) => load()));
}
