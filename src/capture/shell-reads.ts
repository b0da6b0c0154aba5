/**
 * Which files a shell command line reads (AG-8): found by parsing the words outside quotes, never by searching output.
 * Contract: only what is plain is reported; a word with an expansion or a glob is left out, never guessed.
 */

interface Word {
  text: string;
  /** Holds an expansion or a glob: its value is not known. */
  unsure: boolean;
  /** An operator such as `|`, `&&`, `>`. */
  operator: boolean;
}

/** Options of read commands that take the next word as their value. */
const VALUE_OPTIONS: Record<string, string> = {
  head: 'nc',
  tail: 'ncs',
  nl: 'bdfhilnsvw',
  grep: 'ABCmefd',
  egrep: 'ABCmef',
  fgrep: 'ABCmef',
  rg: 'ABCmefgt',
  sed: 'efl',
  less: 'bhjkoOpPtTxyz',
};
const LONG_VALUE_OPTIONS = new Set(
  'lines bytes style theme language line-range color context after-context before-context max-count regexp file include exclude expression'
    .split(' ')
    .map((name) => `--${name}`),
);
const READ_COMMANDS = new Set([
  'cat',
  'head',
  'tail',
  'sed',
  'nl',
  'less',
  'more',
  'bat',
  'batcat',
  'grep',
  'egrep',
  'fgrep',
  'rg',
]);
const MAY_READ = /\b(?:cat|head|tail|sed|nl|less|more|bat|grep|[ef]grep|batcat|rg)\b/;
/** One plain read of one file, by far the most frequent. */
const PLAIN_READ =
  /^(?:(?:cat|nl|less|more|bat|head|tail) ([\w./][\w./-]*)|sed -n ['"]?[\d,$]+p['"]? ([\w./][\w./-]*))$/;
const PATTERN_FIRST = new Set(['grep', 'egrep', 'fgrep', 'rg']);
const KEYWORDS = new Set([
  'if',
  'then',
  'else',
  'elif',
  'do',
  'while',
  'until',
  '!',
  '{',
  '(',
  'time',
  'command',
  'exec',
  'sudo',
]);
const SEPARATORS = new Set(['|', '||', '&&', ';', '&', '\n', '|&', '(', ')']);
/** Characters that stand for themselves: most words are made of nothing else. */
const PLAIN = /[\w./:,=+@%^~-]+/y;
const OPERATOR = /^(?:\|\||&&|\|&|;;|<<<|<<-?|>>|>&|<&|&>>?|<>|>\||[|&;<>()\n])/;

export function shellReads(command: string): string[] {
  if (command.length > 65_536) return [];
  if (!MAY_READ.test(command)) return [];
  const plain = PLAIN_READ.exec(command);
  if (plain !== null) return [plain[1] ?? (plain[2] as string)];
  const reads: string[] = [];
  let folder = '';
  let simple: Word[] = [];
  for (const word of [...wordsOf(command), { text: '\n', unsure: false, operator: true }]) {
    if (!word.operator || !SEPARATORS.has(word.text)) {
      simple.push(word);
      continue;
    }
    folder = changeFolder(simple, folder);
    for (const path of readsOf(simple))
      reads.push(path.startsWith('/') || folder === '' ? path : `${folder}/${path}`);
    simple = [];
  }
  return reads.length < 2 ? reads : [...new Set(reads)];
}

/** Scripts of `sed -n` that only print. */
const SED_PRINTS =
  /^(?:(?:[\d$]+(?:[,~][\d$+]+)?|\/(?:[^/\\]|\\.)+\/(?:,(?:[\d$+]+|\/(?:[^/\\]|\\.)+\/))?)\s*p(?:\s*;\s*)?)+$/;
const SEARCHES = new Set(['grep', 'egrep', 'fgrep', 'rg']);

/** The file that a command reads when it is one simple command which does nothing else; else null. */
export function onlyRead(command: string): string | null {
  if (command.length > 65_536) return null;
  const plain = PLAIN_READ.exec(command)?.[1];
  if (plain !== undefined) return plain;
  const words = wordsOf(command.trim());
  const program = (words[0]?.text ?? '').replace(/^.*\//, '');
  if (!READ_COMMANDS.has(program) || SEARCHES.has(program)) return null;
  if (words.some((word) => word.operator || word.unsure)) return null;
  const files = readsOf(words);
  if (files.length !== 1) return null;
  if (program === 'sed' && !words.some((word) => SED_PRINTS.test(word.text))) return null;
  return files[0] as string;
}

function changeFolder(words: Word[], folder: string): string {
  const [program, target, more] = words;
  if (
    program?.text !== 'cd' ||
    target === undefined ||
    more !== undefined ||
    target.unsure ||
    target.operator
  )
    return folder;
  const to = target.text.replace(/\/+$/, '');
  return to.startsWith('/') || folder === '' ? to : `${folder}/${to}`;
}

function wordsOf(command: string): Word[] {
  const words: Word[] = [];
  let at = 0;
  while (at < command.length) {
    const char = command[at] as string;
    if (char === ' ' || char === '\t' || char === '\r') {
      at += 1;
    } else if (char === '#') {
      const end = command.indexOf('\n', at);
      at = end < 0 ? command.length : end;
    } else {
      const operator = '|&;<>()\n'.includes(char) ? OPERATOR.exec(command.slice(at, at + 3)) : null;
      if (operator) {
        words.push({ text: operator[0], unsure: false, operator: true });
        at += operator[0].length;
        if (operator[0].startsWith('<<') && operator[0] !== '<<<') at = skipHeredoc(command, at);
      } else {
        at = readWord(command, at, words);
      }
    }
  }
  return words;
}

/** The body of a here-document is data, not commands. */
function skipHeredoc(command: string, from: number): number {
  const tag = /^\s*(['"]?)([\w.-]+)\1/.exec(command.slice(from, from + 200));
  if (tag === null) return from;
  const end = new RegExp(`\\n\\s*${(tag[2] as string).replace(/[.-]/g, '\\$&')}(?=\\n|$)`).exec(
    command.slice(from),
  );
  if (end === null) return command.length;
  const line_end = command.indexOf('\n', from);
  // What follows the tag on its own line still belongs to the command; it is rare and holds no file to read.
  return Math.max(line_end, from + end.index + end[0].length);
}

function readWord(command: string, from: number, words: Word[]): number {
  PLAIN.lastIndex = from;
  let text = PLAIN.exec(command)?.[0] ?? '';
  let unsure = false;
  let at = from + text.length;
  for (; at < command.length; at++) {
    const char = command[at] as string;
    if (' \t\n\r|&;<>()'.includes(char)) break;
    if (char === "'") {
      const end = command.indexOf("'", at + 1);
      text += command.slice(at + 1, end < 0 ? command.length : end);
      at = end < 0 ? command.length : end;
    } else if (char === '"') {
      const quoted = readDoubleQuoted(command, at + 1);
      text += quoted.text;
      unsure ||= quoted.unsure;
      at = quoted.end;
    } else if (char === '\\') {
      at += 1;
      text += command[at] ?? '';
    } else {
      if ('$`*?['.includes(char)) unsure = true;
      if (char === '$' && command[at + 1] === '(') {
        at = skipSubstitution(command, at + 1);
        continue;
      }
      text += char;
    }
  }
  // A descriptor number before a redirection belongs to it: `2>&1`.
  if (/^\d+$/.test(text) && (command[at] === '>' || command[at] === '<')) return at;
  words.push({ text, unsure, operator: false });
  return at;
}

function readDoubleQuoted(
  command: string,
  from: number,
): { text: string; unsure: boolean; end: number } {
  let text = '';
  let unsure = false;
  let at = from;
  for (; at < command.length && command[at] !== '"'; at++) {
    if (command[at] === '\\' && '"\\$`'.includes(command[at + 1] ?? '')) at += 1;
    else if (command[at] === '$' || command[at] === '`') unsure = true;
    text += command[at];
  }
  return { text, unsure, end: at };
}

function skipSubstitution(command: string, open: number): number {
  let depth = 0;
  for (let at = open; at < command.length; at++) {
    if (command[at] === '(') depth += 1;
    else if (command[at] === ')' && --depth === 0) return at;
  }
  return command.length;
}

/** The files that one simple command reads. */
function readsOf(words: Word[]): string[] {
  let start = 0;
  while (
    start < words.length &&
    (KEYWORDS.has(words[start]!.text) || /^[A-Za-z_]\w*=/.test(words[start]!.text))
  )
    start += 1;
  const program = (words[start]?.text ?? '').replace(/^.*\//, '');
  if (!READ_COMMANDS.has(program)) return [];
  const { args, inputs } = splitArguments(words.slice(start + 1));
  const { options, operands } = sortArguments(program, args);
  if (program === 'sed') {
    // Without -n sed is an editor's tool; with -i it writes.
    if (
      !options.some((option) => /^-[a-zA-Z]*n/.test(option)) ||
      options.some((option) => /^(-[a-zA-Z]*i|--in-place)/.test(option))
    )
      return [];
    if (!options.some((option) => /^-[a-zA-Z]*[ef]/.test(option))) operands.shift();
  } else if (PATTERN_FIRST.has(program)) {
    if (
      options.some((option) => /^(-[a-zA-Z]*[rR]|--recursive)/.test(option)) ||
      (program === 'rg' && operands.length < 2)
    )
      return [];
    if (!options.some((option) => /^-[a-zA-Z]*[ef]$/.test(option))) operands.shift();
  }
  return [...operands, ...inputs]
    .filter((word) => !word.unsure && word.text !== '-' && word.text !== '')
    .map((word) => word.text);
}

function splitArguments(words: Word[]): { args: Word[]; inputs: Word[] } {
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

function sortArguments(program: string, args: Word[]): { options: string[]; operands: Word[] } {
  const options: string[] = [];
  const operands: Word[] = [];
  const takes = VALUE_OPTIONS[program] ?? '';
  for (let i = 0; i < args.length; i++) {
    const { text } = args[i] as Word;
    if (text === '--') {
      operands.push(...args.slice(i + 1));
      break;
    }
    if (!/^-./.test(text) && !(program === 'tail' && /^\+\d/.test(text))) {
      operands.push(args[i] as Word);
      continue;
    }
    options.push(text);
    const last = text.at(-1) as string;
    if (/^-[a-zA-Z]+$/.test(text) && takes.includes(last)) i += 1;
    else if (LONG_VALUE_OPTIONS.has(text)) i += 1;
  }
  return { options, operands };
}
