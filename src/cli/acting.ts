/** What a command may do with state and configuration that others could have written. */
import { type Acting, isTrusted } from '../app/own-state.ts';
import { oneLine } from '../lib/terminal-text.ts';
import type { Io } from './io.ts';

/** Longer than any path; one line all the same. */
const SAY_CHARS_MAX = 2_000;

export function actingOf(trust: true | undefined, io: Io): Acting {
  return {
    trust: isTrusted(trust, io.env),
    say: (text) => void io.err.write(`${oneLine(text, SAY_CHARS_MAX)}\n`),
  };
}
