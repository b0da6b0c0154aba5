/** Judging files of other records, a line each, by rules of the same form as the live protocol's. */
import { type OnFailure, overall, RuleTally } from './tally.ts';
import type { Place, Report, RuleInfo, Tally } from './types.ts';

/** A line of a file as it was read. */
export interface RecordLine {
  line: number;
  /** Null: it is no JSON object, and `fault` says why. */
  value: Record<string, unknown> | null;
  fault: string | null;
  /** Where it departs from its schema; null: nowhere. */
  schema_fault: string | null;
}

export interface RecordRule extends RuleInfo {
  readonly nothing: string;
  create(tally: Tally): { push(line: RecordLine): void; end?(): void };
}

export interface RecordJudge {
  push(line: RecordLine): void;
  report(): Report;
}

export const placeOf = (line: number | null): Place => ({ line, session_id: null, seq: null });

export function createRecordJudge(
  format: string,
  rules: readonly RecordRule[],
  onFailure?: OnFailure,
): RecordJudge {
  const all = rules.map((rule) => {
    const tally = new RuleTally(rule, onFailure);
    return { rule, tally, state: rule.create(tally) };
  });
  let lines = 0;
  let faulty = 0;
  return {
    push(line) {
      lines += 1;
      if (line.fault !== null || line.schema_fault !== null) faulty += 1;
      for (const { state } of all) state.push(line);
    },
    report() {
      for (const { state } of all) state.end?.();
      const reports = all.map(({ rule, tally }) => tally.report(rule.nothing, []));
      return {
        format,
        verdict: overall(reports),
        lines,
        messages: lines - faulty,
        faulty,
        sessions: 0,
        open_calls: 0,
        duplicates: 0,
        over_limits: [],
        rules: reports,
      };
    },
  };
}

/** Every line is a JSON object. */
export const linesRule = (info: Pick<RuleInfo, 'id' | 'section'>): RecordRule => ({
  ...info,
  title: 'every line is a JSON object',
  threshold: 1,
  nothing: 'there is no line',
  create: (tally) => ({ push: ({ line, fault }) => tally.judge(placeOf(line), fault) }),
});

/** A rule on each record that could be read; `wrong` gives undefined where there is nothing to check. */
export const eachRecord = (
  info: RuleInfo & { nothing: string },
  start: () => (value: Record<string, unknown>, line: number) => string | null | undefined,
): RecordRule => ({
  ...info,
  create(tally) {
    const wrong = start();
    return {
      push({ value, line }) {
        if (value === null) return;
        const why = wrong(value, line);
        if (why !== undefined) tally.judge(placeOf(line), why);
      },
    };
  },
});

export const schemaRule = (info: Pick<RuleInfo, 'id' | 'section'>): RecordRule => ({
  ...info,
  title: 'every record has the form of its schema',
  threshold: 1,
  nothing: 'there is no record',
  create: (tally) => ({
    push({ line, value, schema_fault }) {
      if (value !== null) tally.judge(placeOf(line), schema_fault);
    },
  }),
});
