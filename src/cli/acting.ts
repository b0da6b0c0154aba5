/** Consent of the user to state and configuration that others could have written, and questions on the terminal. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { Consenting } from '../app/config/consent.ts';
import { isTrusted } from '../app/config/own-state.ts';
import { forTerminal, oneLine } from '../lib/terminal-text.ts';
import type { Io } from './command.ts';

/** Longer than any path. */
const SAY_CHARS_MAX = 2_000;
/** Each text is written, and each question asked, once per process: an eval uses the same file for every test. */
const said = new Set<string>();
const answers = new Map<string, boolean | null>();

export function actingOf(trust: true | undefined, io: Io): Consenting {
  return {
    trust: isTrusted(trust, io.env),
    say(text) {
      if (said.has(text)) return;
      said.add(text);
      void io.err.write(`${oneLine(text, SAY_CHARS_MAX)}\n`);
    },
    ask(question) {
      if (!answers.has(question)) answers.set(question, askTerminal(question));
      return answers.get(question) ?? null;
    },
  };
}

/** Asks on the terminal itself: the standard streams may be in use. Null if there is no terminal. */
export function askTerminal(question: string): boolean | null {
  if (!isatty(0) || !isatty(2)) return null;
  let terminal: number;
  try {
    terminal = openSync('/dev/tty', 'r');
  } catch {
    return null;
  }
  try {
    writeSync(2, forTerminal(`${question} [y/N] `));
    const bytes = Buffer.alloc(64);
    const answer = bytes.toString('utf8', 0, readSync(terminal, bytes));
    return /^\s*y(es)?\s*$/i.test(answer);
  } catch {
    return null;
  } finally {
    closeSync(terminal);
  }
}
