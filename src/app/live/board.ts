/**
 * The collector's board (CF-4): the counts of the rules so far, overall and by session, and the failing messages in
 * full. Contract: never throws and never blocks the collector for long. Failed writes are reported on the board.
 */
import { hostname } from 'node:os';
import { Judge } from '../../conformance/judge.ts';
import type { Failure, Report, RuleInfo, StreamLine } from '../../conformance/types.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { fileError, TachoError } from '../../lib/errors.ts';
import { isoTime } from '../../lib/iso-time.ts';
import { LIMITS } from '../../lib/limits.ts';
import { type ReadMessage, readText } from '../../live/protocol/messages.ts';
import { readPrivate, writeAtomic } from '../../store/files.ts';
import { holderOf } from '../../store/lock.ts';
import { isAlive } from '../../store/owner.ts';
import { APP_LIMITS } from '../limits.ts';
import { createFailingLog, isOnlyLate } from './failing-log.ts';
import type { LivePaths } from './paths.ts';

export interface SessionBoard {
  session_id: string;
  messages: number;
  faulty: number;
  /** Failures by rule. */
  failed: Record<string, number>;
  last_ms: number;
}

export interface BoardState {
  pid: number;
  started_at: string;
  updated_at: string;
  report: Report;
  sessions: SessionBoard[];
  /** Sessions that are only in the sums. */
  sessions_left_out: number;
  /** Refused lines, by the code of the answer: no rule has judged them, and no session counts them. */
  refused: Record<string, number>;
  /** Failing messages written to the log, late ones that it only counts, and those that could not be written. */
  failing_written: number;
  failing_summed: number;
  failing_lost: number;
}

/** Failures of one message are reported together. */
interface FailedRule {
  rule: string;
  why: string;
}

/** When a message arrived, and on which connection, in readable form. Null if unknown. */
interface Arrival {
  received_ms: number | null;
  connection: string | null;
}

/** Writes soon, but not more often than the limit allows. */
class Throttled {
  readonly #write: () => void;
  readonly #clock: Clock;
  #written_ms = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;

  constructor(write: () => void, clock: Clock) {
    this.#write = write;
    this.#clock = clock;
  }

  soon(): void {
    if (this.#timer !== null) return;
    const wait_ms = this.#written_ms + APP_LIMITS.board_write_ms - this.#clock.now();
    this.#timer = setTimeout(() => this.last(), Math.max(0, wait_ms)).unref();
  }

  last(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#written_ms = this.#clock.now();
    this.#write();
  }
}

export function createBoard(paths: LivePaths, clock: Clock = systemClock) {
  const failed_rules: FailedRule[] = [];
  const onFailure = ({ id }: RuleInfo, { why }: Failure) =>
    void failed_rules.push({ rule: id, why });
  const judge = new Judge({ live: true, onFailure });
  const sessions = new SessionBoards(judge);
  const log = createFailingLog(paths.failing);
  const started_at = new Date(clock.now()).toISOString();
  /** Memory before the first message. */
  const at_first = process.memoryUsage.rss();
  const refused = new Map<string, number>();
  const writing = new Throttled(write, clock);
  let lines = 0;

  const state = (): BoardState => ({
    pid: process.pid,
    started_at,
    updated_at: new Date(clock.now()).toISOString(),
    report: judge.report(),
    sessions: sessions.list(),
    sessions_left_out: sessions.left_out,
    refused: Object.fromEntries(refused),
    failing_written: log.written,
    failing_summed: log.summed,
    failing_lost: log.lost,
  });

  function write(): void {
    log.flush(new Date(clock.now()).toISOString());
    try {
      // Reading the memory usage opens a file too: there may be no descriptor left.
      judge.memory(Math.max(0, process.memoryUsage.rss() - at_first));
      writeAtomic(paths.board, `${JSON.stringify(state())}\n`, 'board', false);
    } catch {
      // Only a view: the next write tries again.
    }
  }

  function push({ fault, message, text }: ReadMessage, received_ms: number | null, sender: string) {
    lines += 1;
    failed_rules.length = 0;
    judge.push({ line: lines, text, fault, message, received_ms, sender } as StreamLine);
    writing.soon();
  }

  return {
    /** Counts an incoming message. */
    take(read: ReadMessage, { received_ms, connection }: Arrival): void {
      const now_ms = received_ms ?? clock.now();
      push(read, received_ms, connection ?? '');
      const session = sessions.count(read, now_ms, failed_rules);
      if (failed_rules.length === 0) return;
      if (
        session !== null &&
        isOnlyLate(failed_rules, delayOf(read, now_ms)) &&
        isMany(session, failed_rules)
      ) {
        const { seq } = read.message as { seq: number };
        log.addLate(connection, session.session_id, seq);
        return;
      }
      const received_at = new Date(now_ms).toISOString();
      log.add({ received_at, connection, failed: failed_rules }, withoutToken(read));
    },
    /** Counts a message that the collector sent: acknowledgements, answers, handshakes. */
    sent: (text: string) => push(readText(text), null, ''),
    /** Counts a refused line. */
    refused(code: string): void {
      refused.set(code, (refused.get(code) ?? 0) + 1);
      writing.soon();
    },
    /** Sets whether a peer is sending for the session from now on. */
    held: (session_id: string, held: boolean) => judge.hold(session_id, held),
    state,
    /** Writes the board a last time. */
    close(): void {
      writing.last();
      log.close();
    },
  };
}

/** Milliseconds from the event to its arrival. 0 if the message has no time. */
const delayOf = ({ fault, message }: ReadMessage, now_ms: number) =>
  fault === null ? now_ms - (isoTime(message.timestamp) ?? now_ms) : 0;

/** Whether the session has failed the same rule more often than is logged in full. */
const isMany = ({ failed }: SessionBoard, [first]: readonly FailedRule[]) =>
  (failed[first?.rule ?? ''] ?? 0) > APP_LIMITS.late_whole_max;

/** As many sessions as may be open. The most recently used ones are listed; the others are only in the sums. */
class SessionBoards {
  readonly #all = new Map<string, SessionBoard>();
  readonly #judge: Judge;
  #latest: SessionBoard | null = null;
  #dropped = 0;

  constructor(judge: Judge) {
    this.#judge = judge;
  }

  get left_out(): number {
    return this.#dropped + Math.max(0, this.#all.size - APP_LIMITS.board_sessions_max);
  }

  list(): SessionBoard[] {
    return [...this.#all.values()].slice(-APP_LIMITS.board_sessions_max);
  }

  /** Null if the message belongs to no session. */
  count(
    read: ReadMessage,
    received_ms: number,
    failed_rules: readonly FailedRule[],
  ): SessionBoard | null {
    const id = read.message?.session_id;
    if (typeof id !== 'string' || id === '') return null;
    const session = this.#of(id);
    session.messages += 1;
    if (read.fault !== null) session.faulty += 1;
    session.last_ms = received_ms;
    for (const { rule } of failed_rules) session.failed[rule] = (session.failed[rule] ?? 0) + 1;
    return session;
  }

  #of(id: string): SessionBoard {
    if (this.#latest?.session_id === id) return this.#latest;
    const known = this.#all.get(id);
    if (known === undefined && this.#all.size >= LIMITS.live_sessions_max) {
      // An open session keeps its counters, however long it is silent.
      const [oldest] = this.#all.keys();
      const over = this.#all.keys().find((other) => !this.#judge.isOpen(other));
      this.#all.delete(over ?? (oldest as string));
      this.#dropped += 1;
    }
    const session = known ?? { session_id: id, messages: 0, faulty: 0, failed: {}, last_ms: 0 };
    // The least recently used one is dropped first.
    this.#all.delete(id);
    this.#all.set(id, session);
    this.#latest = session;
    return session;
  }
}

const HIDDEN = '[REDACTED:token]';

/** The logged part of a line: all of it, except the token of a handshake. */
function withoutToken({ message, text }: ReadMessage): string {
  if (message === null)
    return text.includes('handshake_request')
      ? text.replace(/("token"\s*:\s*)"(?:[^"\\]|\\.)*/g, `$1"${HIDDEN}`)
      : text;
  const data = message.data as { token?: unknown } | null | undefined;
  if (message.type !== 'handshake_request' || typeof data?.token !== 'string') return text;
  return JSON.stringify({ ...message, data: { ...data, token: HIDDEN } });
}

/** Whether a collector of the state folder runs now. One on another machine cannot be seen, and counts as running. */
export function isCollecting({ lock }: LivePaths): boolean {
  const holder = holderOf(lock);
  return holder !== null && (holder.host !== hostname() || isAlive(holder.pid, null));
}

/** The board as a collector last wrote it. */
export function readBoard(path: string): BoardState {
  let text: string;
  try {
    text = readPrivate(path).toString('utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw fileError(cause, path, 'board');
    const say = `${path}: no collector has written its counters here: start one with tacho serve`;
    throw new TachoError('not_found', say, { stage: 'board' });
  }
  try {
    return JSON.parse(text) as BoardState;
  } catch (cause) {
    throw new TachoError(
      'input_unreadable',
      `${path}: this file does not contain the counters of a collector: remove it`,
      {
        stage: 'board',
        cause,
      },
    );
  }
}
