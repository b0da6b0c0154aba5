/**
 * The way in, as a table of contents: bytes → lines → records → drafts → canonical calls → events.
 * Contract: pure of clocks and files; the same bytes give the same events in any chunking. The caller journals what
 * comes out before anything else sees it.
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
import { Reader } from './reader.ts';
import { Resumption } from './resumption.ts';
import type { RunInfo } from './run-info.ts';
import { RunState } from './run-state.ts';
import { Series } from './series.ts';
import type { Cut } from './source/tail.ts';

interface DraftGate {
  /** The drafts of a line of a channel, before they become events and before anything in them is cut. */
  drafts(drafts: readonly Draft[], channel: string): Draft[];
  /** What was held back of texts that have not ended, asked for when the primary channel has. */
  held(): Draft[];
}

export interface PipelineOptions {
  agent: Agent;
  info: RunInfo;
  /** Where the run's own stream comes from: stdout of a live or recorded run, or a session file. */
  primary: Channel;
  /** Wall time of a live run; null for recordings. */
  now: (() => number) | null;
  /** Time of a live run that cannot be set. */
  elapsed?: (() => number) | null;
  /** Decodes the primary channel instead of the agent's own decoder for it. */
  decoder?: Decoder;
  /** Takes secrets out of texts that come in pieces or lines; absent where nothing is stored or shown. */
  gate?: DraftGate | undefined;
  line_bytes_max?: number;
  /** Every line that is no record is an event of its own, however many there are: for who counts them by kind. */
  every_line?: boolean;
  /** Works on byte text (lib/byte-text): events then hold it too, and whoever asked for it turns it back. */
  byte_text?: boolean;
  /** With byte text: throws `NeedsText` where its events would not be those of the text. */
  exact?: boolean;
}

/** What the files of a session are read into. */
export interface Intake {
  push(channel: Channel, chunk: Buffer): Event[];
  /** One record that was parsed already (several session files merged by time). */
  record(value: unknown, raw: Raw, part?: SessionPart): Event[];
  /** One whole line of one of several session files. */
  line(text: string, raw: Raw, part: SessionPart, terminated: boolean): Event[];
  /** A draft that comes from tacho itself or from a session file. */
  draft(draft: Draft, raw: Raw | null): Event[];
  endOfInput(channel: Channel): Event[];
}

export class Pipeline implements Intake {
  readonly state: RunState;
  /** Is given what the journal has of the run; after that, `resumed` is called. */
  readonly resumption: Resumption;
  readonly #options: PipelineOptions;
  /** Whether the reader gives byte text; a decoder that needs real text has its events turned into byte text instead. */
  readonly #reader: Reader;
  readonly #normaliser: Normaliser;
  #correlator: Correlator;
  readonly #series = new Map<Channel, Series>();
  #primary_ended = false;
  #out: Event[] = [];

  constructor(options: PipelineOptions) {
    const { agent, primary, line_bytes_max } = options;
    this.#options = options;
    const decoder =
      options.decoder ??
      (primary === 'session' && agent.session
        ? agent.session.decoder()
        : agent.stream({ resumed: options.info.config?.resume != null }));
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

  line(text: string, raw: Raw, part: SessionPart, terminated: boolean): Event[] {
    this.#reader.line(text, raw, part, terminated);
    return this.#taken();
  }

  draft(draft: Draft, raw: Raw | null): Event[] {
    if (this.resumption.keepUnsure()) this.#correlator = this.#newCorrelator();
    const byte_text = this.#options.byte_text === true;
    decodesByteText(byte_text);
    this.#correlator.draft(byte_text ? toByteText(draft) : draft, raw, this.#out);
    return this.#taken();
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
      // Without a line: it is a rest of several, and a recovery must not take it for a part of the last one.
      if (!this.resumption.wasGiven(draft)) this.#correlator.draft(draft, null, this.#out);
    }
  }

  /** Somebody else changed the file that a channel is read from. */
  cut(channel: Channel, cut: Cut): Event[] {
    const was = `the file was ${cut.kind} by another process: ${cut.position} bytes of it had been read, its size is now ${cut.size}`;
    if (cut.kind !== 'truncated') {
      const code = cut.kind === 'overwritten' ? 'spool_overwritten' : 'spool_truncated';
      return this.draft(problem('frame', code, was), null);
    }
    this.#endSeries(channel);
    const detail = `${was}; what had not been read is lost`;
    const lost = this.resumption.behindLost(channel);
    const [draft, raw] = this.#reader.restart(channel, detail, lost);
    const [safe = draft] = this.#options.gate?.drafts([draft], channel) ?? [];
    return this.draft(cutProblem(safe as DraftOf<'problem'>), raw);
  }

  /** Nothing more to read just now: gives text that waits for more of its kind. */
  pause(): Event[] {
    for (const [channel, series] of this.#series) if (series.hasText) this.#endSeries(channel);
    return this.#taken();
  }

  /** All that the journal has was given to `resumption`: capture continues after it. */
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

  /** `given`: a killed recorder has journalled the events of these drafts. */
  #correlate(drafts: readonly Draft[], raw: Raw | null, channel: string, given: boolean): void {
    const { gate } = this.#options;
    const source = raw?.file === undefined ? channel : `${channel} ${raw.file}`;
    const safe = gate === undefined ? drafts : gate.drafts(drafts, source);
    if (given) return;
    for (const draft of safe) {
      const kept = draft.kind === 'problem' ? cutProblem(draft) : draft;
      if (raw === null && this.resumption.wasGiven(kept)) continue;
      this.#correlator.draft(kept, raw, this.#out);
    }
  }

  #taken(): Event[] {
    decodesByteText(false);
    const events = this.resumption.fresh(this.#out);
    this.#out = [];
    return events;
  }
}
