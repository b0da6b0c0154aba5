/**
 * Capture after a killed recorder: which lines have already produced their events, and where reading resumes.
 * Contract: no event is produced twice or lost, regardless of where the recorder was killed.
 */

import type { Event, Raw } from '../model/event.ts';
import type { Channel } from '../model/words.ts';
import { CAPTURE_LIMITS } from './limits.ts';
import type { Beginning } from './reader.ts';
import { applyEvent, fileOf, type RunState } from './run-state.ts';
import { closesLine } from './series.ts';

export class Resumption {
  /**
   * Set before the first event if the files of a session were rewritten: all their lines are read again, and only drafts
   * that the run does not have become events.
   */
  rereads = false;
  readonly #state: RunState;
  readonly #primary: Channel;
  /** Per file: lines before this offset have already produced all their events. */
  readonly #done = new Map<string, number>();
  /** Per file: the line up to which all series have been produced. */
  readonly #counted = new Map<string, number>();
  /**
   * Events without a line that a killed recorder journalled: drafts held or made at the end of the input appear once.
   */
  readonly #given = new Set<string>();
  /** The last line of each channel for which a killed recorder journalled events, and the last cut of each file. */
  readonly #last = new Map<Channel, Raw>();
  readonly #cuts = new Map<Channel, Raw>();
  /**
   * Events journalled for a line that the killed recorder may not have finished: made again, but not returned again.
   */
  #unsure: readonly Event[] = [];
  /** With `rereads`: where the journal has an event, by its identity. */
  readonly #known = new Map<string, number[]>();
  #moved = false;
  #again = 0;
  /** While resuming: the events of the most recent line. */
  #last_line: Event[] = [];

  constructor(state: RunState, primary: Channel) {
    this.#state = state;
    this.#primary = primary;
  }

  /** Takes the next event of the journal. Its line produces nothing again. */
  resume(event: Event): void {
    this.#note(event);
    if (this.rereads && event.raw !== null) {
      const identity = identityOf(event);
      const places = this.#known.get(identity);
      if (places === undefined) this.#known.set(identity, [event.raw.offset]);
      else places.push(event.raw.offset);
    }
    if (!sameLine(this.#last_line.at(-1)?.raw ?? null, event.raw)) this.#applyLastLine();
    this.#last_line.push(event);
    // The end of a run over its limit is one event of its line, so nothing of that line can be missing.
    if (event.seq > CAPTURE_LIMITS.run_events_max) this.#applyLastLine();
    this.#again = event.seq;
  }

  /** Records an event's position in the files. */
  #note(event: Event): void {
    const { raw } = event;
    if (raw === null) {
      this.#given.add(identityOf(event));
    } else if (isCut(event)) {
      this.#cuts.set(raw.channel, raw);
      this.#last.delete(raw.channel);
    } else this.#last.set(raw.channel, raw);
    if (raw !== null && closesLine(event)) this.#counted.set(fileOf(raw), raw.offset);
  }

  /** The journal has entries up to this number after the last event: the next event is numbered after them. */
  skipTo(seq: number): void {
    if (seq <= this.#again) return;
    // Entries after the last event may belong to its line, so that line produces nothing more.
    this.#applyLastLine();
    this.#state.seq = seq;
  }

  resumed(): void {
    const last = this.#last_line.at(-1);
    const whole = last === undefined || closesLine(last) || this.rereads;
    const raw = whole ? null : last.raw;
    // Only the last line can be journalled in part: it is read again, and its first events are made again.
    if (raw === null) this.#applyLastLine();
    const read = this.rereads ? [] : this.#state.read;
    for (const [file, offset] of read) this.#done.set(file, offset + 1);
    if (raw !== null) this.#done.set(fileOf(raw), raw.offset);
    this.#unsure = this.#last_line;
    this.#last_line = [];
  }

  #applyLastLine(): void {
    this.#apply(this.#last_line);
    this.#last_line = [];
  }

  #apply(events: readonly Event[]): void {
    for (const event of events) applyEvent(this.#state, event, this.#primary);
  }

  /**
   * Called when the next event has no line and the last journalled line has not been read again: its journalled
   * events are all that it produces. Otherwise the next event would get the number of one of them. Returns true if
   * the state has changed.
   */
  keepUnsure(): boolean {
    const raw = this.#unsure[0]?.raw;
    if (this.#state.seq >= this.#again || raw == null) return false;
    this.#apply(this.#unsure);
    this.#unsure = [];
    this.#done.set(fileOf(raw), raw.offset + 1);
    this.#again = 0;
    return true;
  }

  /** Whether the last journalled line is in another file of the same channel, and was not read again so far. */
  isAnother(raw: Raw): boolean {
    if (this.#state.seq >= this.#again) return false;
    const last = this.#unsure[0]?.raw;
    return last?.channel === raw.channel && last.file !== raw.file;
  }

  /** Whether events of the journal have not been made again yet. */
  get isBehind(): boolean {
    return this.#state.seq < this.#again;
  }

  /** The events that are not in the journal yet. */
  fresh(events: Event[]): Event[] {
    return this.#again === 0 ? events : events.filter((event) => event.seq > this.#again);
  }

  /** Whether the events of this line are in the journal. */
  isDone(raw: Raw): boolean {
    return raw.offset < (this.#done.get(fileOf(raw)) ?? 0);
  }

  /** Whether the series up to this line are in the journal. */
  isCounted(raw: Raw): boolean {
    return raw.offset <= (this.#counted.get(fileOf(raw)) ?? -1);
  }

  /** Whether a draft without a line is in the journal. */
  wasGiven(draft: { kind: string; data: object }): boolean {
    return this.#given.has(identityOf(draft));
  }

  /** With `rereads`: whether the journal has this draft of a line, once per event. */
  takeKnown(draft: { kind: string; data: object }, { offset }: Raw): boolean {
    const places = this.#known.get(identityOf(draft)) ?? [];
    const same = places.indexOf(offset);
    this.#moved ||= places.length > 0 && same < 0;
    return places.splice(Math.max(same, 0), 1).length > 0;
  }

  /** With `rereads`: messages and calls of the journal that were not read again. */
  get missing(): number {
    return this.#leftOf(SAID);
  }

  /** With `rereads`: whether records of the journal were not read again. */
  get lacking(): boolean {
    return this.#leftOf([...SAID, 'call_finished']) > 0;
  }

  /** With `rereads`: whether records of the journal were not read again at the same places. */
  get changed(): boolean {
    return this.#moved || this.lacking;
  }

  #leftOf(kinds: readonly string[]): number {
    let count = 0;
    for (const [identity, { length }] of this.#known)
      if (length > 0 && kinds.some((kind) => identity.startsWith(`["${kind}"`))) count += length;
    return count;
  }

  beginningOf(channel: Channel): Beginning {
    const cut = this.#cuts.get(channel);
    return cut === undefined ? { line: 0, offset: 0 } : { line: cut.line, offset: cut.offset + 1 };
  }

  /** Where a file begins that replaced the one read before: after everything read from that one. */
  behindLost(channel: Channel): Beginning {
    const last = this.#last.get(channel);
    return last === undefined
      ? this.beginningOf(channel)
      : { line: last.line, offset: last.offset + 1 };
  }

  /** Where in its file the last line that a resumed run has of this channel begins. Null if it has none. */
  resumesAt(channel: Channel): number | null {
    const last = this.#last.get(channel);
    return last === undefined ? null : last.offset - this.beginningOf(channel).offset;
  }

  /** Whether a resumed run has recorded a truncation of this channel's file. */
  wasCut(channel: Channel): boolean {
    return this.#cuts.has(channel);
  }
}

const isCut = (event: Event) => event.kind === 'problem' && event.data.code === 'spool_truncated';

/** Kinds of events that always come from a record. */
const SAID = ['message_finished', 'thinking_finished', 'call_requested'] as const;

/** Fields that a draft and its event have in common. */
const IDENTIFYING = [
  'message_id',
  'call_id',
  'text',
  'code',
  'detail',
  'usage',
  'message',
  'exit_reason',
  'path',
  'step_id',
  'role',
  'skill',
  'status',
];
/** Longer texts are identified by their length and both ends. */
const IDENTIFYING_CHARS = 400;

function identityOf({ kind, data }: { kind: string; data: object }): string {
  const fields = data as Record<string, unknown>;
  // An event has the unique id of its call, a draft the agent's own.
  const call_id = String(fields.call_id ?? '').replace(/#\d+$/, '');
  const values = { ...fields, call_id };
  return JSON.stringify([
    kind,
    ...IDENTIFYING.map((name) => shortened((values as Record<string, unknown>)[name])),
  ]);
}

function shortened(value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= IDENTIFYING_CHARS) return value;
  const half = IDENTIFYING_CHARS / 2;
  return [value.length, value.slice(0, half), value.slice(-half)];
}

function sameLine(a: Raw | null, b: Raw | null): boolean {
  return a !== null && b !== null && a.offset === b.offset && fileOf(a) === fileOf(b);
}
