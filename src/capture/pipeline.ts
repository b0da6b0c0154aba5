/**
 * The capture path as an overview: bytes → lines → records → drafts → canonical calls → events.
 * Contract: uses no clock and no files. The same bytes result in the same events in any chunking. The caller journals the
 * events before anything else sees them.
 */

import { decodesByteText, toByteText, trimBytes } from '../lib/byte-text.ts';
import type { Agent, Decoder, SessionPart } from '../model/agent.ts';
import type { Draft, DraftOf } from '../model/draft.ts';
import type { Event, Raw } from '../model/event.ts';
import type { Channel } from '../model/words.ts';
import { Correlator } from './correlate.ts';
import { cutProblem, problem } from './decode.ts';
import {
  type Ending,
  type Exit,
  endProblems,
  limitProblems,
  QUIET_ENDING,
  runFinished,
} from './finish.ts';
import { createNormaliser, type Normaliser } from './normalise.ts';
import { type Beginning, Reader } from './reader.ts';
import { Resumption } from './resumption.ts';
import type { RunInfo } from './run-info.ts';
import { RunState } from './run-state.ts';
import { Series } from './series.ts';
import type { Cut } from './source/tail.ts';

interface DraftGate {
  /** The drafts of a line of a channel, before they become events and before anything in them is truncated. */
  drafts(drafts: readonly Draft[], channel: string): Draft[];
  /** The held-back parts of unfinished texts, requested when the primary channel has ended. */
  held(): Draft[];
  /** Whether there are any. */
  holds?(): boolean;
  /** A draft as its event is stored. */
  event?<D extends Draft>(draft: D): D;
}

export interface PipelineOptions {
  agent: Agent;
  info: RunInfo;
  /** The channel of the run's own stream: stdout of a live or recorded run, or a session file. */
  primary: Channel;
  /** Wall time of a live run; null for recordings. */
  now: (() => number) | null;
  /** Monotonic time of a live run. */
  elapsed?: (() => number) | null;
  /** Decodes the primary channel instead of the agent's own decoder for it. */
  decoder?: Decoder;
  /** Removes secrets from texts that arrive in pieces or lines. Absent if nothing is stored or shown. */
  gate?: DraftGate | undefined;
  line_bytes_max?: number;
  /** Makes each line that is not a record its own event, without a limit, for callers that count them by kind. */
  every_line?: boolean;
  /** Works on byte text (lib/byte-text). Events then contain it too, and the caller converts it back. */
  byte_text?: boolean;
  /** With byte text: throws `NeedsText` if its events would differ from those of the text. */
  exact?: boolean;
}

/** The agent's own decoder of the primary channel. */
function decoderOf({ agent, primary, info }: PipelineOptions): Decoder {
  if (primary === 'session' && agent.session) return agent.session.decoder();
  const decoder = agent.stream?.({ resumed: info.config?.resume != null });
  if (decoder === undefined) throw new Error(`${agent.id} has no decoder of ${primary}`);
  return decoder;
}

/** Receives the contents of a session's files. */
export interface Intake {
  push(channel: Channel, chunk: Buffer): Event[];
  /** One parsed record (of several session files merged by time). */
  record(value: unknown, raw: Raw, part?: SessionPart): Event[];
  /** One complete line of one of several session files. */
  line(text: string, raw: Raw, part: SessionPart | undefined, terminated: boolean): Event[];
  /** A draft from tacho itself or from a session file. */
  draft(draft: Draft, raw: Raw | null): Event[];
  endOfInput(channel: Channel): Event[];
}

export class Pipeline implements Intake {
  state: RunState;
  /** Receives the run's events from the journal; `resumed` is called after the last one. */
  readonly resumption: Resumption;
  readonly #options: PipelineOptions;
  /** May produce byte text. If a decoder needs real text, its events are converted to byte text instead. */
  readonly #reader: Reader;
  readonly #normaliser: Normaliser;
  #correlator: Correlator;
  readonly #series = new Map<Channel, Series>();
  #primary_ended = false;
  #out: Event[] = [];

  constructor(options: PipelineOptions) {
    const { agent, primary, line_bytes_max } = options;
    this.#options = options;
    const decoder = options.decoder ?? decoderOf(options);
    this.#normaliser = createNormaliser(agent.id, agent.tools);
    const byte_text = options.byte_text === true;
    this.state = new RunState(agent.session?.keyOf ?? null, byte_text ? trimBytes : undefined);
    this.resumption = new Resumption(this.state, primary);
    this.#reader = new Reader({
      decoder,
      line_bytes_max,
      byte_text,
      exact: options.exact === true,
      beginningOf: (channel) => this.resumption.beginningOf(channel),
      take: (drafts, raw, bytes) => this.#line(drafts, raw, bytes),
    });
    this.#correlator = this.#newCorrelator();
  }

  push(channel: Channel, chunk: Buffer): Event[] {
    this.#reader.push(channel, chunk);
    return this.#taken();
  }

  record(value: unknown, raw: Raw, part?: SessionPart): Event[] {
    this.#reader.record(value, raw, part);
    return this.#taken();
  }

  line(text: string, raw: Raw, part: SessionPart | undefined, terminated: boolean): Event[] {
    this.#reader.line(text, raw, part, terminated);
    return this.#taken();
  }

  draft(draft: Draft, raw: Raw | null): Event[] {
    this.#keepUnsure();
    const byte_text = this.#options.byte_text === true;
    decodesByteText(byte_text);
    this.#correlator.draft(byte_text ? toByteText(draft) : draft, raw, this.#out);
    return this.#taken();
  }

  #keepUnsure(): void {
    if (this.resumption.keepUnsure()) this.#correlator = this.#newCorrelator();
  }

  /** The place after the last complete line of a channel that was pushed. */
  positionOf(channel: Channel): Beginning {
    return this.#reader.positionOf(channel);
  }

  endOfInput(channel: Channel): Event[] {
    this.#reader.end(channel);
    this.#endSeries(channel);
    if (channel === this.#options.primary && !this.#primary_ended) {
      this.#primary_ended = true;
      this.#giveHeld();
      this.#correlate(this.#reader.endRecords(), null, channel, false);
      this.#giveHeld();
    }
    return this.#taken();
  }

  #giveHeld(): void {
    for (const draft of this.#options.gate?.held() ?? []) {
      // Without a line: the text spans several lines, and recovery must not mistake it for a part of the last line.
      if (!this.resumption.wasGiven(draft)) this.#correlator.draft(draft, null, this.#out);
    }
  }

  /** Handles a change that another process made to a channel's file. */
  cut(channel: Channel, cut: Cut): Event[] {
    const was = `the file was ${cut.kind} by another process: ${cut.position} bytes of it had been read, its size is now ${cut.size}`;
    if (cut.kind !== 'truncated') {
      const code = cut.kind === 'overwritten' ? 'spool_overwritten' : 'spool_truncated';
      return this.draft(problem('frame', code, was), null);
    }
    this.#endSeries(channel);
    const detail = `${was}; unread bytes are lost`;
    const lost = this.resumption.behindLost(channel);
    const [draft, raw] = this.#reader.restart(channel, detail, lost);
    const [safe = draft] = this.#options.gate?.drafts([draft], channel) ?? [];
    return this.draft(cutProblem(safe as DraftOf<'problem'>), raw);
  }

  /** No more input for now: returns text that waits for more of its kind. */
  pause(): Event[] {
    for (const [channel, series] of this.#series) if (series.hasText) this.#endSeries(channel);
    return this.#taken();
  }

  /** Called when `resumption` has received all events of the journal: capture continues after them. */
  resumed(): void {
    this.resumption.resumed();
    this.#correlator = this.#newCorrelator();
  }

  finish(ending: Ending = QUIET_ENDING, exited: Exit | null = null): Event[] {
    decodesByteText(this.#options.byte_text === true);
    for (const channel of this.#series.keys()) this.#endSeries(channel);
    const { state } = this;
    const { agent } = this.#options;
    const out = this.#out;
    const say = (problems: readonly DraftOf<'problem'>[]) => {
      for (const draft of problems)
        if (!this.resumption.wasGiven(draft))
          this.#correlator.emit('problem', draft.data, null, out);
    };
    this.#correlator.settle(out);
    say(limitProblems(state));
    this.#correlator.closeCalls(out);
    const exit = state.exited === null ? exited : null;
    say(endProblems(state, agent, ending, exit));
    if (exit !== null)
      this.#correlator.emit('process_exited', { ...exit, cause: ending.cause }, null, out);
    this.#correlator.emit('run_finished', runFinished(state, agent, ending), null, out);
    return this.#taken();
  }

  /**
   * The events that the run would end with now. More input may follow: nothing changes. Null if the end would take something with it that later lines need.
   */
  endSoFar(): Event[] | null {
    const pending = [...this.#series.values()].some(({ open }) => open);
    if (this.#correlator.waits || pending || this.resumption.isBehind) return null;
    if (this.#options.gate?.holds?.() === true || this.#reader.holds) return null;
    const [state, correlator] = [this.state, this.#correlator];
    this.state = state.fork();
    this.#correlator = this.#newCorrelator();
    try {
      return [...this.endOfInput(this.#options.primary), ...this.finish()];
    } finally {
      this.#primary_ended = false;
      this.state = state;
      this.#correlator = correlator;
    }
  }

  #newCorrelator(): Correlator {
    const { info, primary, now, elapsed = null } = this.#options;
    const normaliser = this.#normaliser;
    return new Correlator({ elapsed, info, normaliser, state: this.state, primary, now });
  }

  /** The drafts of one line of `bytes` bytes. */
  #line(drafts: Draft[], raw: Raw, bytes: number): void {
    const { channel } = raw;
    const given = this.resumption.isDone(raw);
    if (this.#options.every_line === true) {
      this.#correlate(drafts, raw, channel, given);
      return;
    }
    let series = this.#series.get(channel);
    if (series === undefined) {
      series = new Series();
      this.#series.set(channel, series);
    }
    const counted = this.resumption.isCounted(raw);
    this.#correlate(series.take(drafts, raw, bytes, counted), raw, channel, given);
    if (series.full) this.#endSeries(channel);
  }

  #endSeries(channel: Channel): void {
    for (const { draft, raw } of this.#series.get(channel)?.end() ?? [])
      this.#correlate([draft], raw, channel, false);
  }

  /** `given`: a killed recorder has already journalled the events of these drafts. */
  #correlate(drafts: readonly Draft[], raw: Raw | null, channel: string, given: boolean): void {
    const { gate } = this.#options;
    const source = raw?.file === undefined ? channel : `${channel} ${raw.file}`;
    const safe = gate === undefined ? drafts : gate.drafts(drafts, source);
    if (given) return;
    // A line of another file of the session.
    if (raw !== null && this.resumption.isAnother(raw)) this.#keepUnsure();
    for (const draft of safe) {
      const kept = draft.kind === 'problem' ? cutProblem(draft) : draft;
      if (raw === null && this.resumption.wasGiven(kept)) continue;
      if (raw !== null && this.#isKnown(kept, raw)) continue;
      this.#correlator.draft(kept, raw, this.#out);
    }
  }

  #isKnown(draft: Draft, raw: Raw): boolean {
    const { resumption } = this;
    if (!resumption.rereads) return false;
    return resumption.takeKnown(this.#options.gate?.event?.(draft) ?? draft, raw);
  }

  #taken(): Event[] {
    decodesByteText(false);
    const events = this.resumption.fresh(this.#out);
    this.#out = [];
    return events;
  }
}
