/** Answers a completion script. */
import type { Command } from 'commander';
import { own } from '../../lib/own.ts';
import { oneLine } from '../../lib/terminal-text.ts';
import type { Io } from '../command.ts';
import { FILES, FOLDERS, valuesOf } from './values.ts';
import { type Candidate, expectedAt } from './words.ts';

interface Shell {
  /** A candidate as a line. */
  line(candidate: Candidate): string;
  /** Characters at which the shell splits words by itself. */
  breaks: string;
}

const ABOUT_CHARS_MAX = 60;
const about = ({ about: text = '' }: Candidate) => oneLine(text, ABOUT_CHARS_MAX);

const SHELLS: Readonly<Record<string, Shell>> = {
  bash: { line: ({ value }) => value, breaks: '=:' },
  zsh: {
    line: (candidate) =>
      [candidate.value.replaceAll(':', '\\:'), about(candidate)].filter(Boolean).join(':'),
    breaks: '',
  },
  fish: {
    line: (candidate) => [candidate.value, about(candidate)].filter(Boolean).join('\t'),
    breaks: '',
  },
};

/** Values come from files of others: only those that no shell changes or runs are offered. */
const IS_PLAIN = /^[\w.,:=@%+/-]+$/;

/** Joins the words that the shell split: `--agent`, `=`, `x` is one word. */
function joined(words: readonly string[], breaks: string): string[] {
  const whole: string[] = [];
  let joins = false;
  for (const word of words) {
    const is_break = word.length === 1 && breaks.includes(word);
    if ((is_break || joins) && whole.length > 0) whole.push(`${whole.pop()}${word}`);
    else whole.push(word);
    joins = is_break;
  }
  return whole;
}

/** The part of a word that the shell keeps, and does not replace by a candidate. */
function keptOf(word: string, breaks: string): string {
  const at = Math.max(...[...breaks].map((mark) => word.lastIndexOf(mark)), -1);
  return word.slice(0, at + 1);
}

export async function completeCommand(
  program: Command,
  { shell: name, words: given }: { shell: string; words: readonly string[] },
  io: Io,
): Promise<void> {
  const shell = own(SHELLS, name);
  if (shell === undefined) return;
  const words = joined(given.length === 0 ? [''] : given, shell.breaks);
  const { words: names, value, begin, before, state_dir } = expectedAt(program, words);
  const around = { env: io.env, cwd: process.cwd(), state_dir: state_dir ?? io.state_flag };
  let values: Candidate[] = [];
  try {
    if (value !== null) values = await valuesOf(value)(around);
  } catch {
    // A state folder or configuration that cannot be read has no candidates.
  }
  const kept = keptOf(`${before}${begin}`, shell.breaks);
  const lines = [...names, ...values].flatMap((candidate) => {
    if (candidate.value === FILES || candidate.value === FOLDERS) return [candidate.value];
    if (!candidate.value.startsWith(begin) || !IS_PLAIN.test(candidate.value)) return [];
    const whole = `${before}${candidate.value}`;
    return [shell.line({ ...candidate, value: whole.slice(kept.length) })];
  });
  if (lines.length > 0) await io.out.write(`${lines.join('\n')}\n`);
}
