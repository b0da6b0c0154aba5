/**
 * Between capture and everything else: events pass the gate, are journalled, and only then shown (ST-2, ST-7).
 * Contract: what is shown is durable. When the journal fails nothing more is shown but the end of what was begun. Views of
 * byte text are the exception: they get events at once, and nobody else may see what they make before `flush` has returned.
 */
import { createHash } from 'node:crypto';
import { isAscii, NeedsText, writeByteText } from '../../lib/byte-text.ts';
import { isUtf8 } from '../../lib/utf8.ts';
import type { Event, EventOf } from '../../model/event.ts';
import type { Gate } from '../../redact/gate.ts';
import type { Journal, JournalEntry } from '../../store/journal/journal.ts';
import { STORE_LIMITS } from '../../store/limits.ts';
import { type Fitted, fitEvent } from './cut-event.ts';

/** Takes events that are in the journal; the recorder waits for it, so a slow reader slows the reading, never loses. */
export type EventSink = (events: readonly Event[]) => void | Promise<void>;

/** One that takes the events of a run. Contract: one that fails is dropped and reported; the run is recorded all the same. */
export interface View {
  /** For people: "the transcript". */
  name: string;
  take: EventSink;
}

export interface FailedView {
  view: string;
  why: string;
}

/** The journal source of a run's own capture. */
export const CAPTURE_SOURCE = 'capture';

interface RecorderOptions {
  run_id: string;
  journal: Journal;
  gate: Gate;
  views: readonly View[];
  /**
   * Events hold byte text (lib/byte-text), and views get it. `take` throws `NeedsText` where that would show. Events are
   * journalled some at a time, as bytes: as objects they would outlive the garbage of thousands of others.
   */
  byte_text?: boolean;
}

const LF = 10;
/** Bytes of entries that are journalled together. */
const HELD_BYTES = 1024 * 1024;

/** Kinds with texts that an outcome cuts to one line each. */
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
  /** What keeps the journal from taking more; null while it works. */
  failure: Error | null = null;
  /** Events that were too large for the journal and lost a part of their texts. */
  cut = 0;
  /** Views that failed and get no more events. */
  readonly failed: FailedView[] = [];
  readonly #options: RecorderOptions;
  #views: readonly View[];
  readonly #digest = createHash('sha256');
  #count = 0;
  #last: Event | null = null;
  /** Started calls without an end, by their own events alone: the gate must not fail where a view may. */
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
    // The end holds the digest of all that is before it.
    this.#hold(end < 0 ? events : events.slice(0, end), kept);
    if (end >= 0) this.#hold(events.slice(end), kept);
    if (this.#options.byte_text !== true || this.#fill >= HELD_BYTES) await this.flush();
    if (this.failure === null) await this.#show(kept);
  }

  /** Waits until everything that was taken is in the journal. */
  async flush(): Promise<void> {
    const entries = this.#held;
    if (entries.length === 0) return;
    this.#held = [];
    try {
      const results = await this.#options.journal.append(entries);
      const refused = results.find((result) => result === 'gap' || result === 'conflict');
      if (refused !== undefined)
        throw new Error(`the journal has another record of this run (${refused})`);
    } catch (error) {
      this.failure = error as Error;
    }
    this.#fill = 0;
  }

  /** Holds entries of the events, and adds what is kept of these to `kept`. */
  #hold(events: readonly Event[], kept: Event[]): void {
    if (events.length === 0) return;
    const { run_id, gate, byte_text = false } = this.#options;
    const fitted = byte_text ? fitBytes : fitEvent;
    const bodies: string[] = [];
    for (const event of events) {
      const whole = this.#sealed(gate.event(event));
      const { event: safe, body, cut } = fitted(whole, JSON.stringify(whole));
      if (cut) this.cut += 1;
      this.#count += 1;
      kept.push(safe);
      bodies.push(body);
      this.#held.push({ session: run_id, source: CAPTURE_SOURCE, seq: safe.seq, body });
    }
    // The digest is over a line for each: all of them at once.
    if (byte_text) this.#digest.update(this.#asBytes(bodies));
    else this.#digest.update(`${bodies.join('\n')}\n`);
  }

  /** Puts the bodies' bytes, a line each, in the place of the texts that were held last. Returns all of them. */
  #asBytes(bodies: readonly string[]): Buffer {
    const length = bodies.reduce((sum, body) => sum + body.length + 1, 0);
    if (this.#fill + length > this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(Math.max(length, 2 * HELD_BYTES));
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
    // A step that cut or changed a part of a character would make a journal that nobody can verify.
    if (!isUtf8(bytes)) throw new NeedsText();
    return bytes;
  }

  /** What was recorded is not there any more: nothing more is recorded. */
  fail(error: Error): void {
    this.failure ??= error;
  }

  /** Takes the next entries that are in the journal already, a batch at a time. */
  async resume(entries: readonly JournalledEvent[]): Promise<void> {
    for (const { body } of entries) this.#digest.update(body).update('\n');
    this.#count += entries.length;
    await this.#show(entries.map(({ event }) => event));
  }

  /** Ends what was shown when the journal cannot: closes shown calls, then shows this end. */
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

  /** The end says what the journal holds and what was taken out of it. */
  #sealed(event: Event): Event {
    if (event.kind !== 'run_finished') return event;
    const sha256 = this.#digest.copy().digest('hex');
    const redactions = this.#options.gate.redactor.counts();
    return {
      ...event,
      data: { ...event.data, redactions, digest: { events: this.#count, sha256 } },
    };
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

/** An event of byte text as it is. Throws where its text was or will be measured or cut. */
function fitBytes(event: Event, body: string): Fitted {
  const { kind, data } = event;
  const cut = kind === 'problem' && data.code === 'truncated_value';
  if (cut || body.length > STORE_LIMITS.entry_bytes_max) throw new NeedsText();
  if (CUT_LATER.has(kind) && !isAscii(body)) throw new NeedsText();
  return { event, body, cut: false };
}

/** Whatever was thrown, in one line. */
export function whyOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.split('\n', 1)[0] as string;
}
