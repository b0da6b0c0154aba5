/** The agents that can be rehearsed. */

import { acp } from './acp.ts';
import type { Rehearsed } from './agent.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { copilot } from './copilot.ts';
import { gemini } from './gemini.ts';
import { opencode } from './opencode.ts';
import { pi } from './pi.ts';
import { qwen } from './qwen.ts';

export const REHEARSED: readonly Rehearsed[] = [
  acp,
  claude,
  codex,
  copilot,
  gemini,
  opencode,
  pi,
  qwen,
];
