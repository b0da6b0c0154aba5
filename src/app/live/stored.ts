/** Messages that a collector stored in a state folder, read from its files: no collector needs to be running. */
import { readText, type WireMessage } from '../../live/protocol/messages.ts';
import { readAll, readSession } from '../../store/journal/read.ts';
import { stateDirAt } from '../../store/state-dir.ts';
import { livePaths } from './paths.ts';

/** The journal's source of accepted messages. Those refused because of a duplicate number are stored under another. */
const LIVE_SOURCE = 'live';

/** Entries of one session, by its id or the beginning of it, or of all. A line that was written twice is returned twice. */
export async function* storedMessages(state_dir: string, session: string | null) {
  const { journal } = stateDirAt(livePaths(state_dir).dir);
  const whole = session !== null && !isPart(session);
  const sessions = session === null ? null : [session];
  for await (const entry of whole ? readSession(journal, session) : readAll(journal))
    if (entry.source === LIVE_SOURCE && isOf({ sessions }, entry.session)) yield entry;
}

export interface TailFilter {
  /** Ids, or prefixes of ids that tacho created. Null: all sessions. */
  sessions: readonly string[] | null;
  /** From this number of every session. Null: only new messages. */
  from: number | null;
  types: ReadonlySet<string> | null;
}

const MADE_ID = /^[rs]_[0-9a-z]{26}$/;
const MADE_ID_PART = /^([rs]_)?[0-9a-z]{6,25}$/;

/** Whether it is a prefix of an id: the collector knows only whole ones. */
export const isPart = (id: string) => MADE_ID_PART.test(id) && !MADE_ID.test(id);

export function isOf({ sessions }: Pick<TailFilter, 'sessions'>, session_id: string): boolean {
  if (sessions === null || sessions.includes(session_id)) return true;
  if (!MADE_ID.test(session_id)) return false;
  return sessions.some(
    (id) => isPart(id) && session_id.slice(id[1] === '_' ? 0 : 2).startsWith(id),
  );
}

export const wanted = ({ types }: TailFilter, type: string) => types === null || types.has(type);

/** Each message once, in the order of the journal, until `show` returns false. */
export async function tailStored(
  state_dir: string,
  filter: TailFilter,
  show: (message: WireMessage, text: string) => Promise<boolean>,
): Promise<void> {
  const last = new Map<string, number>();
  for await (const { session, seq, body } of storedMessages(state_dir, null)) {
    if (seq < (filter.from ?? 0) || !isOf(filter, session)) continue;
    if (seq <= (last.get(session) ?? 0)) continue;
    last.set(session, seq);
    const read = readText(body);
    if (read.fault !== null || !wanted(filter, read.message.type)) continue;
    if (!(await show(read.message, body))) return;
  }
}
