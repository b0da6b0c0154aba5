/** Values of `tacho.yaml`, some of which are also flags. */
import { own } from '../../lib/own.ts';
import { type Read, text, unknownWord } from '../../lib/schema/read.ts';
import { FAIL_ON, type FailOn } from '../../model/words.ts';

/** Checks a value that becomes a separate argument of the agent. Null if it is fine. */
export const likeFlag = (value: string | null): string | null =>
  value?.startsWith('-') ? 'must not begin with "-": the agent would treat it as a flag' : null;

export const isFailOn = (word: string): word is FailOn =>
  (FAIL_ON as readonly string[]).includes(word);

export const agentIn =
  (known: readonly string[]): Read<string> =>
  (value, place) => {
    const name = text(value, place);
    if (name !== '' && !known.includes(name))
      place.mistake(unknownWord('agent', name, known), ': ');
    return name;
  };

/** A number with a unit, as text. */
export interface Measure {
  /** The expected form, for messages. */
  like: string;
  /** Null if the value has another form. */
  parse(value: unknown): number | null;
}

const measure = (like: string, units: Readonly<Record<string, number>>): Measure => ({
  like,
  parse(value) {
    const words = typeof value === 'string' ? value : '';
    const [, figure, unit = ''] = /^(\d+(?:\.\d+)?) ?([a-z]+)$/i.exec(words) ?? [];
    const factor = own(units, unit) ?? own(units, unit.toUpperCase());
    return factor === undefined ? null : Math.round(Number(figure) * factor);
  },
});

/** In ms. */
export const DURATION = measure('a time like 12h, 30d or 8w', {
  s: 1e3,
  m: 60e3,
  h: 3600e3,
  d: 86_400e3,
  w: 604_800e3,
});

/** In bytes. */
export const SIZE = measure('a size like 500MB or 2GB', {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
});

export const measured =
  ({ like, parse }: Measure): Read<number> =>
  (value, place) => {
    const found = parse(value);
    if (found === null) place.mistake(`must be ${like}`);
    return found ?? 0;
  };
