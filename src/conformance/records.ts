/** Judges JSONL files of other formats by rules of the same form as those of the live protocol. */
import { reportOf, Tally } from './tally.ts';
import { NOWHERE, type Place, type Report, type RuleInfo } from './types.ts';

/** One line of a file. */
export interface RecordLine {
  line: number;
  /** Null when the line is not a JSON object; `fault` has the reason. */
  value: Record<string, unknown> | null;
  fault: string | null;
  /** The first violation of its schema; null when it is valid. */
  schema_fault: string | null;
}

export interface RecordRule extends RuleInfo {
  readonly nothing: string;
  create(tally: Tally): { push(line: RecordLine): void; end?(): void };
}

export const lineAt = (line: number): Place => ({ ...NOWHERE, line });

export class RecordJudge {
  readonly #format: string;
  readonly #rules;
  #lines = 0;
  #faulty = 0;

  constructor(format: string, rules: readonly RecordRule[]) {
    this.#format = format;
    this.#rules = rules.map((rule) => {
      const tally = new Tally(rule);
      return { rule, tally, state: rule.create(tally) };
    });
  }

  push(line: RecordLine): void {
    this.#lines += 1;
    if (line.fault !== null || line.schema_fault !== null) this.#faulty += 1;
    for (const { state } of this.#rules) state.push(line);
  }

  report(): Report {
    for (const { state } of this.#rules) state.end?.();
    const reports = this.#rules.map(({ rule, tally }) => tally.report(rule.nothing, []));
    return reportOf(this.#format, { lines: this.#lines, faulty: this.#faulty }, reports);
  }
}

export const linesRule = (info: Pick<RuleInfo, 'id' | 'section'>): RecordRule => ({
  ...info,
  title: 'every line is a JSON object',
  threshold: 1,
  nothing: 'the stream is empty',
  create: (tally) => ({ push: ({ line, fault }) => tally.judge(lineAt(line), fault) }),
});

/** A rule for each readable record. The checker returns undefined when the rule does not apply. */
export const eachRecord = (
  info: RuleInfo & { nothing: string },
  start: () => (value: Record<string, unknown>, line: number) => string | null | undefined,
): RecordRule => ({
  ...info,
  create(tally) {
    const wrong = start();
    return {
      push({ value, line }) {
        if (value !== null) tally.judge(lineAt(line), wrong(value, line));
      },
    };
  },
});

export const schemaRule = (info: Pick<RuleInfo, 'id' | 'section'>): RecordRule => ({
  ...info,
  title: 'every record matches its schema',
  threshold: 1,
  nothing: 'there are no records',
  create: (tally) => ({
    push({ line, value, schema_fault }) {
      if (value !== null) tally.judge(lineAt(line), schema_fault);
    },
  }),
});
