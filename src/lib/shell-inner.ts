/** Programs that run the commands in their arguments, and programs that run code in another language. */
import { own } from './own.ts';
import type { Word } from './shell-words.ts';

/** One simple command. */
export interface ShellCommand {
  /** Its name without folders and `.exe`, in lower case. */
  program: string;
  /** Its arguments, without redirections. */
  words: Word[];
  /** Files that it reads, replaces and extends by redirections. */
  reads: Word[];
  writes: Word[];
  appends: Word[];
  /** The folder that it runs in, relative to the start: '' is the start, null is unknown. */
  folder: string | null;
  /** The command that it reads from, in a pipe. */
  from: ShellCommand | null;
  /** A here-document or here-string. */
  document: string | null;
  /** Runs on another machine or in a container: paths are not those of this machine. */
  remote: boolean;
}

export const SHELLS: Readonly<Record<string, true>> = {
  ...{ sh: true, bash: true, zsh: true, dash: true, ksh: true, ash: true, fish: true },
};

/** Options with a value, of programs that run the rest of their arguments. */
const RUNS_REST: Readonly<Record<string, { takes: RegExp; skips?: number; remote?: true }>> = {
  xargs: { takes: /^-[IndLPEsa]$|^--(?:replace|max-\w+|delimiter|arg-file)$/ },
  watch: { takes: /^-(?:n|-interval)$/ },
  parallel: { takes: /^-[jIN]$/ },
  busybox: { takes: /^$/ },
  npx: { takes: /^(?:-p|--package|-c)$/ },
  bunx: { takes: /^(?:-p|--package)$/ },
  entr: { takes: /^$/ },
  caffeinate: { takes: /^-[tw]$/ },
  strace: { takes: /^-[eopsu]$/ },
  flock: { takes: /^-[wE]$/, skips: 1 },
  chroot: { takes: /^$/, skips: 1, remote: true },
};

const CODE: Readonly<Record<string, RegExp>> = {
  python: /^-c/,
  node: /^(?:-[pe]+|--eval|--print)$/,
  perl: /^-[a-zA-Z]*[eE]$/,
  ruby: /^-e$/,
  php: /^-r$/,
  deno: /^eval$/,
  bun: /^-e$/,
  lua: /^-e$/,
  osascript: /^-e$/,
};

export type Inner =
  | { kind: 'words'; words: Word[]; remote: boolean }
  | {
      kind: 'line';
      text: string;
      of: string;
      language?: 'powershell';
      remote?: boolean;
    }
  | { kind: 'unread'; text: string; why: string };

type Reading = (command: ShellCommand) => Inner | readonly Inner[] | null;

const textOf = (words: readonly Word[]) => words.map(({ text }) => text).join(' ');

/** The rest of the words after options and `skips` operands. */
function restOf(words: readonly Word[], takes: RegExp, skips = 0): Word[] {
  let at = 0;
  let left = skips;
  for (; at < words.length; at++) {
    const { text } = words[at] as Word;
    if (text === '--') return words.slice(at + 1 + left);
    if (text.startsWith('-') && text.length > 1) {
      if (takes.test(text)) at += 1;
    } else if (left > 0) left -= 1;
    else break;
  }
  return words.slice(at);
}

/** `sh -c SCRIPT`, also in a cluster of options. */
const script: Reading = ({ program, words }) => {
  const at = words.findIndex(({ text }) => /^-[a-z]*c$|^--command$/.test(text));
  const given = at < 0 ? undefined : words[at + 1];
  if (given === undefined) return null;
  return { kind: 'line', text: given.text, of: `${program} -c` };
};

const joined: Reading = ({ program, words }) => ({
  kind: 'line',
  text: textOf(words),
  of: program,
});

/** `ssh HOST COMMAND`. */
const remote: Reading = ({ program, words }) => {
  const rest = restOf(words, /^-[bcDEeFIiJLlmOopQRSWw]$/, 1);
  if (rest.length === 0) return null;
  return { kind: 'line', text: textOf(rest), of: program, remote: true };
};

/** `docker exec NAME COMMAND`, `kubectl exec NAME -- COMMAND`. */
const container: Reading = ({ program, words }) => {
  const at = words.findIndex(({ text }) => text === 'exec');
  if (at < 0) return null;
  const rest = words.slice(at + 1);
  const split = rest.findIndex(({ text }) => text === '--');
  if (split >= 0) return { kind: 'words', words: rest.slice(split + 1), remote: true };
  if (program === 'kubectl') return null;
  const takes = /^(?:-[euw]|--(?:env|user|workdir|env-file|index))$/;
  return { kind: 'words', words: restOf(rest, takes, 1), remote: true };
};

/** Every command of `find -exec`. */
const found: Reading = ({ words }) => {
  const inner: Inner[] = [];
  for (let at = 0; at < words.length; at++) {
    if (!/^-(?:exec|ok)(?:dir)?$/.test(words[at]?.text ?? '')) continue;
    const end = words.findIndex(({ text }, i) => i > at && (text === ';' || text === '+'));
    const to = end < 0 ? words.length : end;
    inner.push({ kind: 'words', words: words.slice(at + 1, to), remote: false });
    at = to;
  }
  return inner;
};

const powershell: Reading = ({ program, words }) => {
  if (words.some(({ text }) => /^-e(?:nc(?:odedcommand)?)?$/i.test(text)))
    return { kind: 'unread', text: program, why: 'an encoded command' };
  const at = words.findIndex(({ text }) => /^-(?:c|command)$/i.test(text));
  const rest = at >= 0 ? words.slice(at + 1) : words[0]?.text.startsWith('-') ? [] : words;
  if (rest.length === 0) return null;
  return { kind: 'line', text: textOf(rest), of: program, language: 'powershell' };
};

const batch: Reading = ({ program, words }) => {
  const at = words.findIndex(({ text }) => /^\/[ck]$/i.test(text));
  if (at < 0) return null;
  return { kind: 'line', text: textOf(words.slice(at + 1)), of: program, language: 'powershell' };
};

const READERS: Readonly<Record<string, Reading>> = {
  ...Object.fromEntries(Object.keys(SHELLS).map((name) => [name, script])),
  su: script,
  runuser: script,
  eval: joined,
  ssh: remote,
  docker: container,
  podman: container,
  kubectl: container,
  find: found,
  powershell,
  pwsh: powershell,
  cmd: batch,
};

/** The commands in the arguments of a command. */
export function innerOf(command: ShellCommand): readonly Inner[] {
  const runs = own(RUNS_REST, command.program);
  if (runs !== undefined) {
    const words = restOf(command.words, runs.takes, runs.skips);
    const is_remote = command.remote || runs.remote === true;
    return words.length === 0 ? [] : [{ kind: 'words', words, remote: is_remote }];
  }
  const inner = own(READERS, command.program)?.(command) ?? [];
  const all = Array.isArray(inner) ? (inner as readonly Inner[]) : [inner as Inner];
  return command.remote
    ? all.map((one) => (one.kind === 'words' ? { ...one, remote: true } : one))
    : all;
}

/** Code of another language in the arguments or in a here-document. */
export function inlineCode({ program, words, document }: ShellCommand) {
  const language = program.replace(/[\d.]+$/, '');
  const flag = own(CODE, language);
  if (flag === undefined) return null;
  const at = words.findIndex(({ text }) => flag.test(text));
  if (at >= 0) return { language, text: words[at + 1]?.text ?? words[at]?.text ?? '' };
  const file = words.some(({ text }) => text !== '-' && !text.startsWith('-'));
  return document !== null && !file ? { language, text: document } : null;
}
