/**
 * Files of a run outside of the journal: `transcripts/<agent>/<run>.transcript.jsonl` and `logs/<agent>/<run>.log`
 * (TR-1, TR-2).
 */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, fileError } from '../../lib/errors.ts';
import { fileFor, isRunId } from '../../lib/ids.ts';
import { finalName, removeFile } from '../files.ts';
import { ownFolder, type StateDir } from '../state-dir.ts';

const AGENT = /^[a-z][a-z0-9-]{0,63}$/;

/** Foreign ids never become paths (ST-8). */
const folderName = (agent: string) => (AGENT.test(agent) ? agent : fileFor('agent', agent));
const fileName = (run_id: string) => (isRunId(run_id) ? run_id : fileFor('run', run_id));

const KINDS = {
  transcripts: '.transcript.jsonl',
  logs: '.log',
} as const;

function pathOf(state: StateDir, kind: keyof typeof KINDS, agent: string, run_id: string): string {
  return join(state[kind], folderName(agent), `${fileName(run_id)}${KINDS[kind]}`);
}

export function transcriptPath(state: StateDir, agent: string, run_id: string): string {
  return pathOf(state, 'transcripts', agent, run_id);
}

export function logPath(state: StateDir, agent: string, run_id: string): string {
  return pathOf(state, 'logs', agent, run_id);
}

/** The path, in folders that exist and are private. */
export function transcriptFile(state: StateDir, agent: string, run_id: string): string {
  ownFolder(join(state.transcripts, folderName(agent)), false);
  return transcriptPath(state, agent, run_id);
}

export function logFile(state: StateDir, agent: string, run_id: string): string {
  ownFolder(state.logs, false);
  ownFolder(join(state.logs, folderName(agent)), false);
  return logPath(state, agent, run_id);
}

/** Removes the files of many runs, listing the folders once. */
export function removeFilesOf(state: StateDir, run_ids: Iterable<string>): void {
  const names = new Set<string>();
  for (const run_id of run_ids) names.add(fileName(run_id));
  for (const { name, path } of listFiles(state)) if (names.has(name)) removeFile(path, 'state');
}

/**
 * The size of a run's files. The index stores it when the run gets its row. An inaccessible file counts as 0, so that the
 * run is still listed.
 */
export function fileBytesOf(state: StateDir, agent: string, run_id: string): number {
  const sizeOf = (kind: keyof typeof KINDS) => {
    try {
      return lstatSync(pathOf(state, kind, agent, run_id), { throwIfNoEntry: false })?.size ?? 0;
    } catch {
      return 0;
    }
  };
  return sizeOf('transcripts') + sizeOf('logs');
}

/** Files of all runs, including unfinished ones. `name` is the name of the run. */
function* listFiles(state: StateDir): Generator<{ name: string; path: string }, void> {
  for (const [kind, end] of Object.entries(KINDS) as [keyof typeof KINDS, string][])
    for (const folder of foldersIn(state[kind])) {
      const path = join(state[kind], folder);
      for (const file of readdirSync(path)) {
        const name = finalName(file);
        if (name.endsWith(end)) yield { name: name.slice(0, -end.length), path: join(path, file) };
      }
    }
}

function foldersIn(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return [];
    throw fileError(cause, path, 'state');
  }
}
