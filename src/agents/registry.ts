/** The only list of agents. An agent's code is loaded on demand. */
import { own } from '../lib/own.ts';
import type { Agent } from '../model/agent.ts';

const LOADERS: Readonly<Record<string, () => Promise<Agent>>> = {
  claude: async () => (await import('./claude/index.ts')).claude,
  cline: async () => (await import('./cline/index.ts')).cline,
  codex: async () => (await import('./codex/index.ts')).codex,
  copilot: async () => (await import('./copilot/index.ts')).copilot,
  cursor: async () => (await import('./cursor/index.ts')).cursor,
  antigravity: async () => (await import('./antigravity/index.ts')).antigravity,
  gemini: async () => (await import('./gemini/index.ts')).gemini,
  grok: async () => (await import('./grok/index.ts')).grok,
  kilo: async () => (await import('./kilo/index.ts')).kilo,
  opencode: async () => (await import('./opencode/index.ts')).opencode,
  omp: async () => (await import('./omp/index.ts')).omp,
  kimi: async () => (await import('./kimi/index.ts')).kimi,
  pi: async () => (await import('./pi/index.ts')).pi,
  qwen: async () => (await import('./qwen/index.ts')).qwen,
  atif: async () => (await import('./atif/index.ts')).atif,
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
