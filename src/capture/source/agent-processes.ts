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

/** Looks for a process of an agent that works in a folder. */
export type FindProcess = (programs: readonly string[], cwd: string | null) => ProcessEvidence;

/** Words at the beginning of a command line that may name the program: a runtime, its flags, the script. */
const WORDS_READ = 4;
const SCRIPT_ENDING = /\.(?:[cm]?js|exe)$/;

function programsOf(pid: string): string[] {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0', WORDS_READ);
    return words.map((word) => basename(word).replace(SCRIPT_ENDING, ''));
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

export function findProcesses(): FindProcess {
  const all = readProcesses();
  return (programs, cwd) => {
    if (all === null || programs.length === 0) return { is: 'unknown' };
    const [name = ''] = programs;
    const own = programs.flatMap((program) => all.get(program) ?? []);
    if (own.length === 0) return { is: 'gone', what: `no process of ${name} runs` };
    for (const one of own) one.cwd ??= cwdOf(String(one.pid));
    const here = own.find((one) => cwd !== null && one.cwd === cwd);
    if (here !== undefined)
      return { is: 'alive', what: `${name} (process ${here.pid}) runs in its folder` };
    // It may be a process with a hidden folder, or the session's folder is unknown.
    if (cwd === null || own.some((one) => one.cwd === null)) return { is: 'unknown' };
    return { is: 'gone', what: `no process of ${name} runs in its folder` };
  };
}
