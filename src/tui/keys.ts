/** Bytes of a terminal's keyboard → keys: `<name>` for a key with a name, else the character itself. */
import { own } from '../lib/own.ts';

const NAMES: Readonly<Record<string, string>> = {
  '\u001b[A': '<up>',
  '\u001bOA': '<up>',
  '\u001b[B': '<down>',
  '\u001bOB': '<down>',
  '\u001b[C': '<right>',
  '\u001bOC': '<right>',
  '\u001b[D': '<left>',
  '\u001bOD': '<left>',
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
  '\u0002': '<ctrl_b>',
  '\u0003': '<ctrl_c>',
  '\u0004': '<ctrl_d>',
  '\u0006': '<ctrl_f>',
  '\u0015': '<ctrl_u>',
  '\u001a': '<ctrl_z>',
};

/** One key: an escape sequence, a lone escape before something else, or a character. */
const SEQUENCE = /\u001b\[[0-9;?]*[@-~]|\u001bO[@-~]|\u001b(?=[^[O]|$)|[^\u001b]/gu;
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

const SHOWN: Readonly<Record<string, string>> = {
  ' ': 'Space',
  '<page_up>': 'PgUp',
  '<page_down>': 'PgDn',
  '<escape>': 'Esc',
  '<backtab>': 'Shift-Tab',
};

/** A key as people call it. */
export function keyName(key: string): string {
  const name = /^<(\w+)>$/.exec(key)?.[1];
  if (name === undefined || own(SHOWN, key) !== undefined) return own(SHOWN, key) ?? key;
  const [first = '', rest] = name.split('_');
  const capital = `${first.charAt(0).toUpperCase()}${first.slice(1)}`;
  return rest === undefined ? capital : `${capital}-${rest.toUpperCase()}`;
}
