/** Limits on a run's figures (EV-5). An unknown figure does not keep a limit. */
import { costText, durationText } from '../../lib/figures.ts';
import type { Transcript } from '../../model/transcript.ts';
import { type Evidence, fact, type Grade, type Grader, type Options } from '../types.ts';

type Figure = (transcript: Transcript) => number | null;

/** All tokens; null if input or output tokens are unknown. */
export const totalTokens: Figure = ({ token_usage: { input, output, cache_read, cache_write } }) =>
  input === null || output === null
    ? null
    : input + output + (cache_read ?? 0) + (cache_write ?? 0);

interface Limit {
  what: string;
  figure: Figure;
  text?: (value: number) => string;
}
/** Option → the figure it limits. */
type Limits = Readonly<Record<string, Limit>>;

const calls: Limit = { what: 'tool calls', figure: (run) => run.tool_calls_count };
const steps: Limit = { what: 'steps', figure: (run) => run.steps };
const tokens: Limit = { what: 'tokens', figure: totalTokens };
const cost: Limit = { what: 'cost', figure: (run) => run.cost_usd, text: costText };
const duration: Limit = {
  what: 'duration',
  figure: (run) => run.duration_ms,
  text: durationText,
};

export const EXECUTION_LIMITS: Limits = {
  max_tool_calls: calls,
  max_steps: steps,
  max_llm_calls: steps,
  max_tokens: tokens,
  max_cost_usd: cost,
  max_duration_ms: duration,
};
export const COST_LIMITS: Limits = { budget: cost };
export const LATENCY_LIMITS: Limits = { threshold: duration };
export const TOKEN_LIMITS: Limits = {
  max_total: tokens,
  max_input: { what: 'input tokens', figure: (run) => run.token_usage.input },
  max_output: { what: 'output tokens', figure: (run) => run.token_usage.output },
};

function checkLimits(limits: Limits, options: Options, transcript: Transcript): Evidence[] {
  return Object.entries(limits)
    .filter(([name]) => options[name] !== undefined)
    .map(([name, { what, figure, text = String }]) => {
      const most = options[name] as number;
      const value = figure(transcript);
      if (value === null) return fact(`${what}: not known, limit ${text(most)}`, false);
      // Rounded figures may look equal.
      const same = value > most && text(value) === text(most);
      const shown = same ? `${value}, limit ${most}` : `${text(value)}, limit ${text(most)}`;
      return fact(`${what}: ${shown}`, value <= most);
    });
}

/** Whether a limit is set on an unknown figure: such an assertion never passes, even when negated. */
const unknownIn = (limits: Limits, options: Options, transcript: Transcript): boolean =>
  Object.entries(limits).some(
    ([name, { figure }]) => options[name] !== undefined && figure(transcript) === null,
  );

function gradeOf(evidence: Evidence[], unknown: boolean): Grade {
  const over = evidence.filter(({ passed }) => !passed);
  const reason = over.length === 0 ? 'all limits are kept' : over.map((one) => one.text).join('; ');
  return { score: over.length === 0 ? 1 : 0, reason, evidence, ...(unknown && { broken: true }) };
}

export const limitGrader =
  (limits: Limits): Grader =>
  (options, { transcript }) =>
    gradeOf(checkLimits(limits, options, transcript), unknownIn(limits, options, transcript));

const LOOKING = new Set(['Read', 'Grep', 'Glob', 'LS', 'WebFetch', 'WebSearch']);
const TOLERANCE = 0.2;

/** The share of calls that only read. */
function checkExploration(options: Options, transcript: Transcript): Evidence[] {
  const target = options.target_exploration_ratio as number | undefined;
  if (target === undefined) return [];
  const tolerance = (options.exploration_tolerance as number | undefined) ?? TOLERANCE;
  const names = transcript.messages.flatMap((message) =>
    message.tool_calls.map((call) => call.name),
  );
  const what = 'share of calls that only read';
  const wanted = `expected ${target} ± ${tolerance}`;
  if (names.length === 0)
    return [fact(`${what}: not known, because there are no calls; ${wanted}`, false)];
  const share = names.filter((name) => LOOKING.has(name)).length / names.length;
  const near = Math.abs(share - target) <= tolerance + 1e-9;
  return [fact(`${what}: ${share.toFixed(2)}, ${wanted}`, near)];
}

export const executionMetrics: Grader = (options, { transcript }) =>
  gradeOf(
    [
      ...checkLimits(EXECUTION_LIMITS, options, transcript),
      ...checkExploration(options, transcript),
    ],
    unknownIn(EXECUTION_LIMITS, options, transcript),
  );
