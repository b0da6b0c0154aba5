/** Counting: what was checked, what failed, and the first failures. */
import { LIMITS } from '../lib/limits.ts';
import type { Failure, Place, RuleInfo, RuleReport, Tally, Verdict } from './types.ts';

export type OnFailure = (rule: RuleInfo, failure: Failure) => void;

export class RuleTally implements Tally {
  checked = 0;
  failed = 0;
  readonly failures: Failure[] = [];
  readonly #rule: RuleInfo;
  readonly #onFailure: OnFailure | undefined;

  constructor(rule: RuleInfo, onFailure?: OnFailure) {
    this.#rule = rule;
    this.#onFailure = onFailure;
  }

  judge({ line, session_id, seq }: Place, why: string | null): void {
    this.checked += 1;
    if (why === null) return;
    this.failed += 1;
    const failure = { line, session_id, seq, why };
    if (this.failures.length < LIMITS.conformance_failures_max) this.failures.push(failure);
    this.#onFailure?.(this.#rule, failure);
  }

  /** `nothing`: why there is no verdict when nothing was checked. */
  report(nothing: string, unjudged: readonly string[]): RuleReport {
    const { id, title, section, threshold } = this.#rule;
    const rate = this.checked === 0 ? null : (this.checked - this.failed) / this.checked;
    const verdict = verdictOf(rate, threshold);
    return {
      id,
      title,
      section,
      threshold,
      checked: this.checked,
      failed: this.failed,
      rate,
      verdict,
      reason: verdict === 'not judged' ? nothing : null,
      unjudged: verdict === 'not judged' ? [] : [...unjudged],
      failures: [...this.failures],
    };
  }
}

function verdictOf(rate: number | null, threshold: number): Verdict {
  if (rate === null) return 'not judged';
  return rate >= threshold ? 'passed' : 'failed';
}

/** One verdict on all rules: nothing that was not judged makes a pass. */
export function overall(rules: readonly { verdict: Verdict }[]): Verdict {
  if (rules.some(({ verdict }) => verdict === 'failed')) return 'failed';
  return rules.some(({ verdict }) => verdict === 'passed') ? 'passed' : 'not judged';
}
