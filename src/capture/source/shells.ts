/**
 * Recognises shells by their file. Shells open `/dev/stdout` and `/dev/stderr` by name, with O_TRUNC; docs/adr/0012
 * explains the consequences.
 */
import { openSync, readSync, realpathSync } from 'node:fs';
import { basename } from 'node:path';
import { withFd } from '../../lib/with-fd.ts';

const SHELLS = new Set(
  'sh bash rbash dash ash zsh ksh ksh93 mksh lksh oksh pdksh posh yash fish csh tcsh'.split(' '),
);

/** Programs that act as several, depending on their first argument or the name they were called by. */
const MULTICALL = new Set(['busybox', 'toybox']);

/** Bytes of a script that are read: launchers are shorter, and longer scripts decide early which program they start. */
const SCRIPT_BYTES = 64 * 1024;

/** `exec program … "$@"`, perhaps over several lines. A redirection alone (`exec 2>&1`) starts nothing. */
const EXEC =
  /^[ \t]*(?:.*(?:&&|\|\||then|else)[ \t]+)?exec[ \t]+(?!\{?\w*\}?[<>])(\S+)(?:\\\n|.)*\$(?:@|\{@|\{1\+)/gm;

/** Whether this program, found at its absolute path, is a shell or a script that a shell runs. */
export function isShell(program: string, args: readonly string[]): boolean {
  const name = basename(program);
  if (SHELLS.has(name)) return true;
  const real = realName(program);
  if (MULTICALL.has(real)) return name === real && SHELLS.has(args[0] ?? '');
  return SHELLS.has(real) || isShellScript(program);
}

function realName(path: string): string {
  try {
    return basename(realpathSync(path));
  } catch {
    return basename(path);
  }
}

function isShellScript(path: string): boolean {
  const text = headOf(path);
  if (text === null) return false;
  if (!text.startsWith('#!')) {
    // The system refuses to execute a text without an interpreter line; execvp then runs it with /bin/sh.
    return text !== '' && !text.includes('\0') && !handsOver(text);
  }
  return SHELLS.has(interpreterOf(text)) && !handsOver(text);
}

/**
 * A launcher (of pnpm, asdf, Nix …) replaces itself with the real program using `exec`. That program writes the
 * output, so the launcher's interpreter does not matter. A launcher is recognised by the arguments that it passes on.
 */
function handsOver(script: string): boolean {
  for (const [, word = ''] of script.matchAll(EXEC))
    if (!SHELLS.has(basename(word.replaceAll(/["']/g, '')))) return true;
  return false;
}

/** Options of env that take a separate value. */
const ENV_VALUE = new Set(['-u', '--unset', '-C', '--chdir', '-a', '--argv0']);

/** The name of the program in the first line, also behind `env`. */
function interpreterOf(text: string): string {
  const words = (text.slice(2).split('\n', 1)[0] ?? '').trim().split(/\s+/);
  const first = basename(words[0] ?? '');
  if (first !== 'env') return MULTICALL.has(first) ? basename(words[1] ?? '') : first;
  const rest = words.slice(1).map((word) => word.replace(/^(?:-S|--split-string=)(?=.)/, ''));
  const behind = rest.find(
    (word, at) =>
      !word.startsWith('-') && !word.includes('=') && !ENV_VALUE.has(rest[at - 1] ?? ''),
  );
  return basename(behind ?? '');
}

/** Null if the file cannot be read. */
function headOf(path: string): string | null {
  try {
    const start = Buffer.alloc(SCRIPT_BYTES);
    const count = withFd(openSync(path, 'r'), (fd) => readSync(fd, start, 0, SCRIPT_BYTES, 0));
    return start.toString('latin1', 0, count);
  } catch {
    return null;
  }
}
