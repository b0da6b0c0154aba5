/** `tool-trajectory`: whether the calls are the expected ones (EV-4). */
import { callText } from '../../lib/call-text.ts';
import { durationText, plural } from '../../lib/figures.ts';
import type { TranscriptCall } from '../../model/transcript.ts';
import { EVAL_LIMITS } from '../limits.ts';
import {
  broken,
  type Evidence,
  fact,
  factText,
  type Grade,
  type Grader,
  type Tools,
} from '../types.ts';
import { type ArgsMatch, type Comparing, type Difference, differences } from './args-match.ts';
import { Patterns } from './matchers.ts';
import { calledText, differencesText, hasPattern } from './nearest-call.ts';
import { type Assignment, matchAnyOrder, matchInOrder, type Sides } from './trajectory-match.ts';

export const TRAJECTORY_MODES = ['exact', 'in_order', 'any_order', 'superset', 'subset'] as const;
type Mode = (typeof TRAJECTORY_MODES)[number];

interface Step {
  tool: string;
  args?: unknown;
  args_match?: ArgsMatch;
  status?: string;
  max_duration_ms?: number;
}

interface Trajectory {
  mode: Mode;
  expected: readonly Step[];
  minimums: Readonly<Record<string, number>>;
  args_match?: ArgsMatch;
}

const TEXT_CHARS_MAX = 120;
const cut = (text: string) =>
  text.length > TEXT_CHARS_MAX ? `${text.slice(0, TEXT_CHARS_MAX)}…` : text;

class Comparison implements Sides {
  readonly calls: readonly TranscriptCall[];
  readonly steps: readonly Step[];
  readonly #how: ArgsMatch;
  readonly #comparing: Comparing;
  readonly #safe: Tools['safe'];

  constructor(
    { expected, args_match = 'superset' }: Trajectory,
    calls: readonly TranscriptCall[],
    comparing: Comparing,
    { safe }: Tools,
  ) {
    this.calls = calls;
    this.steps = expected;
    this.#how = args_match;
    this.#comparing = comparing;
    this.#safe = safe;
  }

  /** A short description of a call. */
  shown({ name, input }: TranscriptCall): string {
    const text = callText(this.#safe(input), this.#comparing.roots[0] ?? null, name);
    return cut(`${name} ${text}`.trim());
  }

  #wanted({ tool, args, status }: Step): string {
    const input =
      args === undefined || args === 'any' ? '' : ` ${JSON.stringify(this.#safe(args))}`;
    return `${cut(`${tool}${input}`)}${status === undefined ? '' : `, status ${status}`}`;
  }

  #differences(step: Step, call: TranscriptCall) {
    return differences(step.args, call.input, step.args_match ?? this.#how, this.#comparing);
  }

  fits(step: Step, call: TranscriptCall): boolean {
    if (step.tool !== call.name || (step.status ?? call.status) !== call.status) return false;
    return this.#differences(step, call).next().done === true;
  }

  /** Every pattern is tested on every text that it may be compared with. */
  collect(): void {
    for (const step of this.steps.filter(({ args }) => hasPattern(args)))
      for (const call of this.calls)
        if (call.name === step.tool) Array.from(this.#differences(step, call));
  }

  readonly points = (at: number, index: number) => {
    const step = this.steps[at] as Step;
    const call = this.calls[index] as TranscriptCall;
    if (!this.fits(step, call)) return 0;
    return step.max_duration_ms !== undefined && inTime(step, call) ? 2 : 1;
  };

  readonly full = (at: number) => (this.steps[at]?.max_duration_ms === undefined ? 1 : 2);

  /** One fact per step, and another if its time is limited. */
  evidenceOf(assignment: Assignment): Evidence[] {
    return this.steps.flatMap((step, at) => {
      const call = this.calls[assignment[at] as number];
      const found =
        call === undefined
          ? { ...fact(`missing: ${this.#wanted(step)}`, false), detail: this.#nearest(step) }
          : fact(`found: ${this.#wanted(step)}: ${this.shown(call)}`, true, call.id);
      return step.max_duration_ms === undefined ? [found] : [found, timeFact(step, call)];
    });
  }

  #nearest(step: Step): string {
    const alike = this.calls.filter(({ name }) => name === step.tool);
    const [first] = alike;
    if (first === undefined) {
      const called = calledText(this.calls.map(({ name }) => name));
      return called === '' ? 'the run called no tool' : `the run called ${called}`;
    }
    const { call, list } = alike
      .slice(0, NEAREST_MAX)
      .map((one) => ({ call: one, list: this.#mismatches(step, one) }))
      .reduce((best, next) => (next.list.length < best.list.length ? next : best));
    if (list.length > 0) return `nearest: ${this.shown(call)}: ${this.#inWords(list, call)}`;
    const place = this.calls.indexOf(call) + 1;
    return `call ${place} of ${this.calls.length} matches, but out of order or taken by another step`;
  }

  #mismatches(step: Step, call: TranscriptCall): Difference[] {
    const list = Array.from(this.#differences(step, call));
    const { status } = step;
    return status === undefined || status === call.status
      ? list
      : [...list, { at: [], kind: 'status', expected: status }];
  }

  #inWords(list: readonly Difference[], call: TranscriptCall): string {
    const safe = { ...call, input: this.#safe(call.input) };
    return differencesText(list, safe, this.#comparing.roots);
  }
}

/** Calls of the same tool that are searched for the nearest one. */
const NEAREST_MAX = 1_000;

function inTime({ max_duration_ms = 0 }: Step, { duration_ms }: TranscriptCall): boolean {
  return duration_ms !== null && duration_ms <= max_duration_ms;
}

function timeFact(step: Step, call: TranscriptCall | undefined): Evidence {
  const limit = `limit ${durationText(step.max_duration_ms ?? 0)}`;
  if (call === undefined) return fact(`${step.tool}: no duration, ${limit}`, false);
  const took =
    call.duration_ms === null ? 'duration not known' : `took ${durationText(call.duration_ms)}`;
  return fact(`${step.tool}: ${took}, ${limit}`, inTime(step, call), call.id);
}

function minimumFacts(minimums: Trajectory['minimums'], calls: readonly TranscriptCall[]) {
  return Object.entries(minimums).map(([tool, least]) => {
    const count = calls.filter(({ name }) => name === tool).length;
    return fact(
      `${tool}: called ${plural(count, 'time')}, expected at least ${least}`,
      count >= least,
    );
  });
}

const anyOrder = (one: Comparison): Evidence[] => one.evidenceOf(matchAnyOrder(one));

const COMPARE: Record<Mode, (one: Comparison) => Evidence[]> = {
  any_order: anyOrder,
  superset: anyOrder,
  in_order: (one) => one.evidenceOf(matchInOrder(one)),
  exact: (one) => {
    const places = Int32Array.from(one.steps, (step, at) => {
      const call = one.calls[at];
      return call !== undefined && one.fits(step, call) ? at : -1;
    });
    const extra = one.calls.slice(one.steps.length);
    return [
      ...one.evidenceOf(places),
      ...extra.map((call) => fact(`${one.shown(call)}: not expected`, false, call.id)),
    ];
  },
  subset: (one) =>
    one.calls.map((call) => {
      const allowed = one.steps.some((step) => one.fits(step, call));
      return fact(`${one.shown(call)}: ${allowed ? 'allowed' : 'not allowed'}`, allowed, call.id);
    }),
};

function gradeOf(evidence: Evidence[]): Grade {
  const missed = evidence.filter(({ passed }) => !passed);
  const score = evidence.length === 0 ? 1 : (evidence.length - missed.length) / evidence.length;
  const [first] = missed;
  const more = missed.length > 1 ? ` (and ${missed.length - 1} more)` : '';
  return {
    score,
    reason: first === undefined ? 'the calls are as expected' : `${factText(first)}${more}`,
    evidence: evidence.slice(0, EVAL_LIMITS.evidence_max),
  };
}

export const toolTrajectory: Grader = async (options, { transcript, tools, place }) => {
  const trajectory = { expected: [], minimums: {}, ...options } as unknown as Trajectory;
  const calls = transcript.messages.flatMap((message) => message.tool_calls);
  if (calls.length * trajectory.expected.length > EVAL_LIMITS.trajectory_cells_max)
    return broken(
      `${calls.length} calls and ${trajectory.expected.length} expected ones are more than can be compared`,
    );
  const patterns = new Patterns();
  const comparing = { roots: place.roots, test: patterns.test };
  const comparison = new Comparison(trajectory, calls, comparing, tools);
  comparison.collect();
  const failure = await patterns.answer(tools);
  if (failure !== null) return broken(failure);
  return gradeOf([
    ...minimumFacts(trajectory.minimums, calls),
    ...COMPARE[trajectory.mode](comparison),
  ]);
};
