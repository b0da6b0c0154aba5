/** The only list of agents. */
import type { Agent } from '../model/agent.ts';
import { claude } from './claude/index.ts';
import { codex } from './codex/index.ts';
import { copilot } from './copilot/index.ts';
import { demo } from './demo/index.ts';
import { gemini } from './gemini/index.ts';
import { opencode } from './opencode/index.ts';
import { pi } from './pi/index.ts';
import { qwen } from './qwen/index.ts';

export const AGENTS: readonly Agent[] = [claude, codex, copilot, gemini, opencode, pi, qwen, demo];

export function findAgent(id: string): Agent | undefined {
  return AGENTS.find((agent) => agent.id === id);
}
