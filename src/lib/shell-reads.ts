/**
 * Finds the files that a shell command line reads (AG-8), by parsing words outside of quotes, never by searching output.
 * Contract: only certain reads are reported. A word with an expansion or a glob is skipped, never guessed.
 */

import { isLonger } from './byte-text.ts';
import { LIMITS } from './limits.ts';
import { nameOf, programAt, sortArguments, splitArguments } from './shell-arguments.ts';
import { type Word, wordsOf } from './shell-words.ts';
import { trimmed } from './white-space.ts';

const READ_COMMANDS = new Set(
  'cat head tail sed nl less more bat batcat grep egrep fgrep rg'.split(' '),
);
const MAY_READ = /\b(?:cat|head|tail|sed|nl|less|more|bat|grep|[ef]grep|batcat|rg)\b/;
/** A plain read of one file, by far the most frequent form. */
const PLAIN_READ =
  /^(?:(?:cat|nl|less|more|bat|head|tail) ([\w./][\w./-]*)|sed -n ['"]?[\d,$]+p['"]? ([\w./][\w./-]*))$/;
const SEARCHES = new Set(['grep', 'egrep', 'fgrep', 'rg']);
/** Long options of `sed` and search programs that replace the first operand. */
const LONG_PATTERN = /^--(?:regexp|expression|file)(?:=|$)/;
const PIPES = new Set(['|', '|&', '&']);
const SEPARATORS = new Set(['|', '||', '&&', ';', '&', '\n', '|&', '(', ')']);
/** Nested command lines: deeper than anyone writes them. */
const MAX_DEPTH = 4;
const COMMAND_CHARS_MAX = 65_536;

export function shellReads(command: string): string[] {
  if (isLonger(command, COMMAND_CHARS_MAX)) return [];
  if (!MAY_READ.test(command)) return [];
  const plain = PLAIN_READ.exec(command);
  if (plain !== null) return [plain[1] ?? (plain[2] as string)];
  const reads = new Set<string>();
  for (const path of linesReads(command, '', 0)) {
    if (reads.size >= LIMITS.shell_reads_max) break;
    reads.add(path);
  }
  return [...reads];
}

/** The files that a command line reads when it runs in `at`; null: the folder is unknown. */
function linesReads(command: string, at: string | null, depth: number): string[] {
  const reads: string[] = [];
  const outer: (string | null)[] = [];
  let folder = at;
  let before = '';
  let simple: Word[] = [];
  for (const word of [...wordsOf(command), { text: '\n', unsure: false, operator: true }]) {
    const { text, operator, inner = [] } = word;
    if (depth < MAX_DEPTH)
      for (const line of inner) reads.push(...linesReads(line, folder, depth + 1));
    if (!operator || !SEPARATORS.has(text)) {
      simple.push(word);
      continue;
    }
    for (const path of readsOf(simple)) {
      const whole = inFolder(folder, path);
      if (whole !== null) reads.push(whole);
    }
    // Every part of a pipeline has its own current folder.
    if (!PIPES.has(text) && !PIPES.has(before)) folder = changeFolder(simple, folder);
    if (text === '(') outer.push(folder);
    else if (text === ')') folder = outer.pop() ?? folder;
    before = text;
    simple = [];
  }
  return reads;
}

function inFolder(folder: string | null, path: string): string | null {
  if (path.startsWith('/') || folder === '') return path;
  // A series of `cd` can make a path longer than any real one.
  if (folder === null || isLonger(folder + path, LIMITS.path_chars_max)) return null;
  return `${folder === '/' ? '' : folder}/${path}`;
}

/** Scripts of `sed -n` that only print. */
const SED_PRINTS =
  /^(?:(?:[\d$]+(?:[,~][\d$+]+)?|\/(?:[^/\\]|\\[^\r\n])+\/(?:,(?:[\d$+]+|\/(?:[^/\\]|\\[^\r\n])+\/))?)[\t-\r ]*p(?:[\t-\r ]*;[\t-\r ]*)?)+$/;

/** The file that a simple command reads if it does nothing else; otherwise null. */
export function onlyRead(command: string): string | null {
  if (isLonger(command, COMMAND_CHARS_MAX)) return null;
  const plain = PLAIN_READ.exec(command)?.[1];
  if (plain !== undefined) return plain;
  if (!MAY_READ.test(command)) return null;
  const words = wordsOf(trimmed(command));
  const program = nameOf(words[0]);
  if (!READ_COMMANDS.has(program) || SEARCHES.has(program)) return null;
  if (words.some((word) => word.operator || word.unsure)) return null;
  const files = readsOf(words);
  if (files.length !== 1) return null;
  if (program === 'sed' && !sedScripts(words).every((script) => SED_PRINTS.test(script)))
    return null;
  return files[0] as string;
}

function sedScripts(words: Word[]): string[] {
  const { values, operands } = sortArguments('sed', words.slice(1));
  return (values.length > 0 ? values : operands.slice(0, 1)).map((word) => word.text);
}

function changeFolder(words: Word[], folder: string | null): string | null {
  const start = programAt(words);
  const program = words[start]?.text ?? '';
  if (program === 'popd') return null;
  if (program !== 'cd' && program !== 'pushd') return folder;
  const [target, more] = splitArguments(words.slice(start + 1)).args;
  if (target === undefined || more !== undefined || target.unsure || target.text.startsWith('-'))
    return null;
  return inFolder(folder, withoutSlashes(target.text));
}

/** Removes trailing slashes, but keeps `/`. A regular expression would search for the end again from every slash. */
function withoutSlashes(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

/** The files that one simple command reads. */
function readsOf(words: Word[]): string[] {
  const start = programAt(words);
  const program = nameOf(words[start]);
  if (!READ_COMMANDS.has(program)) return [];
  const { args, inputs } = splitArguments(words.slice(start + 1));
  const { options, letters, operands } = sortArguments(program, args);
  const has = (short: RegExp, long: RegExp) =>
    short.test(letters) || options.some((option) => long.test(option));
  if (program === 'sed') {
    // Without -n sed edits; with -i it writes.
    if (!has(/n/, /^--(?:quiet|silent)$/) || has(/i/, /^--in-place/)) return [];
  } else if (program === 'rg') {
    if (operands.length < 2 && !has(/[ef]/, LONG_PATTERN)) return [];
  } else if (SEARCHES.has(program) && has(/[rR]/, /^--(?:dereference-)?recursive$/)) return [];
  if ((program === 'sed' || SEARCHES.has(program)) && !has(/[ef]/, LONG_PATTERN)) operands.shift();
  return [...operands, ...inputs]
    .filter((word) => !word.unsure && word.text !== '-' && word.text !== '')
    .map((word) => word.text);
}
