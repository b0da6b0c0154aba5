/** Bytes of a terminal's keyboard → the keys the live view knows. */

export type Key = 'up' | 'down' | 'page_up' | 'page_down' | 'first' | 'last' | 'interrupt';

const KEYS: Readonly<Record<string, Key>> = {
  '\u001b[A': 'up',
  '\u001bOA': 'up',
  k: 'up',
  '\u001b[B': 'down',
  '\u001bOB': 'down',
  j: 'down',
  '\u001b[5~': 'page_up',
  b: 'page_up',
  '\u001b[6~': 'page_down',
  ' ': 'page_down',
  '\u001b[H': 'first',
  '\u001bOH': 'first',
  '\u001b[1~': 'first',
  g: 'first',
  '\u001b[F': 'last',
  '\u001bOF': 'last',
  '\u001b[4~': 'last',
  G: 'last',
  q: 'interrupt',
  '\u0003': 'interrupt',
};

/** One key: an escape sequence, a lone escape before something else, or a character. */
const SEQUENCE = /\u001b\[[0-9;?]*[@-~]|\u001bO[@-~]|\u001b(?=[^[O])|[^\u001b]/gu;
/** The beginning of a sequence at the end of a read. No sequence we know is longer than this allows. */
const UNFINISHED = /\u001b(?:\[[0-9;?]{0,16}|O)?$/;

/** `held` is what an earlier read left unfinished. */
export function readKeys(held: string, chunk: string): { keys: Key[]; held: string } {
  const text = held + chunk;
  const rest = UNFINISHED.exec(text)?.[0] ?? '';
  const whole = text.slice(0, text.length - rest.length);
  const keys: Key[] = [];
  for (const [sequence] of whole.matchAll(SEQUENCE)) {
    if (Object.hasOwn(KEYS, sequence)) keys.push(KEYS[sequence] as Key);
  }
  return { keys, held: rest };
}
