/**
 * Session files: `<home>/sessions/<work folder>/<session>/updates.jsonl`, one update per line, as in the Agent Client
 * Protocol. A sub-agent is a session of its own; `subagents/` of the session that started it has its id.
 */
import { dirname, join } from 'node:path';
import { plainOrCompressed } from '../../lib/compressed.ts';
import { isFile, namesIn } from '../../lib/folders.ts';
import type { SessionPart, Unreadable } from '../../model/agent.ts';
import { decoder } from '../kit/decoder.ts';
import { parsedOf, textOf } from '../kit/native.ts';
import { headOf, homeOf, sessionFiles } from '../kit/sessions.ts';
import type { Session } from './generated/native.ts';
import { kindOf, timeOf } from './native.ts';
import { SessionRun } from './session-run.ts';

const ID = /^([0-9A-Za-z][0-9A-Za-z-]{0,127})$/;
const UPDATES = 'updates.jsonl';
/** The files beside it have a few short fields. */
const META_BYTES = 16 * 1024;

const metaIn = (path: string) => parsedOf(headOf(path, META_BYTES));

/** Sub-agents' files: in the same folder, or in that of their own work folder. Also those that sub-agents started. */
async function subAgents(path: string, unreadable?: Unreadable): Promise<SessionPart[]> {
  const found = new Map<string, SessionPart>();
  const folders = [dirname(path)];
  for (const folder of folders) {
    for (const id of await namesIn(join(folder, 'subagents'), unreadable)) {
      if (!ID.test(id) || found.has(id)) continue;
      const cwd = textOf(metaIn(join(folder, 'subagents', id, 'meta.json'))?.child_cwd);
      const group = dirname(folder);
      const groups = [group, ...(cwd ? [join(dirname(group), encodeURIComponent(cwd))] : [])];
      for (const place of groups) {
        const file = plainOrCompressed(join(place, id, UPDATES));
        if (found.has(id) || !(await isFile(file, unreadable))) continue;
        found.set(id, { path: file, parent_call_id: null });
        folders.push(dirname(file));
      }
    }
  }
  return [...found.values()];
}

export const session = sessionFiles({
  where: '~/.grok/sessions, or $GROK_HOME/sessions',
  root: (env) => join(env.GROK_HOME || join(homeOf(env), '.grok'), 'sessions'),
  id: ID,
  names: [[/./, ID, /^updates\.jsonl$/]],
  parts_in_places: true,
  isMain: async (path) => metaIn(join(dirname(path), 'summary.json'))?.session_kind !== 'subagent',
  subAgents,
  timeOf,
  decoder: ({ since_ms, path } = {}) =>
    decoder<Session>((to) => {
      const run = new SessionRun(to, path);
      return {
        since_ms,
        kindOf,
        timeOf,
        isEarlier: (line) => run.isCopied(line),
        before: (line, part, earlier) => run.before(line, part, earlier),
        records: run.records,
        ignored: run.ignored,
        notices: run.notices,
        end: () => run.end(),
      };
    }),
});
