/**
 * One decoder for every shape of record, told apart by form (RO-2): the CLI's lines `{type, timestamp, sessionID, part}`,
 * the server's bus `{type, properties}` of today and of earlier versions, its `/global/event` wrapper with `sync` repeats,
 * rows of the database, and exports.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { Decoder, SessionDecoderOptions } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import { jsonIn } from '../kit/text.ts';
import { Bus } from './bus.ts';
import { DocumentLines, type Piece } from './document.ts';
import {
  eventTime,
  idOf,
  isNative,
  listOf,
  momentOf,
  type Native,
  nameOf,
  nativeOf,
  problem,
  Recent,
} from './native.ts';
import { Talk } from './talk.ts';

export function stream(options: SessionDecoderOptions = {}): Decoder {
  return new Records(options);
}

const CLI_PARTS: ReadonlySet<unknown> = new Set([
  'step_start',
  'text',
  'reasoning',
  'tool_use',
  'step_finish',
]);

class Records implements Decoder {
  readonly #talk: Talk;
  readonly #bus: Bus;
  readonly #document: DocumentLines;
  readonly #events = new Recent(LIMITS.waiting_drafts_max);
  readonly #byte_text: boolean;
  /** Pieces of an export that the line at hand ends. */
  #pieces: unknown[] = [];
  /** The last time that a record told. */
  #now_ms: number | undefined;

  constructor({ since_ms, byte_text = false }: SessionDecoderOptions) {
    this.#byte_text = byte_text;
    this.#talk = new Talk(since_ms ?? null);
    this.#bus = new Bus(this.#talk);
    const take = (kind: Piece, value: Native) => this.#pieces.push({ [kind]: value });
    this.#document = new DocumentLines(take, (text) => this.#parsed(text));
  }

  /** Columns of the database hold JSON as text. */
  #parsed(value: unknown): Native | null {
    return nativeOf(typeof value === 'string' ? jsonIn(value, this.#byte_text) : value);
  }

  record(value: unknown, out: Draft[]): void {
    if (this.#document.open && isHollow(value)) {
      for (const piece of this.#piecesOf(JSON.stringify(value), out) ?? []) this.#one(piece, out);
    } else if (Array.isArray(value)) {
      for (const item of value) this.#one(item, out);
    } else this.#one(value, out);
  }

  text(line: string, out: Draft[]): readonly unknown[] | null {
    const pieces = this.#piecesOf(line, out);
    if (pieces !== null || !line.startsWith('data: ')) return pieces;
    // A recorded event stream, as the server sends it.
    const event = jsonIn(line.slice(6), this.#byte_text);
    return event === undefined ? null : [event];
  }

  #piecesOf(line: string, out: Draft[]): readonly unknown[] | null {
    this.#pieces = [];
    return this.#document.line(line, out) ? this.#pieces : null;
  }

  end(out: Draft[]): void {
    this.#document.end(out);
    this.#talk.end(out);
    this.#bus.end(out);
  }

  #one(value: unknown, out: Draft[]): void {
    if (!isNative(value)) {
      out.push(problem('bad_record', 'record is no object'));
      return;
    }
    const record = nativeOf(value.payload) ?? value;
    const durable = record.type === 'sync' ? nativeOf(record.syncEvent) : eventRow(record);
    if (durable) this.#durable(durable, out);
    else if (isNative(record.properties)) this.#event(record, record.properties, out);
    else if (isNative(record.info)) this.#exported(record, record.info, out);
    else if (isNative(record.session)) this.#talk.exported(record.session, out);
    else if (isNative(record.message)) this.#message(record.message, out);
    else if (isNative(record.part) && record.type === undefined) this.#part(record.part, out);
    else if (record.time_created !== undefined && record.type === undefined) this.#row(record, out);
    else this.#line(record, out);
  }

  /** A line of `run --format json`. */
  #line(record: Native, out: Draft[]): void {
    const { type } = record;
    const at_ms = momentOf(record.timestamp);
    const part = nativeOf(record.part);
    if (type === 'error') {
      this.#introduce(record, at_ms, out);
      this.#talk.failed(record.error, idOf(record.sessionID), at_ms, out);
    } else if (!CLI_PARTS.has(type)) {
      const code = typeof type === 'string' ? 'unknown_record' : 'bad_record';
      out.push(problem(code, nameOf(type)));
    } else if (part === null) {
      out.push(problem('bad_record', `${nameOf(type)} without part`));
    } else {
      this.#introduce(record, at_ms, out);
      this.#talk.part(part, 'cli', at_ms, out);
    }
  }

  #introduce(record: Native, at_ms: number | undefined, out: Draft[]): void {
    this.#talk.introduce({ session_id: idOf(record.sessionID) }, at_ms, out);
  }

  #event(record: Native, properties: Native, out: Draft[]): void {
    const id = idOf(record.id);
    if (id !== null && !this.#events.add(id)) return;
    this.#tell(record.type, properties, id, out);
  }

  /** A durable event: in the database, and on `/global/event` once more after it came as an ordinary one. */
  #durable(event: Native, out: Draft[]): void {
    const id = idOf(event.id);
    const data = this.#parsed(event.data);
    if (id !== null && !this.#events.add(id)) return;
    if (data === null) {
      out.push(problem('bad_record', `${nameOf(event.type)} without data`));
      return;
    }
    const type = typeof event.type === 'string' ? event.type.replace(/\.\d+$/, '') : null;
    this.#tell(type, data, id, out);
  }

  #tell(type: unknown, properties: Native, id: string | null, out: Draft[]): void {
    const told = timeIn(properties);
    const at_ms = eventTime(id, this.#now_ms ?? told) ?? told;
    this.#now_ms = at_ms ?? this.#now_ms;
    this.#bus.event(type, properties, at_ms, out);
  }

  /** `{info, messages}` of an export, or one message `{info, parts}` as the server answers it. */
  #exported(record: Native, info: Native, out: Draft[]): void {
    if (!Array.isArray(record.messages)) {
      this.#message(info, out);
      for (const part of listOf(record.parts)) if (isNative(part)) this.#part(part, out);
      return;
    }
    this.#talk.exported(info, out);
    for (const item of record.messages) {
      const message = nativeOf(item);
      const inner = nativeOf(message?.info);
      if (message && inner) this.#exported(message, inner, out);
      else out.push(problem('bad_record', 'a message of the export without info'));
    }
  }

  #row(row: Native, out: Draft[]): void {
    const data = this.#parsed(row.data);
    const at_ms = momentOf(row.time_created);
    const session_id = row.session_id;
    if (data !== null && idOf(row.message_id) !== null) {
      const ids = { id: row.id, messageID: row.message_id, sessionID: session_id };
      this.#part({ ...data, ...ids }, out, at_ms);
    } else if (data !== null && idOf(session_id) !== null) {
      this.#message({ ...data, id: row.id, sessionID: session_id }, out);
    } else if (row.directory !== undefined || row.project_id !== undefined) {
      const model = this.#parsed(row.model);
      this.#talk.session({ ...row, parentID: row.parent_id, model }, at_ms, out);
    } else out.push(problem('unknown_record', 'a row of an unknown table'));
  }

  #message(info: Native, out: Draft[]): void {
    const created_ms = momentOf(nativeOf(info.time)?.created);
    this.#now_ms = created_ms ?? this.#now_ms;
    this.#talk.message(info, 'stored', created_ms, out);
  }

  /** A stored part; one of an export has no time of its own. */
  #part(part: Native, out: Draft[], row_ms?: number): void {
    const time = nativeOf(part.time) ?? nativeOf(nativeOf(part.state)?.time);
    const at_ms = momentOf(time?.start) ?? row_ms ?? this.#now_ms;
    this.#now_ms = momentOf(time?.end) ?? at_ms;
    this.#talk.part(part, 'stored', at_ms, out);
  }
}

function isHollow(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** A row of the database's table of events. */
function eventRow(record: Native): Native | null {
  const session_id = idOf(record.aggregate_id) ?? idOf(record.aggregateID);
  return session_id !== null && record.data !== undefined ? record : null;
}

/** The latest time that an event's own info tells. */
function timeIn(properties: Native): number | undefined {
  if (typeof properties.time === 'number') return momentOf(properties.time);
  const time = nativeOf(nativeOf(properties.info)?.time) ?? nativeOf(properties.time);
  return momentOf(time?.completed) ?? momentOf(time?.updated) ?? momentOf(time?.created);
}
