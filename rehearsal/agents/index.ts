/** The agents that can be rehearsed. An agent may be rehearsed in several versions. */

import { acp } from './acp.ts';
import type { Rehearsed } from './agent.ts';
import { claude } from './claude.ts';
import { cline } from './cline.ts';
import { codex } from './codex.ts';
import { copilot } from './copilot.ts';
import { gemini } from './gemini.ts';
import { grok } from './grok.ts';
import { kilo } from './kilo.ts';
import { kimi } from './kimi.ts';
import { omp } from './omp.ts';
import { opencode } from './opencode.ts';
import { earlierPi, pi } from './pi.ts';
import { qwen } from './qwen.ts';

export const REHEARSED: readonly Rehearsed[] = [
  acp,
  claude,
  cline,
  codex,
  copilot,
  gemini,
  grok,
  kilo,
  omp,
  kimi,
  opencode,
  pi,
  earlierPi,
  qwen,
];
