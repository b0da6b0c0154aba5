/**
 * Sends what the watcher follows to a collector (WA-14). Each run is a live session. Contract: messages are made from
 * events that are in the journal, so a kill at any time loses none and repeats none. A collector that is away stops
 * nothing: messages wait in the outbox, and beyond its bound in the journal. Only sessions with something new since the
 * first start with this collector are sent, each of them whole.
 */
import { TachoError } from '../../lib/errors.ts';
import type { Event } from '../../model/event.ts';
import type { UnfinishedState } from '../../model/unfinished.ts';
import type { Index } from '../../store/index/index-db.ts';
import { type JournalRead, readSession } from '../../store/journal/read.ts';
import { listOutboxes, takeOutbox } from '../../store/outbox/outbox.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { APP_LIMITS } from '../limits.ts';
import type { LiveRunConfig } from '../live/destination.ts';
import { livePaths } from '../live/paths.ts';
import { LiveSender, noticeText, type OutSession } from '../live/sender.ts';
import type { States } from '../runs/unfinished.ts';
import { LiveBook } from './live-book.ts';
import { LiveSession, sessionId } from './live-session.ts';

/** Health of the connection to a collector. */
export interface WatchLiveStatus {
  /** Address of the collector. */
  url: string;
  /** Whether it is connected now. */
  connected: boolean;
  /** When sending to this collector began: what did not change since is not sent. Milliseconds since 1970. */
  since_ms: number;
  /** Sessions without an end. */
  open: number;
  /** Messages in the outbox that the collector has not stored. */
  waiting_messages: number;
  /** Bytes of these outboxes. */
  waiting_bytes: number;
  /** Runs with events in the journal that are not in the outbox yet. */
  behind: number;
  /** Sessions that the collector refused for good since the watcher started. */
  refused: number;
  /** The last failure since the connection was made; null if there was none. */
  last_failure: string | null;
}

export interface LiveParts {
  state: StateDir;
  index: Index;
  /** Receives problems, for people. */
  say(text: string): void;
}

export class WatchLive {
  readonly #config: LiveRunConfig;
  readonly #parts: LiveParts;
  readonly #book: LiveBook;
  readonly #following = new Map<string, LiveSession>();
  /** Runs that have something to send. */
  readonly #behind = new Set<string>();
  #live: LiveSender;
  #refused = 0;
  #last_failure: string | null = null;
  #away = false;
  #again_ms: number | null = null;

  constructor(config: LiveRunConfig, parts: LiveParts) {
    this.#config = config;
    this.#parts = parts;
    const { index, state } = parts;
    const exists = (run_id: string) => index.hasRun(run_id);
    this.#book = new LiveBook(state, { url: config.url, now_ms: Date.now(), exists });
    this.#live = this.#connect();
    this.#adopt();
    for (const { run_id } of this.#book.open()) this.#behind.add(run_id);
    for (const { run_id, finished_ms } of index.listRuns())
      if ((finished_ms ?? 0) >= this.#book.since_ms) this.#check(run_id);
  }

  /** New events of a run, as they are journalled. */
  observe(events: readonly Event[]): void {
    for (const event of events) this.#following.get(event.run_id)?.observe(event);
  }

  /** A run has new events. `grown`: it was known before, so that they are news whatever their times say. */
  changed(run_id: string, grown: boolean): void {
    if (grown || this.#book.get(run_id)?.open) this.#behind.add(run_id);
    else this.#check(run_id);
  }

  /** Makes messages of what is new. Never throws. */
  async send(): Promise<void> {
    for (const run_id of [...this.#behind])
      await this.#guarded(async () => {
        if (this.#full()) return;
        if (await this.#catchUp(run_id)) this.#behind.delete(run_id);
      });
  }

  /** Called every few seconds: ends sessions, releases what is delivered, tries refused connections again. */
  async tick(states: States): Promise<void> {
    await this.#guarded(async () => {
      this.#release();
      if (this.#again_ms !== null && Date.now() >= this.#again_ms) await this.#reconnect();
    });
    await this.send();
    const last = new Map(
      this.#parts.index.unfinished().map(({ run_id, evidence }) => [run_id, evidence.last_ms]),
    );
    for (const { run_id } of this.#book.open()) {
      const over = isOver(states.get(run_id) ?? null, last.get(run_id) ?? null, Date.now());
      if (over) await this.#guarded(() => this.#end(run_id));
    }
  }

  status(): WatchLiveStatus {
    const waiting = this.#live.sessions.filter(({ sender }) => !sender.done);
    return {
      url: this.#config.url,
      connected: this.#live.connected,
      since_ms: this.#book.since_ms,
      open: this.#book.open().length,
      waiting_messages: waiting.reduce(
        (sum, { outbox, sender }) => sum + Math.max(0, outbox.last_seq - sender.acked),
        0,
      ),
      waiting_bytes: waiting.reduce((sum, { outbox }) => sum + outbox.bytes, 0),
      behind: this.#behind.size,
      refused: this.#refused,
      last_failure: this.#last_failure,
    };
  }

  /** Waits briefly for the last acknowledgements. The next watcher sends the rest. */
  async close(): Promise<void> {
    await this.#guarded(async () => {
      const { connected } = this.#live;
      const wait_ms = connected ? APP_LIMITS.live_last_acks_ms : APP_LIMITS.live_deliver_ms;
      await this.#live.settled(wait_ms);
      const left = await this.#live.close();
      const messages = left.reduce((sum, one) => sum + one.messages, 0);
      if (messages > 0)
        this.#parts.say(`live: ${messages} messages wait in the outbox; the next start sends them`);
    });
  }

  #connect(): LiveSender {
    const { url, token_file, ca } = this.#config;
    return new LiveSender({
      ...{ url, token_file, ca, outbox: livePaths(this.#parts.state.path).outbox },
      onNotice: (notice) => {
        const text = noticeText(notice);
        if (text !== null) this.#last_failure = text;
        // One message per outage, not one per attempt.
        const said = notice.kind === 'lost' && this.#away;
        if (notice.kind === 'connected' && this.#away) this.#parts.say('live: connected again');
        if (notice.kind === 'connected') this.#last_failure = null;
        if (notice.kind === 'lost' || notice.kind === 'connected')
          this.#away = notice.kind === 'lost';
        if (text !== null && !said) this.#parts.say(`live: ${text}`);
        if (notice.kind === 'refused' && notice.session_id === null)
          this.#again_ms = Date.now() + APP_LIMITS.watch_live_again_ms;
      },
    });
  }

  /** Ended sessions that an earlier watcher, run or program could not deliver to this collector. */
  #adopt(): void {
    const { url, token_file, ca } = this.#live.target;
    for (const path of listOutboxes(livePaths(this.#parts.state.path).outbox)) {
      if (this.#live.sessions.length >= APP_LIMITS.watch_live_sessions_max) return;
      const outbox = takeOutbox(path);
      if (outbox === null) continue;
      const { target } = outbox;
      const ours = target.url === url && target.token_file === token_file && target.ca === ca;
      if (ours && outbox.ended) this.#live.adopt(outbox);
      else outbox.close();
    }
  }

  /** Whether a run without an open session has something that no session has. */
  #check(run_id: string): void {
    if (!this.#isNew(run_id)) return;
    const ended_ms = this.#parts.index.getRun(run_id)?.metrics.end_time_ms ?? 0;
    if (ended_ms >= this.#book.since_ms) this.#behind.add(run_id);
  }

  #isNew(run_id: string): boolean {
    const known = this.#book.get(run_id);
    // A run that tacho recorded itself has no number there: it was sent with its own --live.
    return known?.open === true || (this.#parts.index.grownTo(run_id) ?? 0) > (known?.events ?? 0);
  }

  /** Returns whether nothing is left to do. */
  async #catchUp(run_id: string): Promise<boolean> {
    if (!this.#isNew(run_id)) return true;
    const session = this.#following.get(run_id) ?? this.#open(run_id);
    return (await session?.catchUp(this.#entries(run_id), () => this.#full())) ?? false;
  }

  #entries(run_id: string): JournalRead {
    const { state, index } = this.#parts;
    return readSession(state.journal, run_id, { index });
  }

  /** Null while another process has its outbox, or too many are open. */
  #open(run_id: string): LiveSession | null {
    if (!this.#room()) return null;
    const known = this.#book.get(run_id);
    const sent = known?.open
      ? known
      : { run_id, sessions: (known?.sessions ?? 0) + 1, open: true, events: known?.events ?? 0 };
    let out: OutSession;
    try {
      out = this.#live.open(sessionId(sent));
    } catch (error) {
      if (error instanceof TachoError && error.code === 'busy') return null;
      throw error;
    }
    const { ended, last_event } = out.outbox;
    if (ended) {
      // The book is older than the outbox.
      this.#book.put({ ...sent, open: false, events: Math.max(sent.events, last_event.seq) });
      return null;
    }
    if (sent !== known) this.#book.put(sent);
    const session = new LiveSession(sent, out);
    this.#following.set(run_id, session);
    return session;
  }

  async #end(run_id: string): Promise<void> {
    if (this.#behind.has(run_id)) return;
    if (!this.#following.has(run_id) && !(await this.#catchUp(run_id))) return;
    const session = this.#following.get(run_id);
    if (session === undefined) return;
    const { sent, next } = session;
    const ended = { ...sent, open: false, events: next - 1 };
    // First, so that the run is not sent again if the outbox is delivered and removed before the next start.
    this.#book.put(ended);
    if (!this.#parts.index.hasRun(run_id)) session.endRemoved();
    else if (!(await session.end(this.#entries(run_id)))) {
      this.#book.put(sent);
      return;
    }
    this.#following.delete(run_id);
  }

  /** Closes outboxes of delivered and refused sessions. */
  #release(): void {
    for (const session of [...this.#live.sessions]) {
      const { outbox, sender } = session;
      if (!(sender.done && outbox.ended) && sender.failure === null) continue;
      if (sender.failure?.error_code === 'AUTH_FAILED') continue;
      const left = this.#live.release(session);
      if (left?.refused) this.#refuse(session, left.refused);
    }
  }

  /** A refused session is not offered again. Later events of the run become another session. */
  #refuse({ session_id }: OutSession, why: string): void {
    this.#refused += 1;
    this.#last_failure = why;
    for (const [run_id, { out, sent, next }] of this.#following)
      if (out.session_id === session_id) {
        this.#following.delete(run_id);
        this.#book.put({ ...sent, open: false, events: next - 1 });
      }
  }

  /** Makes room for another outbox. */
  #room(): boolean {
    const most = APP_LIMITS.watch_live_sessions_max;
    if (this.#live.sessions.length < most) return true;
    this.#release();
    for (const [run_id, { out }] of [...this.#following]) {
      if (this.#live.sessions.length < most) break;
      if (!out.sender.done || this.#behind.has(run_id)) continue;
      this.#following.delete(run_id);
      this.#live.release(out);
    }
    return this.#live.sessions.length < most;
  }

  #full(): boolean {
    const bytes = () => this.#live.sessions.reduce((sum, { outbox }) => sum + outbox.bytes, 0);
    const most = APP_LIMITS.watch_live_waiting_bytes_max;
    if (bytes() < most) return false;
    for (const { outbox, sender } of this.#live.sessions) outbox.trim(sender.acked);
    return bytes() >= most;
  }

  /** The token may have been corrected. */
  async #reconnect(): Promise<void> {
    this.#again_ms = null;
    await this.#live.close();
    this.#following.clear();
    for (const { run_id } of this.#book.open()) this.#behind.add(run_id);
    try {
      this.#live = this.#connect();
      this.#adopt();
    } catch (error) {
      this.#again_ms = Date.now() + APP_LIMITS.watch_live_again_ms;
      throw error;
    }
  }

  /** A full disk or a damaged file must not stop the watcher: it is tried again later. */
  async #guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const text = (error as Error).message;
      if (text !== this.#last_failure) this.#parts.say(`live: ${text}`);
      this.#last_failure = text;
    }
  }
}

/** A run that is finished, or that nobody can continue, and that was quiet for a while. */
function isOver(state: UnfinishedState | null, last_ms: number | null, now_ms: number): boolean {
  if (last_ms === null) return true;
  const quiet_ms = now_ms - last_ms;
  if (quiet_ms >= APP_LIMITS.unfinished_age_ms) return true;
  return (state === null || state.state === 'gone') && quiet_ms >= APP_LIMITS.watch_live_quiet_ms;
}
