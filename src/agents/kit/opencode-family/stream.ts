/** One decoder for all forms of records (RO-2): the CLI's lines, server events and wrappers, database rows, exports. */
import { RecentSet } from '../../../lib/bounded.ts';
import { jsonInside } from '../../../lib/byte-text.ts';
import { LIMITS } from '../../../lib/limits.ts';
import type { SessionDecoderOptions } from '../../../model/agent.ts';
import { decoder, type Table } from '../decoder.ts';
import { type Drafts, type Time, Writer } from '../drafts.ts';
import {
  type Claim,
  type Inside,
  idOf,
  isNative,
  listOf,
  type Merged,
  momentOf,
  nativeOf,
  type Open,
  textOf,
} from '../native.ts';
import { BUS_IGNORED, Bus } from './bus.ts';
import { DocumentLines } from './document.ts';
import type { Session, Stdout } from './generated/native.ts';
import { Conversation } from './messages.ts';
import {
  eventTime,
  type Line,
  type Message,
  type Part,
  type SessionInfo,
  storedKind,
} from './native.ts';
import type { NamesOf } from './tools.ts';

type Records = Stdout & Session;
type Rows = Table<Records>['records'];
/** Records that contain other records. */
type Wrapper = Merged<Records, 'global' | 'sync' | 'row/event' | 'export'>;
type Durable = Merged<{ row: Session['row/event']; sync: Inside<Stdout['sync']['syncEvent']> }>;

export const records = (namesOf: NamesOf, options: SessionDecoderOptions = {}) =>
  decoder<Records>((to) => {
    const talk = new Conversation(to, namesOf, options.since_ms);
    const bus = new Bus(to, talk);
    const forms = new Forms(to, talk);
    return {
      inside: (value) => forms.inside(value),
      text: (line) => forms.text(line),
      kindOf: (record) => (record.type === undefined ? storedKind(record) : textOf(record.type)),
      before: (record) => forms.before(record),
      records: { ...lines(to, talk), ...bus.records, ...forms.records },
      ignored: BUS_IGNORED,
      notices: ['session.compacted'],
      noticeText: (record) => idOf(nativeOf(record.properties)?.sessionID),
      end() {
        forms.document.end();
        talk.end();
        bus.end();
      },
    };
  });

/** Lines of `run --format json`. */
function lines(to: Drafts, talk: Conversation): Rows {
  const line = (record: Line) => {
    const part = nativeOf(record.part);
    if (part === null) return to.bad(`${textOf(record.type)} without part`);
    if (!to.introduced) talk.sessions.introduce({ session_id: idOf(record.sessionID) });
    talk.part(part, 'cli');
  };
  return {
    step_start: line,
    text: line,
    reasoning: line,
    tool_use: line,
    step_finish: line,
    error(record) {
      const session_id = idOf(record.sessionID);
      if (!to.introduced) talk.sessions.introduce({ session_id });
      talk.failed(record.error, session_id);
    },
  };
}

/** Parses JSON in a text; other values are unchanged. */
function parsed<F>(value: Claim<F> | undefined): Claim<F> | undefined {
  return typeof value === 'string' ? (jsonInside(value) as Claim<F>) : value;
}

/** Unwraps records inside other records, and finds times for records without one. */
class Forms extends Writer {
  readonly document = new DocumentLines(this.to);
  readonly #talk: Conversation;
  readonly #events = new RecentSet<string>(LIMITS.waiting_drafts_max);
  /** The time of the last record that had one. */
  #now_ms: Time;

  constructor(to: Drafts, talk: Conversation) {
    super(to);
    this.#talk = talk;
  }

  /** Pieces of exports, and database rows, which hold JSON as text. */
  readonly records: Rows = {
    'export/session': ({ session }) => {
      const info = nativeOf(session) ?? {};
      this.to.at_ms = momentOf(nativeOf(info.time)?.created);
      this.#talk.sessions.take(info, true);
    },
    'export/message': ({ message }) => this.#message(nativeOf(message) ?? {}),
    'export/part': ({ part }) => this.#part(nativeOf(part) ?? {}),
    'row/session': (row) => {
      if (row.directory === undefined && row.project_id === undefined) return this.#unknown();
      this.to.at_ms = momentOf(row.time_created);
      const { id, parent_id: parentID, directory, version } = row;
      const model = parsed(row.model) ?? null;
      const time = { created: row.time_created };
      const info = { id, parentID, directory, version, model, time } as SessionInfo;
      this.#talk.sessions.take(info);
    },
    'row/message': ({ id, session_id, data }) => {
      const info = idOf(session_id) === null ? null : nativeOf(parsed(data));
      if (info) this.#message({ ...info, id, sessionID: session_id });
      else this.#unknown();
    },
    'row/part': ({ id, message_id, session_id, time_created, data }) => {
      const part = idOf(message_id) === null ? null : nativeOf(parsed(data));
      const ids = { id, messageID: message_id, sessionID: session_id };
      if (part) this.#part({ ...part, ...ids }, momentOf(time_created));
      else this.#unknown();
    },
  };

  #unknown(): void {
    this.to.problem('unknown_record', 'a row of an unknown table');
  }

  inside(value: unknown): Iterable<unknown> | null {
    if (this.document.open && isHollow(value)) {
      return this.document.line(JSON.stringify(value)) ?? [];
    }
    if (Array.isArray(value)) return value;
    if (!isNative(value)) return null;
    const wrapper = value as Wrapper;
    const payload = nativeOf(wrapper.payload);
    if (payload) return [payload];
    const durable = wrapper.type === 'sync' ? nativeOf(wrapper.syncEvent) : eventRow(wrapper);
    if (durable) return this.#durable(durable);
    if (isNative(value.properties)) return this.#isRepeat(idOf(value.id)) ? [] : null;
    return isNative(wrapper.info) ? this.#pieces(wrapper) : null;
  }

  /** A line of an export, or of an event stream as sent by the server. */
  text(line: string): readonly unknown[] | null {
    const pieces = this.document.line(line);
    if (pieces !== null || !line.startsWith('data: ')) return pieces;
    const event = parsed(line.slice(6));
    return event === undefined ? null : [event];
  }

  #isRepeat(event_id: string | null): boolean {
    if (event_id === null || this.#events.has(event_id)) return event_id !== null;
    this.#events.add(event_id);
    return false;
  }

  /** A durable event: in the database, and repeated on `/global/event` after the ordinary event. */
  #durable({ id, type, data }: Durable): unknown[] {
    const properties = nativeOf(parsed(data));
    if (properties) return [{ id, type: textOf(type)?.replace(/\.\d+$/, ''), properties }];
    this.to.bad(`${textOf(type) ?? 'no type'} without data`);
    return [];
  }

  /** `{info, messages}` of an export, or one message `{info, parts}` as the server returns it. */
  *#pieces({ info, messages, parts }: Wrapper): Generator<unknown> {
    if (!Array.isArray(messages)) {
      yield { message: info };
      for (const part of listOf(parts)) if (isNative(part)) yield { part };
      return;
    }
    yield { session: info };
    for (const item of messages) {
      const message: Wrapper | null = nativeOf(item);
      if (isNative(message?.info)) yield* this.#pieces(message);
      else this.to.bad('a message of the export without info');
    }
  }

  before({ id, properties }: Open): void {
    if (!isNative(properties)) return;
    this.to.at_ms = eventTime(id, properties, this.#now_ms);
    this.#now_ms = this.to.at_ms ?? this.#now_ms;
  }

  #message(info: Message): void {
    this.to.at_ms = momentOf(nativeOf(info.time)?.created);
    this.#now_ms = this.to.at_ms ?? this.#now_ms;
    this.#talk.message(info, 'stored');
  }

  /** A part of an export has no time of its own. */
  #part(part: Part, row_ms?: Time): void {
    const time = nativeOf(part.time) ?? nativeOf(nativeOf(part.state)?.time);
    this.to.at_ms = momentOf(time?.start) ?? row_ms ?? this.#now_ms;
    this.#now_ms = momentOf(time?.end) ?? this.to.at_ms;
    this.#talk.part(part, 'stored');
  }
}

function isHollow(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** A row of the database's event table. */
function eventRow(record: Wrapper): Durable | null {
  const session_id = idOf(record.aggregate_id) ?? idOf(record.aggregateID);
  return session_id !== null && record.data !== undefined ? record : null;
}
