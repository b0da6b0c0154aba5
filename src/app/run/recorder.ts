/**
 * Between capture and everything else: events pass the gate, are journalled, and are shown only then (ST-2, ST-7).
 * Contract: everything shown is durable. If the journal fails, only the end of started calls and of the run is shown. Views
 * of byte text are the exception: they get events immediately, and their output must not be visible before `flush`
 * has returned.
 */
import { isAscii, NeedsText, writeByteText } from '../../lib/byte-text.ts';
import { isUtf8 } from '../../lib/utf8.ts';
import type { Event, EventOf } from '../../model/event.ts';
import { CAPTURE_SOURCE, CLOSING_SOURCE } from '../../model/words.ts';
import type { Gate } from '../../redact/gate.ts';
import type { Journal, JournalEntry } from '../../store/journal/journal.ts';
import { STORE_LIMITS } from '../../store/limits.ts';
import { RecordDigest } from '../runs/record-digest.ts';
import { type Fitted, fitEvent } from './cut-event.ts';

/**
 * Receives events that are in the journal. The recorder waits for it, so a slow reader slows the recording and loses
 * nothing.
 */
export type EventSink = (events: readonly Event[]) => void | Promise<void>;

/** Receives the events of a run. Contract: a failing view is dropped and reported, and the run is still recorded. */
export interface View {
  /** For people: "the transcript". */
  name: string;
  take: EventSink;
}

export interface FailedView {
  view: string;
  why: string;
}

interface RecorderOptions {
  run_id: string;
  journal: Journal;
  gate: Gate;
  views: readonly View[];
  /**
   * Events contain byte text (lib/byte-text), and so do the views. `take` throws `NeedsText` if that would be
   * visible. Events are journalled in batches, as bytes: as objects they would outlive many garbage collections.
   */
  byte_text?: boolean;
}

const LF = 10;
/** Bytes of entries that are journalled together. */
const HELD_BYTES = 1024 * 1024;
/** A quarter of the memory for the first of them. */
const SLAB_BYTES = 16 * 1024;

/** Kinds with texts that an outcome truncates to one line each. */
const CUT_LATER: ReadonlySet<Event['kind']> = new Set([
  'problem',
  'provider_retried',
  'provider_failed',
  'call_retried',
  'call_decided',
  'permission_asked',
  'permission_answered',
  'step_blocked',
]);

/** An event and its text in the journal. */
export interface JournalledEvent {
  event: Event;
  body: string;
}

export class Recorder {
  /** Why the journal accepts no more entries. Null while it works. */
  failure: Error | null = null;
  /** Number of events that were too large for the journal and lost a part of their texts. */
  cut = 0;
  /** Views that failed and get no more events. */
  readonly failed: FailedView[] = [];
  readonly #options: RecorderOptions;
  #views: readonly View[];
  readonly #digest = new RecordDigest();
  /** While a provisional end is taken: the entries of that source so far. */
  #closing: number | null = null;
  /** Of the part that is already in the journal. */
  #redactions: Readonly<Record<string, number>> = {};
  #last: Event | null = null;
  /** Started calls without an end, tracked separately: the gate must not fail because of a view. */
  readonly #open = new Map<string, string>();
  /** Bodies of byte text, as bytes, while they are appended. */
  #slab = Buffer.alloc(0);
  #fill = 0;
  #held: JournalEntry[] = [];

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#views = options.views;
  }

  async take(events: readonly Event[]): Promise<void> {
    if (events.length === 0 || this.failure !== null) return;
    const end = events.findIndex((event) => event.kind === 'run_finished');
    const kept: Event[] = [];
    // The end contains the digest of everything before it.
    this.#hold(end < 0 ? events : events.slice(0, end), kept);
    if (end >= 0) this.#hold(events.slice(end), kept);
    if (this.#options.byte_text !== true || this.#fill >= HELD_BYTES) await this.flush();
    if (this.failure === null) await this.#show(kept);
  }

  /** Waits until everything taken is in the journal. */
  async flush(): Promise<void> {
    const entries = this.#held;
    if (entries.length === 0) return;
    this.#held = [];
    try {
      const results = await this.#options.journal.append(entries);
      const refused = results.find((result) => result === 'gap' || result === 'conflict');
      if (refused !== undefined)
        throw new Error(`the journal already has a different record of this run (${refused})`);
    } catch (error) {
      this.failure = error as Error;
    }
    this.#fill = 0;
  }

  /** Holds the events' entries, and adds the kept events to `kept`. */
  #hold(events: readonly Event[], kept: Event[]): void {
    if (events.length === 0) return;
    const { run_id, gate, byte_text = false } = this.#options;
    const fitted = byte_text ? fitBytes : fitEvent;
    const bodies: string[] = [];
    for (const event of events) {
      const whole = this.#sealed(gate.event(event));
      const { event: safe, body, cut } = fitted(whole, JSON.stringify(whole));
      if (cut) this.cut += 1;
      kept.push(safe);
      bodies.push(body);
      this.#held.push({ session: run_id, ...this.#placeOf(safe), body });
    }
    // The digest covers one line per event: all of them together.
    const lines = byte_text ? this.#asBytes(bodies) : `${bodies.join('\n')}\n`;
    this.#digest.takeLines(lines, bodies.length);
  }

  /** Replaces the last held texts with their bytes, one line each. Returns all of these bytes. */
  #asBytes(bodies: readonly string[]): Buffer {
    const length = bodies.reduce((sum, body) => sum + body.length + 1, 0);
    if (this.#fill + length > this.#slab.length) {
      // Most runs are short: memory outside the heap makes V8 collect garbage much more often.
      const more = Math.min(4 * Math.max(this.#slab.length, SLAB_BYTES), 2 * HELD_BYTES);
      this.#slab = Buffer.allocUnsafeSlow(Math.max(length, more));
      this.#fill = 0;
    }
    const [slab, from] = [this.#slab, this.#fill];
    const held = this.#held.slice(-bodies.length);
    for (const [n, text] of bodies.entries()) {
      const at = this.#fill;
      const end = at + text.length;
      writeByteText(slab, text, at);
      slab[end] = LF;
      (held[n] as JournalEntry).body = slab.subarray(at, end);
      this.#fill = end + 1;
    }
    const bytes = slab.subarray(from, this.#fill);
    // A step that splits or changes a character would produce a journal that cannot be verified.
    if (!isUtf8(bytes)) throw new NeedsText();
    return bytes;
  }

  /** The number of events so far, and the hash of their journal entries. */
  get digest(): { events: number; sha256: string } {
    return this.#digest.value;
  }

  /** The recorded entries were lost: nothing more is recorded. */
  fail(error: Error): void {
    this.failure ??= error;
  }

  /**
   * Takes the events of a provisional end (run-entries), and waits until they are in the journal. `count`: the entries
   * of earlier ends. Returns the count with this one.
   */
  async close(events: readonly Event[], count: number): Promise<number> {
    const before = this.#digest.events;
    this.#closing = count;
    await this.take(events);
    await this.flush();
    const end = this.#last?.kind === 'run_finished' ? this.#last.data.digest : null;
    if (end !== null) this.#digest.continueAfter(end.sha256, before);
    const now = this.#closing;
    this.#closing = null;
    return now;
  }

  /** The redactions since these counts were in an end that will be made again: they are not counted twice. */
  forgetRedactions(before: Readonly<Record<string, number>>): void {
    const known = { ...this.#redactions };
    for (const [kind, count] of Object.entries(this.#options.gate.redactor.counts()))
      known[kind] = (known[kind] ?? 0) - (count - (before[kind] ?? 0));
    this.#redactions = known;
  }

  #placeOf({ seq }: Event): { source: string; seq: number } {
    if (this.#closing === null) return { source: CAPTURE_SOURCE, seq };
    this.#closing += 1;
    return { source: CLOSING_SOURCE, seq: this.#closing };
  }

  /**
   * A provisional end that is already in the journal, after the entries taken so far. Its redactions are counted with
   * those to come.
   */
  resumeClosed(sha256: string, redactions: Readonly<Record<string, number>>): void {
    this.#digest.continueAfter(sha256, this.#digest.events);
    this.#redactions = redactions;
  }

  /** Takes the next batch of entries that are already in the journal. */
  async resume(entries: readonly JournalledEvent[]): Promise<void> {
    for (const { body } of entries) this.#digest.take(body);
    await this.#show(entries.map(({ event }) => event));
  }

  /** Ends the output if the journal cannot: closes shown calls, then shows this end. */
  async endWithout(unsafe: EventOf<'run_finished'>): Promise<void> {
    const finished = this.#options.gate.event(unsafe);
    const last = this.#last;
    const base = { v: 1, run_id: finished.run_id, at_source: 'clamped', raw: null } as const;
    const at_ms = Math.max(finished.at_ms, last?.at_ms ?? 0);
    const step = last?.step ?? 0;
    let seq = last?.seq ?? 0;
    const events: Event[] = [...this.#open].map(([call_id, tool]) => {
      const nothing = { exit_code: null, duration_ms: null, output: null };
      const data = { call_id, tool, ok: false, status: 'cancelled' as const, ...nothing };
      seq += 1;
      return { ...base, seq, at_ms, step, kind: 'call_finished', data };
    });
    await this.#show([...events, { ...finished, seq: seq + 1, at_ms, step }]);
  }

  /** The end states the digest of the journal and the number of redactions. */
  #sealed(event: Event): Event {
    if (event.kind !== 'run_finished') return event;
    const redactions = { ...this.#redactions };
    for (const [kind, count] of Object.entries(this.#options.gate.redactor.counts()))
      redactions[kind] = (redactions[kind] ?? 0) + count;
    return { ...event, data: { ...event.data, redactions, digest: this.#digest.value } };
  }

  async #show(events: readonly Event[]): Promise<void> {
    for (const event of events) {
      if (event.kind === 'call_started') this.#open.set(event.data.call_id, event.data.tool);
      else if (event.kind === 'call_finished') this.#open.delete(event.data.call_id);
    }
    this.#last = events.at(-1) ?? this.#last;
    for (const view of this.#views) {
      try {
        await view.take(events);
      } catch (error) {
        this.#views = this.#views.filter((other) => other !== view);
        this.failed.push({ view: view.name, why: whyOf(error) });
      }
    }
  }
}

/** An event of byte text, unchanged. Throws if its text was or will be measured or truncated. */
function fitBytes(event: Event, body: string): Fitted {
  const { kind, data } = event;
  const cut = kind === 'problem' && data.code === 'truncated_value';
  if (cut || body.length > STORE_LIMITS.entry_bytes_max) throw new NeedsText();
  if (CUT_LATER.has(kind) && !isAscii(body)) throw new NeedsText();
  return { event, body, cut: false };
}

/** Any thrown value as one line. */
export function whyOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.split('\n', 1)[0] as string;
}
