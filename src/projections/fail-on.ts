/** `--fail-on`: conditions that make a successful run fail. Pure. */
import { plural } from '../lib/figures.ts';
import { gapsText } from '../lib/record-words.ts';
import type { Completeness } from '../model/parts.ts';
import type { CallStatus, FailOn } from '../model/words.ts';
import type { ReportedCall, RunReport } from './run-report.ts';

/** A condition of `--fail-on` that the run meets. */
export interface Caught {
  condition: FailOn;
  message: string;
  /** The calls that meet the condition, as far as the report lists them. */
  calls: ReportedCall[];
}

/** A failed call counts even if a later one succeeded. */
const STATUSES: Readonly<Record<Exclude<FailOn, 'incomplete'>, readonly CallStatus[]>> = {
  denied: ['denied'],
  'failed-call': ['error', 'timeout'],
};
const VERBS: Readonly<Record<keyof typeof STATUSES, readonly [one: string, more: string]>> = {
  denied: ['was denied', 'were denied'],
  'failed-call': ['failed', 'failed'],
};

function badCalls(condition: keyof typeof STATUSES, { calls, counts }: RunReport): Caught | null {
  const statuses = STATUSES[condition];
  const count = statuses.reduce((sum, status) => sum + (counts.get(status) ?? 0), 0);
  if (count <= 0) return null;
  const message = `${plural(count, 'call')} ${VERBS[condition][count === 1 ? 0 : 1]}`;
  return { condition, message, calls: calls.filter(({ status }) => statuses.includes(status)) };
}

/** The gaps of the record; null if it is complete. */
export function incompleteText(completeness: Completeness): string | null {
  const { grade } = completeness;
  if (grade === 'complete') return null;
  const gaps = gapsText(completeness);
  const found = grade === 'unavailable' ? 'empty' : 'incomplete';
  return `the record is ${found}${gaps === '' ? '' : `: ${gaps}`}`;
}

export function caughtBy(
  conditions: readonly FailOn[],
  report: RunReport,
  completeness: Completeness,
): Caught[] {
  return [...new Set(conditions)].flatMap((condition): Caught[] => {
    if (condition !== 'incomplete') {
      const caught = badCalls(condition, report);
      return caught === null ? [] : [caught];
    }
    const message = incompleteText(completeness);
    return message === null ? [] : [{ condition, message, calls: [] }];
  });
}
