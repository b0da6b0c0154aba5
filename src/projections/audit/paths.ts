/** The files that a call uses: by its input, and by the commands that it runs. Pure. */
import { globPattern } from '../../lib/glob.ts';
import { own } from '../../lib/own.ts';
import { cleanPath, pathInside } from '../../lib/paths.ts';
import { joined } from '../../lib/shell-commands.ts';
import type { ShellCommand } from '../../lib/shell-inner.ts';
import type { Word } from '../../lib/shell-words.ts';

export interface Access {
  /** Clean; absolute if the folder of the run is known, or `~/…`. */
  path: string;
  how: 'read' | 'write' | 'replace';
}

/** Programs with arguments that are not files. */
const NO_FILES = new Set(
  'echo printf export alias set unset kill sleep true false : read return exit type which man cd pushd ssh-add date seq expr [ [[ test for case done fi in select function'.split(
    ' ',
  ),
);
/** Programs with a pattern or script as their first argument. */
const PATTERN_FIRST = new Set('grep egrep fgrep rg ag ack sed awk gawk jq yq perl'.split(' '));
const PATTERN_OPTION = /^(?:-[a-zA-Z]*[ef]|--(?:regexp|file|expression)(?:=.*)?)$/;
/** How programs use the files in their arguments; others read them. `last`: only the last one is written. */
const WRITERS: Readonly<Record<string, 'write' | 'replace' | 'last'>> = {
  ...{ rm: 'replace', rmdir: 'write', unlink: 'replace', shred: 'replace', truncate: 'replace' },
  ...{ mkdir: 'write', touch: 'write', chmod: 'write', chown: 'write', chgrp: 'write' },
  ...{ tee: 'replace', ln: 'last', cp: 'last', install: 'last', rsync: 'last', mv: 'write' },
  ...{ rimraf: 'replace', 'remove-item': 'replace', del: 'replace', 'set-content': 'replace' },
  ...{ 'out-file': 'replace', 'new-item': 'write', 'copy-item': 'last', 'move-item': 'write' },
  dd: 'replace',
};
const PATH_CHARS_MAX = 1_000;

/** A word that may be a path: not a URL, not a place on another machine, not a sentence. */
const mayBePath = (text: string) =>
  text !== '' &&
  text !== '-' &&
  text.length <= PATH_CHARS_MAX &&
  !/^[a-z][a-z+.-]*:\/\//i.test(text) &&
  !/^[\w.-]+@?[\w.-]*:(?![\\/])/.test(text) &&
  (!/\s/.test(text) || /^(?:\/|~\/|\.\.?\/)/.test(text));

/** The files named by the arguments of a command. */
function argumentsOf(command: ShellCommand): Word[] {
  const { program, words } = command;
  if (NO_FILES.has(program)) return [];
  const operands: Word[] = [];
  const values: Word[] = [];
  let skip = PATTERN_FIRST.has(program) && !words.some(({ text }) => PATTERN_OPTION.test(text));
  for (const word of words) {
    const [, option, value] = /^(-{0,2}[\w-]*=)([\s\S]+)$/.exec(word.text) ?? [];
    if (value !== undefined && option !== undefined) values.push({ ...word, text: value });
    else if (/^-./.test(word.text)) continue;
    else if (skip) skip = false;
    // curl: `-d @file`.
    else operands.push({ ...word, text: word.text.replace(/^@/, '') });
  }
  return [...values, ...operands];
}

function accessesOf(command: ShellCommand): { word: Word; how: Access['how'] }[] {
  const { program, words } = command;
  const in_place =
    program === 'sed' && words.some(({ text }) => /^-[a-zA-Z]*i|^--in-place/.test(text));
  const how = in_place ? 'write' : own(WRITERS, program);
  const files = argumentsOf(command);
  const of_arguments = files.map((word, at) => ({
    word,
    how: how === 'last' ? (at === files.length - 1 ? 'write' : 'read') : (how ?? 'read'),
  })) as { word: Word; how: Access['how'] }[];
  const as = (list: readonly Word[], how: Access['how']) => list.map((word) => ({ word, how }));
  return [
    ...of_arguments,
    ...as(command.reads, 'read'),
    ...as(program === '[[' ? [] : command.writes, 'replace'),
    ...as(command.appends, 'write'),
  ];
}

/** The folders of a run. */
export interface Places {
  /** Clean and absolute: where relative paths begin, then the project. */
  bases: readonly string[];
  /** The user's home folder, if a folder of the run shows it. */
  home: string | null;
}

export function placesOf(cwd: string | null, project: string | null): Places {
  const bases = [cwd, project].filter((path) => path !== null && /^(?:\/|[A-Za-z]:)/.test(path));
  const clean = bases.map((path) => cleanPath(path as string));
  const home = /^(?:\/home\/[^/]+|\/Users\/[^/]+|\/root|[A-Za-z]:\/Users\/[^/]+)(?=\/|$)/.exec(
    clean[0] ?? '',
  );
  return { bases: clean, home: home?.[0] ?? null };
}

export function placed(path: string, { bases, home }: Places): string {
  const [base] = bases;
  if (path === '~' || path.startsWith('~/'))
    return home === null ? path : cleanPath(home + path.slice(1));
  if (/^(?:\/|[A-Za-z]:[\\/])/.test(path) || base === undefined) return cleanPath(path);
  return cleanPath(`${base}/${path}`);
}

/** `unknown`: the number of paths with an unknown value. */
export function shellAccesses(commands: readonly ShellCommand[], places: Places) {
  const accesses: Access[] = [];
  let unknown = 0;
  for (const command of commands) {
    if (command.remote) continue;
    for (const { word, how } of accessesOf(command)) {
      const path = joined(command.folder, word);
      if (path === null) unknown += 1;
      else if (mayBePath(path)) accesses.push({ path: placed(path, places), how });
    }
  }
  return { accesses, unknown };
}

const TOOL_ACCESS: Readonly<Record<string, Access['how']>> = { Write: 'write', Edit: 'write' };

/** The file that the input of a tool names. */
export function inputAccess(tool: string, input: unknown, places: Places): Access[] {
  if (input === null || typeof input !== 'object') return [];
  const { file_path, path } = input as { file_path?: unknown; path?: unknown };
  return [file_path, path]
    .filter((value) => typeof value === 'string' && mayBePath(value))
    .map((value) => ({
      path: placed(value as string, places),
      how: own(TOOL_ACCESS, tool) ?? 'read',
    }));
}

/** Places that every program uses: temporary files, devices, and for reads the system. */
const USUAL =
  /^(?:\/(?:private\/)?(?:tmp|var\/tmp|var\/folders)(?:\/|$)|\/dev\/(?:null|zero|u?random|tty|std\w+|fd\/\d+)$)/;
const SYSTEM =
  /^(?:\/(?:usr|opt|lib\w*|bin|sbin|proc|sys|dev|nix)(?:\/|$)|\/etc\/(?:os-release|hosts|passwd|resolv\.conf|ssl\/)|[A-Za-z]:\/(?:Windows|Program Files))/;

/** Whether the path is outside of the run's folders; false if they are unknown. */
export function isOutside({ path, how }: Access, { bases }: Places): boolean {
  if (bases.length === 0 || !/^(?:\/|~|[A-Za-z]:)/.test(path)) return false;
  if (USUAL.test(path) || (how === 'read' && SYSTEM.test(path))) return false;
  return path.startsWith('~') || pathInside(path, bases) === null;
}

const HOME = '(?:~|/home/[^/]+|/Users/[^/]+|/root|[A-Za-z]:/Users/[^/]+)/';

/** A pattern: without a slash by name, `~/` in a home folder, `/` absolute, otherwise anywhere. */
export function pathPattern(glob: string): string {
  if (!glob.includes('/')) return globPattern(`**/${glob}`, '[^/]');
  if (glob.startsWith('~/')) return `^${HOME}${globPattern(glob.slice(2), '[^/]').slice(1)}`;
  return globPattern(/^(?:\/|\*\*\/)/.test(glob) ? glob : `**/${glob}`, '[^/]');
}
