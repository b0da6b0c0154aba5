/** Values of options, read and checked alike in every command. */
import { InvalidArgumentError, Option } from 'commander';

export const INSECURE_HELP = 'allow tcp:// to another machine: token and messages unencrypted';

/** A whole number from `least` on. */
export const countFrom = (least: number) => (text: string) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least)
    throw new InvalidArgumentError(`Give a whole number from ${least} on.`);
  return value;
};

export const redactOption = () =>
  new Option(
    '--redact <pattern>',
    'redact also what matches this pattern (repeatable); see docs/reference/redaction.md',
  ).argParser((text: string, before: unknown) => [...(Array.isArray(before) ? before : []), text]);
