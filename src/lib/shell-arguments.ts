/** One simple shell command: the position of its program name, its options with their values, and its operands. */
import { own } from './own.ts';
import type { Word } from './shell-words.ts';

/** Options of read commands that use the next word as their value. */
const VALUE_OPTIONS: Record<string, string> = {
  head: 'nc',
  tail: 'ncs',
  nl: 'bdfhilnsvw',
  grep: 'ABCmefd',
  egrep: 'ABCmef',
  fgrep: 'ABCmef',
  rg: 'ABCEMTdefgjmrt',
  sed: 'efl',
  less: 'bhjkoOpPtTxyz',
  bat: 'HlmRr',
  batcat: 'HlmRr',
};
/** Programs with options that begin with `+`: a line, a search. */
const PLUS_OPTIONS = new Set(['tail', 'less', 'more']);
const LONG_VALUE_OPTIONS = new Set(
  'lines bytes style theme language line-range highlight-line context after-context before-context max-count regexp file include exclude expression'
    .split(' ')
    .map((name) => `--${name}`),
);
const KEYWORDS = new Set(['if', 'then', 'else', 'elif', 'do', 'while', 'until', '!', '{', '(']);
/** Programs that run the command after them → their options that have a value. */
const WRAPPERS: Record<string, string> = {
  builtin: '',
  command: '',
  doas: 'Cu',
  env: 'uCS',
  exec: 'a',
  nice: 'n',
  ionice: 'cnp',
  nohup: '',
  setsid: '',
  stdbuf: 'ioe',
  sudo: 'CDghpRTUu',
  time: 'fo',
  timeout: 'ks',
};

/** The position of the program name, after keywords, assignments and wrapper programs. */
export function programAt(words: readonly Word[]): number {
  let at = 0;
  for (;;) {
    while (KEYWORDS.has(words[at]?.text ?? '') || /^[A-Za-z_]\w*=/.test(words[at]?.text ?? ''))
      at += 1;
    const wrapper = nameOf(words[at]);
    const takes = own(WRAPPERS, wrapper);
    if (takes === undefined) return at;
    at += 1;
    for (
      let text = words[at]?.text;
      text !== undefined && /^-[^\r\n]/.test(text);
      text = words[at]?.text
    ) {
      // `command -v NAME` only searches for the program.
      if (wrapper === 'command' && /^-[vV]/.test(text)) return words.length;
      at += takesNext(text, takes) ? 2 : 1;
    }
    if (wrapper === 'timeout') at += 1;
  }
}

export const nameOf = (word: Word | undefined) => (word?.text ?? '').replace(/^[^\r\n]*\//, '');

/** The short options in one word, up to the first that has a value. */
function lettersOf(option: string, takes: string): string {
  if (!/^-[a-zA-Z]/.test(option)) return '';
  const letters = option.slice(1);
  for (let at = 0; at < letters.length; at++)
    if (takes.includes(letters[at] as string)) return letters.slice(0, at + 1);
  return letters;
}

/** Whether the option's value is the next word. */
function takesNext(option: string, takes: string): boolean {
  const letters = lettersOf(option, takes);
  return letters.length === option.length - 1 && takes.includes(letters.at(-1) ?? '-');
}

export function splitArguments(words: Word[]): { args: Word[]; inputs: Word[] } {
  const args: Word[] = [];
  const inputs: Word[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as Word;
    if (!word.operator) args.push(word);
    else {
      const target = words[i + 1];
      i += 1;
      if (word.text === '<' && target !== undefined) inputs.push(target);
    }
  }
  return { args, inputs };
}

/** `letters`: the short options. */
export function sortArguments(program: string, args: Word[]) {
  const options: string[] = [];
  const values: Word[] = [];
  const operands: Word[] = [];
  const takes = own(VALUE_OPTIONS, program) ?? '';
  for (let i = 0; i < args.length; i++) {
    const { text } = args[i] as Word;
    if (text === '--') {
      operands.push(...args.slice(i + 1));
      break;
    }
    if (!/^-[^\r\n]/.test(text) && !(PLUS_OPTIONS.has(program) && /^\+[^\r\n]/.test(text))) {
      operands.push(args[i] as Word);
      continue;
    }
    options.push(text);
    const long = LONG_VALUE_OPTIONS.has(text) || (text === '--color' && !/grep$/.test(program));
    if (long || takesNext(text, takes)) {
      i += 1;
      const value = args[i];
      if (value !== undefined) values.push(value);
    }
  }
  const letters = options.map((option) => lettersOf(option, takes)).join('');
  return { options, letters, values, operands };
}
