/** Values of options, read and checked alike in every command. */
import { InvalidArgumentError, Option } from 'commander';

export const INSECURE_HELP = 'allow tcp:// to another machine: token and messages unencrypted';

/** A file, or with - standard input. */
export const inputOf = (path: string): string | AsyncIterable<Uint8Array> =>
  path === '-' ? (process.stdin as AsyncIterable<Uint8Array>) : path;

/** A whole number from `least` on. */
export const countFrom = (least: number) => (text: string) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least)
    throw new InvalidArgumentError(`Give a whole number from ${least} on.`);
  return value;
};

/** A number for which `holds` is true; `like` describes it in the message. */
export const numberLike = (like: string, holds: (value: number) => boolean) => (text: string) => {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || !holds(value))
    throw new InvalidArgumentError(`Give ${like}.`);
  return value;
};

/** Of an option that may be given several times. */
export const each = (value: string, before: unknown) => [
  ...(Array.isArray(before) ? (before as string[]) : []),
  value,
];

export const RUN_ARGUMENT = [
  '<run>',
  'last, last~N, a run or session id, or the beginning of one',
] as const;

/** Of commands that change the store. */
export const FORCE_FLAG = [
  '--force',
  'take the store over from a command that holds it; if that one lives, runs may be lost',
] as const;

export const redactOption = () =>
  new Option(
    '--redact <pattern>',
    'redact also what matches this pattern (repeatable); see docs/reference/redaction.md',
  ).argParser(each);
