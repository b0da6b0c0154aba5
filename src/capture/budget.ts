/** Limits of a run: over which figures tacho ends it. A figure that is not known trips nothing. */
import { createHash } from 'node:crypto';
import { LastSet } from '../lib/bounded.ts';
import type { Event } from '../model/event.ts';
import type { RunLimits } from '../model/parts.ts';
import { tokensUsed } from '../model/run-fold.ts';
import { CAPTURE_LIMITS } from './limits.ts';
import type { RunState } from './run-state.ts';

export const NO_LIMITS: RunLimits = {
  cost_usd: null,
  tokens: null,
  tool_calls: null,
  steps: null,
  same_calls: null,
};

type Figure = (state: RunState) => number | null;

/** Each limit: its flag, the figure it is about, and how people write that figure. */
const FIGURES: readonly {
  limit: Exclude<keyof RunLimits, 'same_calls'>;
  flag: string;
  of: Figure;
  say: (figure: number) => string;
}[] = [
  {
    limit: 'cost_usd',
    flag: '--max-cost',
    of: (state) => state.usage.cost_usd,
    say: (cost) => `$${Number(cost.toPrecision(6))}`,
  },
  {
    limit: 'tokens',
    flag: '--max-tokens',
    of: (state) => tokensUsed(state.usage.tokens),
    say: (tokens) => `${tokens} tokens`,
  },
  {
    limit: 'tool_calls',
    flag: '--max-tool-calls',
    of: (state) => state.calls.open.count,
    say: (calls) => `${calls} tool calls`,
  },
  {
    limit: 'steps',
    flag: '--max-steps',
    of: (state) => state.step,
    say: (steps) => `${steps} steps`,
  },
];

/** The first limit that the run is over, in words; null: none. */
export function overLimit(limits: RunLimits, state: RunState): string | null {
  for (const { limit, flag, of, say } of FIGURES) {
    const most = limits[limit];
    const figure = most === null ? null : of(state);
    if (most !== null && figure !== null && figure > most)
      return `${say(figure)}, over ${flag} ${most}`;
  }
  return null;
}

/** Limits that nothing could be held against: the agent never gave the figure. */
export function unwatched(limits: RunLimits, state: RunState): string[] {
  return FIGURES.filter(({ limit, of }) => limits[limit] !== null && of(state) === null).map(
    ({ flag }) => `${flag} could not be watched: the agent does not give that figure`,
  );
}

export type LoopGuard = ReturnType<typeof createLoopGuard>;

/** Counts calls with the same tool and the same input; `most`: the count that is one too many. */
export function createLoopGuard(most: number) {
  // The one that was not seen for longest goes first: a loop comes back soon.
  const counts = new LastSet<string, number>(CAPTURE_LIMITS.loop_guard_calls_max);
  return {
    /** The call that was made as often as it may be, in words; null: none. */
    push(events: readonly Event[]): string | null {
      for (const event of events) {
        if (event.kind !== 'call_requested') continue;
        const { tool, input } = event.data;
        const key = createHash('sha256')
          .update(JSON.stringify([tool, input]))
          .digest('base64');
        const count = (counts.get(key) ?? 0) + 1;
        if (count >= most)
          return `${tool} was called ${count} times with the same input, which is --loop-guard ${most}`;
        counts.set(key, count);
      }
      return null;
    },
  };
}
