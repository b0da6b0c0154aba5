/** Values and help texts of options that several commands have. */
import { InvalidArgumentError, Option } from 'commander';

export const INSECURE_HELP =
  'allow tcp:// to another machine; the token and all messages are sent unencrypted';
export const CA_HELP = 'CA certificates (PEM) to trust for tls://';
export const TOKEN_HELP = 'file with the token that the collector asks for';

/** A file; `-` is standard input. */
export const inputOf = (path: string): string | AsyncIterable<Uint8Array> =>
  path === '-' ? (process.stdin as AsyncIterable<Uint8Array>) : path;

/** A whole number from `least` on. */
export const countFrom = (least: number) => (text: string) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least)
    throw new InvalidArgumentError(`Give a whole number, at least ${least}.`);
  return value;
};

/** A number for which `holds` is true; `like` describes it in the message. */
export const numberLike = (like: string, holds: (value: number) => boolean) => (text: string) => {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || !holds(value))
    throw new InvalidArgumentError(`Give ${like}.`);
  return value;
};

/** Collects the values of an option that may be given several times. */
export const each = (value: string, before: unknown) => [
  ...(Array.isArray(before) ? (before as string[]) : []),
  value,
];

export const RUN_HELP = 'last, last~N, a run id, a session id, or a prefix of one';
export const RUN_ARGUMENT = ['[run]', RUN_HELP, 'last'] as const;

/** For commands that change the store. */
export const FORCE_FLAG = [
  '--force',
  'use the store although another command has locked it; if that command still works, runs may be lost',
] as const;

export const redactOption = () =>
  new Option(
    '--redact <pattern>',
    'also redact text that matches this pattern (repeatable); see docs/reference/redaction.md',
  ).argParser(each);
