/**
 * The demo's session files: `<folder>/<session id>.jsonl`, and `<folder>/<session id>/<call id>.jsonl` per sub-agent.
 * TACHO_DEMO_SESSIONS or `--session-dir` names the folder; without it there are no files.
 */
import { resolve } from 'node:path';
import { plainName } from '../../lib/compressed.ts';
import { decoder } from '../kit/decoder.ts';
import type { Time } from '../kit/drafts.ts';
import { textOf } from '../kit/native.ts';
import { pathsIn, sessionFiles } from '../kit/sessions.ts';
import { add, type Spent } from '../kit/usage.ts';
import { SESSIONS_VARIABLE } from './launch.ts';
import { type Records, spentOf, tableFor, timeOf } from './stream.ts';

const SESSION_ID = /^[0-9A-Za-z-]{1,64}$/;
const SESSION_FILE = /^([0-9A-Za-z-]{1,64})\.jsonl$/;

export function isSessionId(text: string): boolean {
  return SESSION_ID.test(text);
}

export const session = sessionFiles({
  where: '$TACHO_DEMO_SESSIONS',
  root: (env, cwd) => (env[SESSIONS_VARIABLE] ? resolve(cwd, env[SESSIONS_VARIABLE]) : ''),
  id: SESSION_ID,
  names: [[SESSION_FILE]],
  async subAgents(path, unreadable) {
    const folder = plainName(path).replace(/\.jsonl$/, '');
    const found = folder === path ? [] : pathsIn(folder, [SESSION_FILE], unreadable);
    return Array.fromAsync(found, ({ path, id }) => ({ path, parent_call_id: id }));
  },
  timeOf,
  decoder: ({ since_ms } = {}) =>
    decoder<Records>((to) => {
      const table = tableFor(to);
      let sum: Spent | null = null;
      let model: string | null = null;
      let last_ms: Time;
      return {
        ...table,
        since_ms,
        records: {
          ...table.records,
          usage(record) {
            const more = spentOf(record);
            if (sum === null) sum = more;
            else add(sum, more);
            model = textOf(record.model);
            last_ms = to.at_ms;
          },
        },
        /** Usage is reported once, as the total. Files merged by time would otherwise be compared turn by turn. */
        end() {
          to.at_ms = last_ms;
          if (sum !== null) to.usage('total', sum, model);
        },
      };
    }),
});
