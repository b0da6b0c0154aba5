/** Checks a stream against the rules of its format, for programs: `tacho validate` as a function. */
import type { Report as ValidateReport } from '../../conformance/types.ts';
import { checkOptions, having } from '../../lib/schema/options.ts';
import * as is from '../../lib/schema/read.ts';
import { redactRecord } from '../../redact/gate.ts';
import { passingRedactor } from '../config/redaction.ts';
import type { ValidateFormat, ValidateInput } from './validate.ts';

/** Options of `validate`. */
export interface ValidateOptions {
  /** Path of a file, or the bytes themselves. */
  input: ValidateInput;
  /** Format of the input. Default: the format of its first line. */
  format?: ValidateFormat | undefined;
  /** With live messages: the stream as it was sent, to compare with. */
  against?: ValidateInput | undefined;
  /** Patterns of secrets to redact in the report, in addition to the known ones. */
  redact?: readonly string[] | undefined;
}

const isText = (value: unknown) => typeof value === 'string';
const anInput = is.when(
  isText,
  is.text,
  having('a path or an async iterable of bytes', Symbol.asyncIterator),
);

const VALIDATE_FIELDS = {
  input: is.required(anInput),
  format: is.oneOf(['live', 'run-event', 'transcript']),
  against: anInput,
  redact: is.texts,
} as const satisfies Readonly<Record<keyof ValidateOptions, is.Fields[string]>>;

/** Checks a stream. Resolves with the verdict on every rule; rejects when the input cannot be read. */
export async function validate(options: ValidateOptions): Promise<ValidateReport> {
  checkOptions('validate', options, VALIDATE_FIELDS);
  const { input, format = null, against = null, redact } = options;
  const { validateInput } = await import('./validate.ts');
  const report = await validateInput(input, { format, against });
  // A report quotes lines.
  return redactRecord(report, await passingRedactor(process.env, { redact }));
}
