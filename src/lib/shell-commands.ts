/**
 * The commands that a command line runs: after wrappers, in substitutions, in scripts given to a shell, through xargs,
 * find, ssh and the like. Contract: pure; nothing is expanded or guessed. A part that cannot be read is reported.
 */
import { own } from './own.ts';
import { nameOf, programAt } from './shell-arguments.ts';
import { inlineCode, innerOf, SHELLS, type ShellCommand } from './shell-inner.ts';
import { substitutionsIn, type Word, wordsOf } from './shell-words.ts';

export interface ShellReading {
  commands: ShellCommand[];
  /** Parts that cannot be read, each with the reason. */
  unread: { text: string; why: string }[];
}

const SEPARATORS = new Set(['|', '||', '&&', ';', ';;', '&', '\n', '|&', '(', ')']);
const PIPES = new Set(['|', '|&']);
/** Programs with a name that looks like a pattern. */
const TESTS = new Set(['[', '[[']);
/** Nested command lines: deeper than anyone writes them. */
const DEPTH_MAX = 8;
const COMMAND_CHARS_MAX = 65_536;
const COMMANDS_MAX = 1_000;

interface Where {
  folder: string | null;
  depth: number;
  remote: boolean;
  /** The first command of the line reads from it. */
  from: ShellCommand | null;
}

export function readShell(command: string, language: 'sh' | 'powershell' = 'sh'): ShellReading {
  const reading: ShellReading = { commands: [], unread: [] };
  const where = { folder: '', depth: 0, remote: false, from: null };
  new Reader(reading).line(language === 'sh' ? command : asShell(command), where);
  return reading;
}

/** PowerShell and cmd: a backslash is a part of a path, and a backtick escapes. */
const asShell = (text: string) =>
  text.replaceAll('`\n', ' ').replaceAll('`', '').replaceAll('\\', '\\\\');

class Reader {
  readonly #reading: ShellReading;

  constructor(reading: ShellReading) {
    this.#reading = reading;
  }

  #unread(text: string, why: string): void {
    this.#reading.unread.push({ text, why });
  }

  /** The rest of a long line is reported once. */
  #stop(text: string, { depth }: Where): void {
    const why = depth > DEPTH_MAX ? 'nested too deeply' : 'too many commands';
    if (!this.#reading.unread.some((one) => one.why === why)) this.#unread(text, why);
  }

  line(command: string, where: Where): void {
    if (where.depth > DEPTH_MAX) this.#stop(command, where);
    else if (command.length > COMMAND_CHARS_MAX) this.#unread(command, 'too long');
    else this.#words(command, where);
  }

  #words(command: string, where: Where): void {
    const outer: (string | null)[] = [];
    let { folder, from } = where;
    let before = '';
    let simple: Word[] = [];
    for (const word of [...wordsOf(command), { text: '\n', unsure: false, operator: true }]) {
      const { text, operator, inner = [], document = '', quoted } = word as Word;
      const lines = quoted ? inner : [...inner, ...substitutionsIn(document)];
      for (const line of lines)
        this.line(line, { ...where, folder, from: null, depth: where.depth + 1 });
      if (!operator || !SEPARATORS.has(text)) {
        simple.push(word);
        continue;
      }
      const ran = this.simple(simple, { ...where, folder, from });
      from = PIPES.has(text) ? ran : null;
      // Every part of a pipeline has its own current folder.
      if (!PIPES.has(text) && !PIPES.has(before) && text !== '&') folder = changed(ran, folder);
      if (text === '(') outer.push(folder);
      else if (text === ')') folder = outer.pop() ?? folder;
      before = text;
      simple = [];
    }
  }

  /** The command of these words; null if they only assign or end something. */
  simple(words: readonly Word[], where: Where): ShellCommand | null {
    const start = programAt(words);
    const word = words[start];
    if (word === undefined || word.operator) return redirected(words, where, this.#reading);
    const assigned = words.slice(0, start).find(({ text }) => /^-S|^--split-string/.test(text));
    if (assigned !== undefined) this.#unread(assigned.text, 'a command in a value');
    const text = words.map(({ text }) => text).join(' ');
    if (word.unsure && !TESTS.has(word.text)) {
      this.#unread(text, 'the program is not known');
      return null;
    }
    const command: ShellCommand = {
      program: nameOf(word)
        .replace(/\.exe$/i, '')
        .toLowerCase(),
      folder: where.remote ? null : where.folder,
      from: where.from,
      remote: where.remote,
      ...partsOf(words.slice(start + 1)),
    };
    const { commands } = this.#reading;
    if (commands.length >= COMMANDS_MAX || where.depth > DEPTH_MAX) this.#stop(text, where);
    else {
      commands.push(command);
      this.#inside(command, where);
    }
    return command;
  }

  /** Commands that this command runs. */
  #inside(command: ShellCommand, where: Where): void {
    const deeper = { ...where, depth: where.depth + 1, from: command.from };
    const all = innerOf(command);
    for (const inner of all) {
      if (inner.kind === 'words') this.simple(inner.words, { ...deeper, remote: inner.remote });
      else if (inner.kind === 'unread') this.#unread(inner.text, inner.why);
      else {
        const remote = where.remote || inner.remote === true;
        const text = inner.language === 'powershell' ? asShell(inner.text) : inner.text;
        if (text.trim() === '') this.#unread(inner.of, 'the script is computed');
        else this.line(text, { ...deeper, remote });
      }
    }
    const code = inlineCode(command);
    if (code !== null) this.#unread(code.text, `code for ${code.language}`);
    if (all.length === 0 && own(SHELLS, command.program)) this.#piped(command, deeper);
  }

  /** A shell without a script runs its input. */
  #piped(command: ShellCommand, where: Where): void {
    const { document, from, words, reads } = command;
    if (words.some(({ text }) => !text.startsWith('-'))) return;
    if (document !== null) this.line(document, where);
    else if (from !== null) {
      const said = from.words.filter(({ text }) => !/^-[neE]+$/.test(text));
      const known = ['echo', 'printf'].includes(from.program) && !said.some(({ unsure }) => unsure);
      if (known) this.line(said.map(({ text }) => text).join(' '), { ...where, from: null });
      else this.#unread(`${from.program} | ${command.program}`, 'commands from a pipe');
    } else if (reads.length > 0) this.#unread(reads[0]?.text ?? '', 'commands from a file');
  }
}

/** `> file` alone truncates the file. */
function redirected(
  words: readonly Word[],
  { folder, remote }: Where,
  { commands }: ShellReading,
): null {
  const parts = partsOf(words);
  if (parts.writes.length > 0)
    commands.push({ program: ':', ...parts, words: [], folder, from: null, remote });
  return null;
}

const WRITES = new Set(['>', '>|', '&>', '<>', '>&']);
const APPENDS = new Set(['>>', '&>>']);

function partsOf(given: readonly Word[]) {
  const words: Word[] = [];
  const reads: Word[] = [];
  const writes: Word[] = [];
  const appends: Word[] = [];
  let document: string | null = null;
  for (let at = 0; at < given.length; at++) {
    const word = given[at] as Word;
    if (!word.operator) {
      words.push(word);
      continue;
    }
    const target = given[at + 1];
    if (target === undefined || target.operator) continue;
    at += 1;
    if (word.text.startsWith('<<')) document = target.document ?? target.text;
    else if (word.text === '<') reads.push(target);
    else if (APPENDS.has(word.text)) appends.push(target);
    // `2>&1` copies a descriptor.
    else if (WRITES.has(word.text) && !(word.text === '>&' && /^\d*-?$/.test(target.text)))
      writes.push(target);
  }
  return { words, reads, writes, appends, document };
}

/** The folder after the command. */
function changed(command: ShellCommand | null, folder: string | null): string | null {
  if (command === null || command.remote) return folder;
  if (command.program === 'popd') return null;
  if (!['cd', 'pushd', 'set-location'].includes(command.program)) return folder;
  const operands = command.words.filter(({ text }) => text !== '--');
  const [target, more] = operands;
  if (target === undefined && command.program === 'cd') return '~';
  if (target === undefined || more !== undefined || target.text.startsWith('-')) return null;
  return joined(folder, target);
}

/** The path of a word, relative to the start; null if its value is not known. */
export function joined(folder: string | null, { text, unsure }: Word): string | null {
  const path = text.replace(/^\$(?:\{HOME\}|HOME)(?=\/|$)/, '~');
  if (/[$`]/.test(path) || (unsure && path === '')) return null;
  if (/^(?:\/|~|[A-Za-z]:[\\/])/.test(path) || folder === '') return path;
  return folder === null ? null : `${folder === '/' ? '' : folder}/${path}`;
}
