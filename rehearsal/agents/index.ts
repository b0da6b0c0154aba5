/** The agents that can be rehearsed. */
import type { Rehearsed } from './agent.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { copilot } from './copilot.ts';
import { gemini } from './gemini.ts';
import { pi } from './pi.ts';
import { qwen } from './qwen.ts';

export const REHEARSED: readonly Rehearsed[] = [claude, codex, copilot, gemini, pi, qwen];
