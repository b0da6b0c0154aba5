/**
 * Capture after a killed recorder: which lines have already produced their events, and where reading resumes.
 * Contract: no event is produced twice or lost, regardless of where the recorder was killed.
 */

import type { Event, Raw } from '../model/event.ts';
import type { Channel } from '../model/words.ts';
import { CAPTURE_LIMITS } from './limits.ts';
import type { Beginning } from './reader.ts';
import { applyEvent, type RunState } from './run-state.ts';
import { closesLine } from './series.ts';

export class Resumption {
  readonly #state: RunState;
  readonly #primary: Channel;
  /** Per channel: lines before this offset have already produced all their events. */
  readonly #done = new Map<Channel, number>();
  /** Per channel: the line up to which all series have been produced. */
  readonly #counted = new Map<Channel, number>();
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
    if (raw !== null && closesLine(event)) this.#counted.set(raw.channel, raw.offset);
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
    const raw = last === undefined || closesLine(last) ? null : last.raw;
    // Only the last line can be journalled in part: it is read again, and its first events are made again.
    if (raw === null) this.#applyLastLine();
    for (const [channel, offset] of this.#state.read) this.#done.set(channel, offset + 1);
    if (raw !== null) this.#done.set(raw.channel, raw.offset);
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
    this.#done.set(raw.channel, raw.offset + 1);
    this.#again = 0;
    return true;
  }

  /** The events that are not in the journal yet. */
  fresh(events: Event[]): Event[] {
    return this.#again === 0 ? events : events.filter((event) => event.seq > this.#again);
  }

  /** Whether the events of this line are in the journal. */
  isDone({ channel, offset }: Raw): boolean {
    return offset < (this.#done.get(channel) ?? 0);
  }

  /** Whether the series up to this line are in the journal. */
  isCounted({ channel, offset }: Raw): boolean {
    return offset <= (this.#counted.get(channel) ?? -1);
  }

  /** Whether a draft without a line is in the journal. */
  wasGiven(draft: { kind: string; data: object }): boolean {
    return this.#given.has(identityOf(draft));
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
];

function identityOf({ kind, data }: { kind: string; data: object }): string {
  const fields = data as Record<string, unknown>;
  return JSON.stringify([kind, ...IDENTIFYING.map((name) => fields[name])]);
}

function sameLine(a: Raw | null, b: Raw | null): boolean {
  return a !== null && b !== null && a.offset === b.offset && a.channel === b.channel;
}
