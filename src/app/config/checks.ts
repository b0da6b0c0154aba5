/** Checks of single values in `tacho.yaml`. */
import { own } from '../../lib/own.ts';
import { APPROVE_MODES } from '../../model/words.ts';

/** What is wrong with a value; null: nothing. */
export type Check = (value: unknown) => string | null;

export const text: Check = (value) =>
  typeof value === 'string' && value !== '' ? null : 'must be a text';
/** Of a value that is a word of its own on the agent's command line; null: nothing is wrong. */
export const likeFlag = (value: string | null): string | null =>
  value?.startsWith('-') ? 'must not begin with "-": the agent would take it for a flag' : null;
export const model: Check = (value) => text(value) ?? likeFlag(value as string);
export const number: Check = (value) =>
  typeof value === 'number' && value > 0 ? null : 'must be a number of seconds over 0';
export const whole =
  (least: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= least
      ? null
      : `must be a whole number from ${least} on`;
export const amount: Check = (value) =>
  typeof value === 'number' && value > 0 ? null : 'must be an amount in US dollars over 0';
export const list: Check = (value) =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')
    ? null
    : 'must be a list of texts';
export const textOrList: Check = (value) =>
  text(value) === null || (list(value) === null && text((value as string[])[0]) === null)
    ? null
    : 'must be a text or a list of texts';
export const map: Check = (value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return 'must be a map of names to texts';
  const wrong = Object.entries(value).find(
    ([, item]) => !['string', 'number', 'boolean'].includes(typeof item),
  );
  return wrong === undefined ? null : `${wrong[0]} must be a text`;
};
export const approve: Check = (value) =>
  (APPROVE_MODES as readonly unknown[]).includes(value)
    ? null
    : `must be one of ${APPROVE_MODES.join(', ')}`;
export const targets: Check = (value) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? null
    : 'must be a map of target names';

export const flag: Check = (value) => (typeof value === 'boolean' ? null : 'must be true or false');

const UNITS: Record<string, number> = { s: 1e3, m: 60e3, h: 3600e3, d: 86_400e3, w: 604_800e3 };

/** `90s`, `12h`, `30d` in ms; null: no such text. */
export function durationOf(value: unknown): number | null {
  const found = typeof value === 'string' ? /^(\d+(?:\.\d+)?) ?([smhdw])$/.exec(value) : null;
  return found === null ? null : Number(found[1]) * (own(UNITS, found[2] as string) as number);
}

const SIZES: Record<string, number> = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12 };

/** `500MB` in bytes; null: no such text. */
export function sizeOf(value: unknown): number | null {
  const found = typeof value === 'string' ? /^(\d+(?:\.\d+)?) ?([kmgt]?b)$/i.exec(value) : null;
  if (found === null) return null;
  return Math.round(Number(found[1]) * (own(SIZES, (found[2] as string).toLowerCase()) as number));
}

export const duration: Check = (value) =>
  durationOf(value) === null ? 'must be a time like 12h, 30d or 8w' : null;
export const size: Check = (value) =>
  sizeOf(value) === null ? 'must be a size like 500MB or 2GB' : null;
export const policies: Check = (value) =>
  Array.isArray(value) ? null : 'must be a list of policies';
