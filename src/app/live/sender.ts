/** A sender with its outboxes: messages of a session are written to disk first, then sent (LP-8). */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { TachoError } from '../../lib/errors.ts';
import { plural } from '../../lib/figures.ts';
import { type RandomSource, sessionName, systemRandom } from '../../lib/ids.ts';
import { parseAddress } from '../../live/protocol/address.ts';
import { numbered, timestampOf } from '../../live/protocol/compose.ts';
import type { WireMessage } from '../../live/protocol/messages.ts';
import { errorText } from '../../live/sender/link.ts';
import { Sender, type SenderSession } from '../../live/sender/sender.ts';
import type { InputReply, Notice, SenderTimes } from '../../live/sender/types.ts';
import { readToken } from '../../live/token-file.ts';
import { readCertificates } from '../../live/transports/certificates.ts';
import { dial } from '../../live/transports/dial.ts';
import type { LiveMessage } from '../../model/live.ts';
import { takeLock } from '../../store/lock.ts';
import type { Outbox } from '../../store/outbox/file.ts';
import type { OutboxTarget } from '../../store/outbox/lines.ts';
import { openOutbox, outboxPath } from '../../store/outbox/outbox.ts';
import { rememberTarget } from '../config/own-state.ts';
import { packageVersion } from '../config/paths.ts';
import { APP_LIMITS } from '../limits.ts';

export interface LiveSenderOptions {
  url: string;
  token_file?: string | null | undefined;
  /** The token itself, if it is not in a file. Undelivered messages then wait for a sender that has it. */
  token?: string | null | undefined;
  /** A file with certificates that the collector's certificate is checked against. */
  ca?: string | null | undefined;
  /** Folder of the outboxes. */
  outbox: string;
  clock?: Clock | undefined;
  random?: RandomSource | undefined;
  times?: Partial<SenderTimes> | undefined;
  /** Handles `user_input`, `interrupt` and `tool_confirmation_response`. Default: they are refused. */
  onInput?: ((message: WireMessage) => InputReply | Promise<InputReply>) | undefined;
  /** Receives lost connections, clock differences and refusals. */
  onNotice?: ((notice: Notice) => void) | undefined;
}

/** Messages of a session that no collector has stored yet. */
export interface Undelivered {
  /** Id of the session. */
  session_id: string;
  /** Messages without an acknowledgement. */
  messages: number;
  /** Why no collector will ever accept them. Null if the next tacho tries again. */
  refused: string | null;
  /** File that holds refused messages; null if none were refused. */
  path: string | null;
}

export class LiveSender {
  readonly sessions: OutSession[] = [];
  readonly #sender: Sender;
  readonly target: OutboxTarget;
  readonly #dir: string;

  constructor(options: LiveSenderOptions) {
    const { url, token_file, ca, onInput, onNotice, times } = options;
    const address = parseAddress(url);
    // A file that cannot be used is a mistake of the caller, not a collector to wait for.
    if (ca) readCertificates(ca);
    this.#dir = options.outbox;
    this.target = { url, token_file: token_file ?? null, ca: ca ?? null };
    this.#sender = new Sender({
      dial: (signal) => dial(address, { ca, signal, lock: takeLock }),
      token: options.token ?? (token_file ? readToken(token_file) : null),
      client: {
        name: 'tacho',
        version: packageVersion(),
        capabilities: onInput === undefined ? [] : ['input'],
      },
      clock: options.clock ?? systemClock,
      random: options.random ?? systemRandom,
      ...(times && { times }),
      ...(onInput && { onInput }),
      ...(onNotice && { onNotice }),
    });
  }

  get connected(): boolean {
    return this.#sender.connected;
  }

  /** The session's outbox, new or existing. Throws a `busy` TachoError while another process has it. */
  open(session_id: string, first_seq = 1): OutSession {
    const known = this.sessions.find((session) => session.session_id === session_id);
    if (known !== undefined) return known;
    rememberTarget(dirname(this.#dir), this.target);
    const outbox = openOutbox(this.#dir, { ...this.target, session_id, first_seq });
    if (outbox !== null) return this.adopt(outbox);
    const text = `another process is sending for session ${session_id}: wait until it ends, or choose another --session`;
    throw new TachoError('busy', text, { stage: 'live', retryable: true });
  }

  /** The number with which a session continues: from the outbox, otherwise from a collector that answers soon, otherwise 1. */
  async where(session_id: string): Promise<number> {
    if (existsSync(outboxPath(this.#dir, session_id))) return 1;
    return (await this.#sender.where(session_id, APP_LIMITS.live_where_ms)) ?? 1;
  }

  /** Waits while the outboxes contain more than a connected collector has yet to accept. */
  async room(): Promise<void> {
    for (const { outbox, sender } of this.sessions)
      while (outbox.bytes > APP_LIMITS.live_outbox_trim_bytes && this.#sender.connected) {
        outbox.trim(sender.acked);
        if (!(await sender.moved(APP_LIMITS.live_where_ms))) break;
      }
  }

  /** Takes over an existing outbox. */
  adopt(outbox: Outbox): OutSession {
    const session = new OutSession(outbox, this.#sender.add(outbox));
    this.sessions.push(session);
    return session;
  }

  /** Waits until everything is acknowledged, at most this long. */
  async settled(wait_ms: number): Promise<boolean> {
    const all = await Promise.all(this.sessions.map(({ sender }) => sender.settled(wait_ms)));
    return !all.includes(false);
  }

  /** Gives up one session, as `close` does for all. */
  release(session: OutSession): Undelivered | null {
    session.sender.drop();
    this.sessions.splice(this.sessions.indexOf(session), 1);
    return leave(session);
  }

  /** Ends the connection. Delivered outboxes are removed, the others stay for the next tacho and are returned. */
  async close(): Promise<Undelivered[]> {
    await this.#sender.close();
    return this.sessions.map(leave).filter((left) => left !== null);
  }
}

/** Whether a refusal concerns the session itself. A refusal of the sender (wrong token) may be fixed. */
const FOR_GOOD = (error_code: string) => error_code !== 'AUTH_FAILED';

/** Called when a sender is done with a session: removes, keeps or sets aside the file. */
function leave({ outbox, sender, session_id }: OutSession): Undelivered | null {
  const { done, failure, acked } = sender;
  const messages = outbox.last_seq - acked;
  if (done && outbox.ended) outbox.remove();
  else if (failure !== null && FOR_GOOD(failure.error_code)) {
    const refused = `${failure.error_code}: ${failure.message}`;
    return { session_id, messages, refused, path: outbox.setAside() };
  } else {
    // A killed run is finished from the contents of its outbox.
    if (done && outbox.last_event.seq === 0) outbox.trim(acked);
    outbox.close(acked);
  }
  return done ? null : { session_id, messages, refused: null, path: null };
}

export class OutSession {
  readonly outbox: Outbox;
  readonly sender: SenderSession;

  constructor(outbox: Outbox, sender: SenderSession) {
    this.outbox = outbox;
    this.sender = sender;
  }

  get session_id(): string {
    return this.outbox.session_id;
  }

  /** The number of the next message. */
  get next_seq(): number {
    return this.outbox.last_seq + 1;
  }

  /** Writes the messages unchanged to disk and notifies the sender. */
  put(messages: readonly { seq: number; type: string; text: string }[], event = 0): void {
    if (this.outbox.bytes > APP_LIMITS.live_outbox_trim_bytes) this.outbox.trim(this.sender.acked);
    this.outbox.append(messages.map((message) => ({ ...message, event })));
    this.sender.wake();
  }

  /** Numbers and timestamps our own messages, then writes them. */
  say(messages: readonly LiveMessage[], event = 0): void {
    this.put(numbered(this.session_id, this.next_seq, messages), event);
  }
}

/** As text, for stderr. */
export function undeliveredText({ session_id, messages, refused, path }: Undelivered): string {
  const many = `${plural(messages, 'message')} of session ${sessionName(session_id)}`;
  return refused === null
    ? `${many} not delivered yet: they are in the outbox, and the next tacho run, emit or serve sends them`
    : `the collector refused ${many} (${refused}): they are in ${path}`;
}

/** A notice as text. Null if it is not worth showing. */
export function noticeText(notice: Notice): string | null {
  switch (notice.kind) {
    case 'lost':
      return `${notice.why}; trying again`;
    case 'skew':
      return `the clock of the collector differs from this one by ${notice.skew_ms} ms (at ${timestampOf(Date.now())})`;
    case 'refused':
      return errorText(notice);
    default:
      return null;
  }
}
