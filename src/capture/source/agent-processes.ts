/**
 * The processes of agents on this machine, as evidence for the state of their sessions. Contract: only the process table
 * is read, never an agent's working folder. Everything else is unknown.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import type { ProcessEvidence } from '../../model/unfinished.ts';

interface AgentProcess {
  pid: number;
  /** Null if we may not read it. */
  cwd: string | null;
}

/** Looks for the processes of an agent that work in a folder. `sessions`: how many of its sessions are newer and may be theirs. */
export type FindProcess = (
  programs: readonly string[],
  cwd: string | null,
  sessions: number,
) => ProcessEvidence;

/** Words at the beginning of a command line that may name the script: after a runtime and its flags. */
const WORDS_READ = 4;
const SCRIPT_ENDING = /\.(?:[cm]?js|ts|py|exe)$/;
/** Programs that run others. The arguments of any other program, such as an editor, say nothing. */
const RUNTIME = /^(?:node|nodejs|bun|bunx|deno|npx|uvx?|python[\d.]*|env)$/;

/** The names that a command line may go by. */
export function programsIn(words: readonly string[]): string[] {
  const names = words.map((word) => basename(word).replace(SCRIPT_ENDING, ''));
  return RUNTIME.test(names[0] ?? '') ? names : names.slice(0, 1);
}

function programsOf(pid: string): string[] {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0', WORDS_READ);
    return programsIn(words);
  } catch {
    return [];
  }
}

function cwdOf(pid: string): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}

/** The process table at this moment. Null on systems that do not show working folders. */
function readProcesses(): Map<string, AgentProcess[]> | null {
  try {
    if (readlinkSync('/proc/self') !== String(process.pid)) return null;
    const found = new Map<string, AgentProcess[]>();
    for (const pid of readdirSync('/proc')) {
      if (!/^[0-9]+$/.test(pid)) continue;
      for (const program of new Set(programsOf(pid))) {
        const list = found.get(program) ?? [];
        list.push({ pid: Number(pid), cwd: null });
        found.set(program, list);
      }
    }
    return found;
  } catch {
    return null;
  }
}

/** Without those that another one of them started: a launcher and the program itself are one agent. */
function topmost(found: readonly AgentProcess[]): AgentProcess[] {
  if (found.length < 2) return [...found];
  const pids = new Set(found.map(({ pid }) => pid));
  return found.filter(({ pid }) => !pids.has(parentOf(pid)));
}

function parentOf(pid: number): number {
  try {
    // The name before it may contain anything.
    const [, rest = ''] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? [];
    return Number(rest.split(' ')[1]);
  } catch {
    return 0;
  }
}

/** Its folder is hidden, or was reached through a link: some agents name their folder as the shell does. */
function mayBeIn({ pid, cwd }: AgentProcess, folder: string): boolean {
  if (cwd === null) return true;
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`PWD=${folder}`);
  } catch {
    return true;
  }
}

/** The first process namespace of a Linux system: elsewhere, processes outside of the container are invisible. */
const ALL_VISIBLE = 'pid:[4026531836]';

function where(): string {
  try {
    return readlinkSync('/proc/self/ns/pid') === ALL_VISIBLE ? '' : ' in this container';
  } catch {
    return '';
  }
}

export function findProcesses(): FindProcess {
  const all = readProcesses();
  const here = all === null ? '' : where();
  return (programs, cwd, sessions) => {
    if (all === null || programs.length === 0) return { is: 'unknown' };
    const [name = ''] = programs;
    const own = programs.flatMap((program) => all.get(program) ?? []);
    if (own.length === 0) return { is: 'gone', what: `no process of ${name} runs${here}` };
    for (const one of own) one.cwd ??= cwdOf(String(one.pid));
    const inside = topmost(own.filter((one) => cwd !== null && one.cwd === cwd));
    const pids = inside.map(({ pid }) => pid).join(', ');
    if (inside.length > sessions)
      return { is: 'alive', what: `${name} (process ${pids}) runs in its folder` };
    // They may be those of newer sessions, or the session's folder is unknown.
    if (inside.length > 0 || cwd === null || own.some((one) => mayBeIn(one, cwd)))
      return { is: 'unknown' };
    return { is: 'gone', what: `no process of ${name} runs in its folder${here}` };
  };
}
