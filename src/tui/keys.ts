/** Bytes of a terminal's keyboard → keys: `<name>` for a key with a name, else the character itself. */
import { own } from '../lib/own.ts';

const NAMES: Readonly<Record<string, string>> = {
  '\u001b[A': '<up>',
  '\u001bOA': '<up>',
  '\u001b[B': '<down>',
  '\u001bOB': '<down>',
  '\u001b[5~': '<page_up>',
  '\u001b[6~': '<page_down>',
  '\u001b[H': '<home>',
  '\u001bOH': '<home>',
  '\u001b[1~': '<home>',
  '\u001b[F': '<end>',
  '\u001bOF': '<end>',
  '\u001b[4~': '<end>',
  '\u001b[Z': '<backtab>',
  '\u001b': '<escape>',
  '\r': '<enter>',
  '\n': '<enter>',
  '\t': '<tab>',
  '\u007f': '<backspace>',
  '\b': '<backspace>',
  '\u0015': '<clear>',
  '\u0003': '<interrupt>',
};

/** One key: an escape sequence, a lone escape before something else, or a character. */
const SEQUENCE = /\u001b\[[0-9;?]*[@-~]|\u001bO[@-~]|\u001b(?=[^[O])|[^\u001b]/gu;
/** The beginning of a sequence at the end of a read. No known sequence is longer than this allows. */
const UNFINISHED = /\u001b(?:\[[0-9;?]{0,16}|O)?$/;
const CONTROL = /^[\0-\x1f\x7f-\x9f]/;

/** `held` is the unfinished rest of an earlier read. */
export function readKeys(held: string, chunk: string): { keys: string[]; held: string } {
  const text = held + chunk;
  const rest = UNFINISHED.exec(text)?.[0] ?? '';
  const whole = text.slice(0, text.length - rest.length);
  const keys: string[] = [];
  for (const [sequence] of whole.matchAll(SEQUENCE)) {
    const name = own(NAMES, sequence);
    if (name !== undefined) keys.push(name);
    else if (!CONTROL.test(sequence)) keys.push(sequence);
  }
  return { keys, held: rest };
}

export type Move = 'up' | 'down' | 'page_up' | 'page_down' | 'first' | 'last';

/** The keys for moving, the same in every list and page. */
const MOVES: Readonly<Record<string, Move>> = {
  '<up>': 'up',
  k: 'up',
  '<down>': 'down',
  j: 'down',
  '<page_up>': 'page_up',
  b: 'page_up',
  '<page_down>': 'page_down',
  ' ': 'page_down',
  '<home>': 'first',
  g: 'first',
  '<end>': 'last',
  G: 'last',
};

export const moveOf = (key: string): Move | null => own(MOVES, key) ?? null;

/** The number of lines of a move; null for a move to one of the ends. */
export function linesOf(move: Move, page: number): number | null {
  if (move === 'first' || move === 'last') return null;
  // A page overlaps the previous one by a line for orientation.
  const far = Math.max(1, page - 1);
  return { up: -1, down: 1, page_up: -far, page_down: far }[move];
}
