/** The agents that can be rehearsed. */
import type { Rehearsed } from './agent.ts';
import { claude } from './claude.ts';

export const REHEARSED: readonly Rehearsed[] = [claude];
