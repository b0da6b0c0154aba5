/**
 * Transcripts: `projects/<folder>/agent-transcripts/<session>/<session>.jsonl`, one message per line, appended. Earlier
 * versions have no folder per session. Sub-agents are in `subagents/` next to the main file. Records have neither ids
 * nor times.
 */
import { type Stats, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { plainName } from '../../lib/compressed.ts';
import { decoder } from '../kit/decoder.ts';
import { type Open, textOf } from '../kit/native.ts';
import { homeOf, pathsIn, sessionFiles } from '../kit/sessions.ts';
import type { Session } from './generated/native.ts';
import { SessionRun } from './session-run.ts';

const ID = '[0-9a-zA-Z][0-9a-zA-Z-]{0,63}';
const FOLDER = new RegExp(`^(${ID})$`);
const FILE = new RegExp(`^(${ID})\\.jsonl$`);
const TRANSCRIPTS = /^agent-transcripts$/;

const kindOf = ({ role, type }: Open) => textOf(role) ?? textOf(type);

/** The session began when its file was created. A copy may have kept only the time of the last change. */
function createdAt(path: string): number | undefined {
  let stat: Stats | undefined;
  try {
    stat = statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
  if (stat === undefined) return undefined;
  const { birthtimeMs, mtimeMs } = stat;
  return Math.floor(birthtimeMs > 0 ? Math.min(birthtimeMs, mtimeMs) : mtimeMs);
}

function placeOf(path: string | undefined) {
  const name = path === undefined ? null : FILE.exec(basename(plainName(path)));
  return {
    session_id: name?.[1] ?? null,
    created_ms: path === undefined ? undefined : createdAt(path),
  };
}

export const session = sessionFiles({
  where: '~/.cursor/projects/*/agent-transcripts',
  root: (env) => join(homeOf(env), '.cursor', 'projects'),
  id: FOLDER,
  names: [
    [/./, TRANSCRIPTS, FOLDER, FILE],
    [/./, TRANSCRIPTS, FILE],
  ],
  async subAgents(path, unreadable) {
    const folder = dirname(path);
    if (basename(folder) !== basename(plainName(path), '.jsonl')) return [];
    const files = pathsIn(join(folder, 'subagents'), [FILE], unreadable);
    return Array.fromAsync(files, (file) => ({ path: file.path, parent_call_id: null }));
  },
  timeOf: () => undefined,
  decoder: ({ since_ms, path } = {}) =>
    decoder<Session>((to) => {
      const run = new SessionRun(to, placeOf(path));
      return {
        since_ms,
        kindOf,
        timeOf: (record) => run.timeOf(record),
        before: (_record, part) => run.speak(part, path),
        records: {
          user: (record, part) => run.user(record, part),
          assistant: (record) => run.assistant(record),
          turn_ended: (record) => run.turnEnded(record),
        },
        end: () => run.end(),
      };
    }),
});
