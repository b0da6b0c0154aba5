/** Limits of a run: figures at which tacho stops it. An unknown figure never stops a run. */
import { createHash } from 'node:crypto';
import { LastSet } from '../lib/bounded.ts';
import { plural } from '../lib/figures.ts';
import type { Agent, Capabilities, KnownWhen } from '../model/agent.ts';
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

type WhenKnown = (agent: Agent) => KnownWhen;

const capability =
  (name: keyof Capabilities): WhenKnown =>
  ({ capabilities }) =>
    capabilities[name];

const IN_TIME: readonly KnownWhen[] = ['live', 'end', 'after', 'never'];

/** Whichever is known first: the cost that the agent reports, or the tokens from which it is computed. */
const costKnown: WhenKnown = ({ capabilities, pricing }) => {
  const computed = pricing === undefined ? 'never' : capabilities.usage;
  const first = IN_TIME.find((when) => when === capabilities.cost || when === computed);
  return first ?? 'never';
};

/** Whether `--max-cost` can stop a run of this agent in time. */
export const stopsInTime = (agent: Agent): boolean => costKnown(agent) === 'live';

/** For each limit: its flag, the figure it limits, when the figure is known, its name and text. */
const FIGURES: readonly {
  limit: Exclude<keyof RunLimits, 'same_calls'>;
  flag: string;
  known: WhenKnown;
  name: string;
  of: Figure;
  say: (figure: number) => string;
}[] = [
  {
    limit: 'cost_usd',
    flag: '--max-cost',
    known: costKnown,
    name: 'its cost',
    of: (state) => state.usage.cost_usd ?? state.computed_usd,
    say: (cost) => `$${Number(cost.toPrecision(6))}`,
  },
  {
    limit: 'tokens',
    flag: '--max-tokens',
    known: capability('usage'),
    name: 'its tokens',
    of: (state) => tokensUsed(state.usage.tokens),
    say: (tokens) => plural(tokens, 'token'),
  },
  {
    limit: 'tool_calls',
    flag: '--max-tool-calls',
    known: capability('call_requests'),
    name: 'its tool calls',
    of: (state) => state.calls.open.count,
    say: (calls) => plural(calls, 'tool call'),
  },
  {
    limit: 'steps',
    flag: '--max-steps',
    known: capability('steps'),
    name: 'its steps',
    of: (state) => state.step,
    say: (steps) => plural(steps, 'step'),
  },
];

/** The first limit that the run exceeds, as text, or null. */
export function overLimit(limits: RunLimits, state: RunState): string | null {
  for (const { limit, flag, of, say } of FIGURES) {
    const most = limits[limit];
    const figure = most === null ? null : of(state);
    if (most !== null && figure !== null && figure > most)
      return `${say(figure)}, over ${flag} ${most}`;
  }
  return null;
}

/** Limits that could not be checked: the agent never reported the figure. */
export function unwatched(limits: RunLimits, state: RunState): string[] {
  return FIGURES.filter(({ limit, of }) => limits[limit] !== null && of(state) === null).map(
    ({ limit, flag, name }) => {
      const why = limit === 'cost_usd' && unpricedText(state);
      return `${flag} could not be checked: ${why || `the agent did not report ${name}`}`;
    },
  );
}

const unpricedText = ({ unpriced }: RunState) =>
  unpriced !== null &&
  `the price of ${unpriced} is unknown; set it in your own tacho.yaml (~/.config/tacho), under prices`;

/** Names the first limit that cannot stop this agent in time, with the reason, and the limits that can. Null if all can. */
export function lateLimit(limits: Partial<RunLimits>, agent: Agent): string | null {
  const late = FIGURES.filter(({ known }) => known(agent) !== 'live');
  const found = late.find(({ limit }) => (limits[limit] ?? null) !== null);
  if (found === undefined) return null;
  const never = found.known(agent) === 'never';
  const by_tokens = found.limit === 'cost_usd' && agent.capabilities.cost === 'never';
  const what = by_tokens && !never ? 'its tokens' : found.name;
  const when = never ? `never reports ${what}` : `reports ${what} only at the end`;
  const usable = FIGURES.filter((figure) => !late.includes(figure)).map(({ flag }) => flag);
  const outcome = never ? 'to run without the check' : 'to check it when the run has ended';
  const others = usable.length === 0 ? '--timeout' : `${usable.join(', ')} or --timeout`;
  return [
    `${found.flag} cannot stop a run of ${agent.id} in time: ${agent.title} ${when}.`,
    `Use ${others}, or add --best-effort-limits ${outcome}.`,
  ].join('\n');
}

export type LoopGuard = ReturnType<typeof createLoopGuard>;

/** Counts calls with the same tool and the same input; `most`: the count at which the run is stopped. */
export function createLoopGuard(most: number) {
  // The least recently seen call is dropped first: a loop repeats soon.
  const counts = new LastSet<string, number>(CAPTURE_LIMITS.loop_guard_calls_max);
  return {
    /** The call that was repeated too often, as text, or null. */
    push(events: readonly Event[]): string | null {
      for (const event of events) {
        if (event.kind !== 'call_requested') continue;
        const { tool, input } = event.data;
        const key = createHash('sha256')
          .update(JSON.stringify([tool, input]))
          .digest('base64');
        const count = (counts.get(key) ?? 0) + 1;
        if (count >= most)
          return `${tool} was called ${count} times with the same input: --loop-guard ${most}`;
        counts.set(key, count);
      }
      return null;
    },
  };
}
