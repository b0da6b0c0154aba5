/** Counts checks and failures, and keeps the first failures. */
import { CONFORMANCE_LIMITS } from './limits.ts';
import {
  type Failure,
  type Place,
  placeOf,
  type Report,
  type RuleInfo,
  type RuleReport,
  type Verdict,
} from './types.ts';

export type OnFailure = (rule: RuleInfo, failure: Failure) => void;

export class Tally {
  #checked = 0;
  #failed = 0;
  readonly #failures: Failure[] = [];
  readonly #rule: RuleInfo;
  readonly #onFailure: OnFailure | undefined;

  constructor(rule: RuleInfo, onFailure?: OnFailure) {
    this.#rule = rule;
    this.#onFailure = onFailure;
  }

  /** `why`: the reason of the failure; null when the check passed, undefined when nothing was checked. */
  judge(place: Place, why: string | null | undefined): void {
    if (why === undefined) return;
    this.#checked += 1;
    if (why === null) return;
    this.#failed += 1;
    const failure = { ...placeOf(place), why };
    if (this.#failures.length < CONFORMANCE_LIMITS.failures_max) this.#failures.push(failure);
    this.#onFailure?.(this.#rule, failure);
  }

  /** `nothing`: the reason when nothing was checked. */
  report(nothing: string, unjudged: readonly string[]): RuleReport {
    const { id, title, section, threshold } = this.#rule;
    const [checked, failed] = [this.#checked, this.#failed];
    const rate = checked === 0 ? null : (checked - failed) / checked;
    const verdict = verdictOf(rate, threshold);
    const is_judged = verdict !== 'not judged';
    return {
      ...{ id, title, section, threshold, checked, failed, rate, verdict },
      reason: is_judged ? null : nothing,
      unjudged: is_judged ? [...unjudged] : [],
      failures: [...this.#failures],
    };
  }
}

function verdictOf(rate: number | null, threshold: number): Verdict {
  if (rate === null) return 'not judged';
  return rate >= threshold ? 'passed' : 'failed';
}

/** The verdict over all rules. Rules that were not judged do not count as passed. */
function overall(rules: readonly RuleReport[]): Verdict {
  if (rules.some(({ verdict }) => verdict === 'failed')) return 'failed';
  return rules.some(({ verdict }) => verdict === 'passed') ? 'passed' : 'not judged';
}

/** `counted`: further counts of a stream of messages. */
export function reportOf(
  format: string,
  { lines, faulty }: { lines: number; faulty: number },
  rules: RuleReport[],
  counted: Partial<Pick<Report, 'sessions' | 'open_calls' | 'duplicates' | 'over_limits'>> = {},
): Report {
  const { sessions = 0, open_calls = 0, duplicates = 0, over_limits = [] } = counted;
  const stream = { lines, messages: lines - faulty, faulty, sessions, open_calls, duplicates };
  return { format, verdict: overall(rules), ...stream, over_limits, rules };
}
