/** `/bin/bash -lc 'echo x'` → `echo x`: the CLI reports a command as one line, quoted, with the shell that runs it. */
import { isLonger } from '../../lib/byte-text.ts';
import { onlyRead } from '../../lib/shell-reads.ts';
import { wordsOf } from '../../lib/shell-words.ts';
import { AGENT_LIMITS } from '../kit/limits.ts';
import { listOf, nativeOf, type Open, textOf } from '../kit/native.ts';
import type { Request } from './native.ts';

/** Functions that run a command. */
export const SHELLS: readonly string[] = ['exec_command', 'shell', 'shell_command', 'local_shell'];

const SHELL = /(?:^|[\\/])(?:ba|z|da|k|a|fi)?sh(?:\.exe)?$/;
const SHELL_FLAG = /^-(?:l?i?c|cl)$/;
const POWERSHELL = /(?:^|[\\/])(?:powershell|pwsh)(?:\.exe)?$/i;
/** The script that a shell is started with; null if the words do not start a shell. */
function scriptOf(words: readonly string[]): string | null {
  const [program = '', ...rest] = words;
  const [flag, script, more] = rest;
  if (more === undefined && script !== undefined && SHELL.test(program)) {
    return SHELL_FLAG.test(flag ?? '') ? script : null;
  }
  if (!POWERSHELL.test(program) || rest.length < 2) return null;
  return /^-(?:command|c)$/i.test(rest.at(-2) ?? '') ? (rest.at(-1) ?? null) : null;
}

/** The common case: nothing to interpret between the quotes. */
const PLAIN_LINE = /^\/(?:usr\/)?bin\/(?:ba|z)?sh -lc '([^']*)'$/;

/** The command as it was given to the shell; the line itself if it has another form. */
export function commandOfLine(line: string): string {
  const plain = PLAIN_LINE.exec(line)?.[1];
  if (plain !== undefined) return plain;
  if (isLonger(line, AGENT_LIMITS.split_line_chars_max)) return line;
  const words = wordsOf(line);
  // A line that only a shell can interpret stays as it is.
  if (words.some(({ operator, unsure }) => operator || unsure)) return line;
  return scriptOf(words.map(({ text }) => text)) ?? line;
}

/** Like `commandOfLine`, for a list of words. Words without a shell are joined, and quoted where necessary. */
export function commandOfWords(value: unknown): string | null {
  if (typeof value === 'string') return commandOfLine(value);
  const words = listOf(value).filter((word) => typeof word === 'string');
  if (words.length === 0) return null;
  return scriptOf(words) ?? words.map(quoted).join(' ');
}

function quoted(word: string): string {
  if (/^[\w./:,=+@%^-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A function call, which may be a shell command. */
export function shellCall(native_tool: string, input: unknown): Request {
  const fields = SHELLS.includes(native_tool) ? nativeOf(input) : null;
  const command = textOf(fields?.command ?? fields?.cmd);
  return command === null ? { native_tool, input } : commandCall(native_tool, fields, command);
}

/** Codex has no read tool: a command that only reads one file is a Read. */
export function commandCall(native_tool: string, fields: Open | null, command: string): Request {
  const file_path = onlyRead(command);
  if (file_path === null) return { native_tool, input: fields };
  return { native_tool, input: { ...fields, command, file_path }, more: { tool: 'Read' } };
}
