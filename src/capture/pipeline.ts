/**
 * The way in, as a table of contents: bytes → lines → records → drafts → canonical calls → events.
 * Contract: pure of clocks and files; the same bytes give the same events in any chunking. The caller journals what
 * comes out before anything else sees it.
 */

import { byteText, decodesByteText, toByteText } from '../lib/byte-text.ts';
import { mayBeJson } from '../lib/json.ts';
import { LIMITS } from '../lib/limits.ts';
import { createLines, type LinePlace, type Lines, type OversizeLine } from '../lib/lines.ts';
import { isUtf8, wellFormed } from '../lib/utf8.ts';
import type { Agent, Decoder, SessionPart } from '../model/agent.ts';
import type { Draft, DraftOf } from '../model/draft.ts';
import type { Event, Raw } from '../model/event.ts';
import type { Channel, ProblemCode } from '../model/words.ts';
import { type Correlator, createCorrelator } from './correlate.ts';
import {
  cutProblem,
  decodeEnd,
  decodeLine,
  decodeRecord,
  type LineContext,
  problem,
  replacedBytes,
} from './decode.ts';
import { type Ending, QUIET_ENDING, runFinished } from './finish.ts';
import { createNormaliser, type Normaliser } from './normalise.ts';
import type { RunInfo } from './run-info.ts';
import { applyEvent, RunState } from './run-state.ts';
import { closesLine, Series } from './series.ts';
import type { Cut } from './source/tail.ts';

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
  /** Looks at the drafts of a line of a channel before they become events and before anything in them is cut. */
  transform?: (drafts: readonly Draft[], channel: string) => Draft[];
  /** What `transform` kept to itself, asked for when the primary channel has ended. */
  held?: () => Draft[];
  line_bytes_max?: number;
  /** Every line that is no record is an event of its own, however many there are: for who counts them by kind. */
  every_line?: boolean;
  /** Works on byte text (lib/byte-text): events then hold it too, and whoever asked for it turns it back. */
  byte_text?: boolean;
}

export interface Pipeline {
  readonly state: RunState;
  push(channel: Channel, chunk: Buffer): Event[];
  /** One record that was parsed already (several session files merged by time). */
  record(value: unknown, raw: Raw, part?: SessionPart): Event[];
  /** One whole line of one of several session files. */
  line(text: string, raw: Raw, part: SessionPart, terminated: boolean): Event[];
  /** A draft that comes from tacho itself or from a session file. */
  draft(draft: Draft, raw: Raw | null): Event[];
  endOfInput(channel: Channel): Event[];
  /** Nothing more to read just now: gives text that waits for more of its kind. */
  pause(): Event[];
  /** Somebody else changed the file that a channel is read from. */
  cut(channel: Channel, cut: Cut): Event[];
  /** Where in its file the last line begins that a resumed run has of this channel; null: it has none. */
  resumesAt(channel: Channel): number | null;
  /** Whether a resumed run has met a truncation of this channel's file. */
  wasCut(channel: Channel): boolean;
  /** Takes the next event that is in the journal already; its line gives nothing again. */
  resume(event: Event): void;
  /** The journal has entries up to this number behind the last event: the next event gets a number behind them. */
  skipTo(seq: number): void;
  /** All that the journal has was given to `resume`: capture continues after it. */
  resumed(): void;
  finish(ending?: Ending, exited?: Exit | null): Event[];
}

export interface Exit {
  exit_code: number | null;
  signal: string | null;
}

export function createPipeline(options: PipelineOptions): Pipeline {
  return new CapturePipeline(options);
}

class CapturePipeline implements Pipeline {
  readonly state: RunState;
  readonly #options: PipelineOptions;
  readonly #decoder: Decoder;
  /** Whether lines are read as byte text. */
  readonly #byte_text: boolean;
  readonly #normaliser: Normaliser;
  #correlator: Correlator;
  readonly #inputs = new Map<Channel, Lines>();
  readonly #series = new Map<Channel, Series>();
  #primary_ended = false;
  #utf8_chunk: Buffer | null = null;
  #out: Event[] = [];
  #drafts: Draft[] = [];
  /** Per channel: lines before this offset have given all their events already. */
  readonly #done = new Map<Channel, number>();
  /** Per channel: the line up to which all series have been given. */
  readonly #counted = new Map<Channel, number>();
  /** What a killed recorder journalled of no line: what is held, or made, at the end of the input comes once. */
  readonly #given = new Set<string>();
  /** The last line of each channel that a killed recorder journalled events of, and the last cut of each file. */
  readonly #last = new Map<Channel, Raw>();
  readonly #cuts = new Map<Channel, Raw>();
  /** Events that a killed recorder journalled of a line it may not have finished: made again, not given again. */
  #unsure: readonly Event[] = [];
  #again = 0;
  /** While resuming: the events of the line that came last. */
  #last_line: Event[] = [];

  constructor(options: PipelineOptions) {
    const { agent, primary } = options;
    this.#options = options;
    this.#byte_text = options.byte_text === true;
    this.#decoder =
      options.decoder ??
      (primary === 'session' && agent.session
        ? agent.session.decoder()
        : agent.stream({ resumed: options.info.config?.resume != null }));
    this.#normaliser = createNormaliser(agent.id, agent.tools);
    this.state = new RunState(agent.session?.keyOf ?? null);
    this.#correlator = this.#newCorrelator();
  }

  push(channel: Channel, chunk: Buffer): Event[] {
    // A chunk that is UTF-8 as a whole saves looking at its lines; one that is cut within a character does not.
    this.#utf8_chunk = this.#byte_text && isUtf8(chunk) ? chunk : null;
    decodesByteText(this.#byte_text);
    this.#linesOf(channel).push(chunk);
    return this.#taken();
  }

  record(value: unknown, raw: Raw, part?: SessionPart): Event[] {
    const record = this.#byte_text ? toByteText(value) : value;
    decodesByteText(this.#byte_text);
    decodeRecord(record, this.#decoder, this.#drafts, part);
    this.#line(raw, 0);
    return this.#taken();
  }

  line(text: string, raw: Raw, part: SessionPart, terminated: boolean): Event[] {
    const context = { channel: raw.channel, terminated, invalid_utf8: false, part };
    const line = this.#byte_text ? toByteText(text) : text;
    decodesByteText(this.#byte_text);
    decodeLine(line, this.#decoder, context, this.#drafts);
    this.#line(raw, text.length);
    return this.#taken();
  }

  draft(draft: Draft, raw: Raw | null): Event[] {
    if (this.state.seq < this.#again) this.#keepUnsure();
    this.#correlator.draft(draft, raw, this.#out);
    return this.#taken();
  }

  endOfInput(channel: Channel): Event[] {
    this.#inputs.get(channel)?.end();
    this.#endSeries(channel);
    if (channel === this.#options.primary && !this.#primary_ended) {
      this.#primary_ended = true;
      this.#giveHeld();
      decodesByteText(this.#byte_text);
      decodeEnd(this.#decoder, this.#drafts);
      this.#correlate(this.#drafts, null, channel, false);
      this.#drafts = [];
      this.#giveHeld();
    }
    return this.#taken();
  }

  #giveHeld(): void {
    for (const draft of this.#options.held?.() ?? []) {
      // Without a line: it is a rest of several, and a recovery must not take it for a part of the last one.
      if (!this.#given.has(toldAs(draft))) this.#correlator.draft(draft, null, this.#out);
    }
  }

  cut(channel: Channel, cut: Cut): Event[] {
    const was = `the file was ${cut.kind} by another process: ${cut.position} bytes of it had been read, its size is now ${cut.size}`;
    if (cut.kind !== 'truncated') {
      const code = cut.kind === 'overwritten' ? 'spool_overwritten' : 'spool_truncated';
      return this.draft(problem('frame', code, was), null);
    }
    if (!this.#inputs.has(channel)) this.#inputs.set(channel, this.#newLines(channel, true));
    this.#endSeries(channel);
    const rest = (this.#inputs.get(channel) as Lines).restart();
    const { data } = problem('frame', 'spool_truncated', `${was}; what had not been read is lost`);
    const excerpt = rest.bytes === 0 ? null : wellFormed(rest.head.toString('utf8'));
    const sha256 = rest.bytes === 0 ? null : rest.sha256;
    const torn = rest.bytes === 0 ? null : rest.bytes;
    const raw = { channel, line: rest.line, offset: rest.offset };
    const draft: Draft = { kind: 'problem', data: { ...data, bytes: torn, sha256, excerpt } };
    const [safe = draft] = this.#options.transform?.([draft], channel) ?? [];
    return this.draft(cutProblem(safe as DraftOf<'problem'>), raw);
  }

  resumesAt(channel: Channel): number | null {
    const last = this.#last.get(channel);
    return last === undefined ? null : last.offset - this.#beginning(channel).offset;
  }

  wasCut(channel: Channel): boolean {
    return this.#cuts.has(channel);
  }

  /** The place of a file's first byte among all that was read of its channel. */
  #beginning(channel: Channel): { line: number; offset: number } {
    const cut = this.#cuts.get(channel);
    return cut === undefined ? { line: 0, offset: 0 } : { line: cut.line, offset: cut.offset + 1 };
  }

  /**
   * The last line that a killed recorder journalled was not read again so far: what it gave is all it gives. The next
   * event would have the number of one of its events.
   */
  #keepUnsure(): void {
    const raw = this.#unsure[0]?.raw;
    if (raw == null) return;
    for (const event of this.#unsure) applyEvent(this.state, event, this.#options.primary);
    this.#unsure = [];
    this.#done.set(raw.channel, raw.offset + 1);
    this.#again = 0;
    this.#correlator = this.#newCorrelator();
  }

  /** A resumed event's place in the files. */
  #note(event: Event): void {
    const { raw } = event;
    if (raw === null) {
      this.#given.add(toldAs(event));
    } else if (isCut(event)) {
      this.#cuts.set(raw.channel, raw);
      this.#last.delete(raw.channel);
    } else this.#last.set(raw.channel, raw);
    if (raw !== null && closesLine(event)) this.#counted.set(raw.channel, raw.offset);
  }

  pause(): Event[] {
    for (const [channel, series] of this.#series) if (series.hasText) this.#endSeries(channel);
    return this.#taken();
  }

  resume(event: Event): void {
    this.#note(event);
    if (!sameLine(this.#last_line.at(-1)?.raw ?? null, event.raw)) this.#applyLastLine();
    this.#last_line.push(event);
    // The end of a run over its limit is one event of its line: nothing of it can be missing.
    if (event.seq > LIMITS.run_events_max) this.#applyLastLine();
    this.#again = event.seq;
  }

  skipTo(seq: number): void {
    if (seq <= this.#again) return;
    // What is behind the last event may be of its line: that line gives nothing more.
    this.#applyLastLine();
    this.state.seq = seq;
  }

  resumed(): void {
    const last = this.#last_line.at(-1);
    const raw = last === undefined || closesLine(last) ? null : last.raw;
    // Only the last line can have been journalled in part: it is read again, and its first events are made again.
    if (raw === null) this.#applyLastLine();
    for (const [channel, offset] of this.state.read) this.#done.set(channel, offset + 1);
    if (raw !== null) this.#done.set(raw.channel, raw.offset);
    this.#unsure = this.#last_line;
    this.#last_line = [];
    this.#correlator = this.#newCorrelator();
  }

  #applyLastLine(): void {
    for (const event of this.#last_line) applyEvent(this.state, event, this.#options.primary);
    this.#last_line = [];
  }

  finish(ending: Ending = QUIET_ENDING, exited: Exit | null = null): Event[] {
    for (const channel of this.#series.keys()) this.#endSeries(channel);
    const { state } = this;
    const out = this.#out;
    this.#correlator.settle(out);
    this.#noteLimits(out);
    this.#correlator.closeCalls(out);
    if (state.ended === null && this.#options.agent.capabilities.end_record === 'live') {
      const draft = problem('correlate', 'no_end_record', 'the stream has no end record');
      if (!this.#given.has(toldAs(draft))) this.#correlator.emit('problem', draft.data, null, out);
    }
    if (exited !== null && state.exited === null) {
      const failed = exited.signal !== null || (exited.exit_code ?? 0) !== 0;
      if (failed && state.ended?.exit_reason === 'ok' && ending.cause === null) {
        const detail = `the agent says ok, but its process ended with ${exited.signal ?? `code ${exited.exit_code}`}`;
        this.#correlator.emit(
          'problem',
          problem('process', 'exit_contradicts_result', detail).data,
          null,
          out,
        );
      }
      this.#correlator.emit('process_exited', { ...exited, cause: ending.cause }, null, out);
    }
    this.#correlator.emit(
      'run_finished',
      runFinished(state, this.#options.agent, ending),
      null,
      out,
    );
    return this.#taken();
  }

  /** What the limits of a record cost this run. */
  #noteLimits(out: Event[]): void {
    const { over_limit, text, problems } = this.state;
    const note = (code: ProblemCode, detail: string) =>
      this.#correlator.emit('problem', problem('store', code, detail).data, null, out);
    if (over_limit > 0 && !problems.has('events_over_limit')) {
      const detail = `the run has over ${LIMITS.run_events_max} events: ${over_limit} later ones were not recorded`;
      note('events_over_limit', detail);
    }
    if (text.missing > 0) {
      const kept = text.chars - text.missing;
      const detail = `the final output has ${text.chars} characters: ${kept} were kept`;
      note('truncated_value', detail);
    }
  }

  #newCorrelator(): Correlator {
    const { info, primary, now, elapsed = null } = this.#options;
    return createCorrelator({
      elapsed,
      info,
      normaliser: this.#normaliser,
      state: this.state,
      primary,
      now,
    });
  }

  /** The drafts of one line of `bytes` bytes. */
  #line(raw: Raw, bytes: number): void {
    const drafts = this.#drafts;
    this.#drafts = [];
    if (drafts.length === 0) return;
    const { channel } = raw;
    const given = raw.offset < (this.#done.get(channel) ?? 0);
    if (this.#options.every_line === true) {
      this.#correlate(drafts, raw, channel, given);
      return;
    }
    let series = this.#series.get(channel);
    if (series === undefined) {
      series = new Series();
      this.#series.set(channel, series);
    }
    const counted = raw.offset <= (this.#counted.get(channel) ?? -1);
    this.#correlate(series.take(drafts, raw, bytes, counted), raw, channel, given);
    if (series.full) this.#endSeries(channel);
  }

  #endSeries(channel: Channel): void {
    for (const { draft, raw } of this.#series.get(channel)?.end() ?? [])
      this.#correlate([draft], raw, channel, false);
  }

  /** `given`: a killed recorder has journalled the events of these drafts. */
  #correlate(drafts: readonly Draft[], raw: Raw | null, channel: string, given: boolean): void {
    const { transform } = this.#options;
    const source = raw?.file === undefined ? channel : `${channel} ${raw.file}`;
    const safe = transform === undefined ? drafts : transform(drafts, source);
    if (given) return;
    for (const draft of safe) {
      const kept = draft.kind === 'problem' ? cutProblem(draft) : draft;
      if (raw === null && this.#given.has(toldAs(kept))) continue;
      this.#correlator.draft(kept, raw, this.#out);
    }
  }

  #taken(): Event[] {
    const events =
      this.#again === 0 ? this.#out : this.#out.filter((event) => event.seq > this.#again);
    this.#out = [];
    return events;
  }

  #decodeBytes(bytes: Buffer, start: number, end: number, context: LineContext): void {
    if (this.#byte_text && this.#decodeByteText(bytes, start, end, context)) return;
    const text = bytes.toString('utf8', start, end);
    context.invalid_utf8 = text.includes('\ufffd') && !isUtf8(bytes.subarray(start, end));
    const line = this.#byte_text ? toByteText(text) : text;
    decodeLine(line, this.#decoder, context, this.#drafts);
  }

  /** False for the few lines that cannot be read as bytes: an escape stands for a character, not for its bytes. */
  #decodeByteText(bytes: Buffer, start: number, end: number, context: LineContext): boolean {
    const text = byteText(bytes, start, end);
    const valid = bytes === this.#utf8_chunk || isUtf8(bytes.subarray(start, end));
    if (valid && !text.includes('\\u')) {
      decodeLine(text, this.#decoder, context, this.#drafts);
      return true;
    }
    const value = parsedRecord(bytes.toString('utf8', start, end));
    if (value === null) return false;
    if (!valid) this.#drafts.push(replacedBytes(text));
    decodeRecord(toByteText(value), this.#decoder, this.#drafts);
    return true;
  }

  #linesOf(channel: Channel): Lines {
    const known = this.#inputs.get(channel);
    if (known !== undefined) return known;
    const lines = this.#newLines(channel, false);
    this.#inputs.set(channel, lines);
    return lines;
  }

  /** `lost`: the file is another than the one that was read before, and begins behind all that was read of that. */
  #newLines(channel: Channel, lost: boolean): Lines {
    const last = this.#last.get(channel);
    const from =
      lost && last !== undefined
        ? { line: last.line, offset: last.offset + 1 }
        : this.#beginning(channel);
    const context = { channel, terminated: true, invalid_utf8: false };
    const sink = {
      line: (bytes: Buffer, start: number, end: number, place: LinePlace) => {
        context.terminated = place.terminated;
        this.#decodeBytes(bytes, start, end, context);
        if (this.#drafts.length > 0)
          this.#line({ channel, line: place.line, offset: place.offset }, end - start);
      },
      oversize: (line: OversizeLine) => {
        const { data } = problem(
          'frame',
          'oversize_line',
          `a line of ${line.bytes} bytes is over the limit`,
        );
        const excerpt = wellFormed(line.head.toString('utf8'));
        const { bytes, sha256 } = line;
        this.#drafts.push({ kind: 'problem', data: { ...data, bytes, sha256, excerpt } });
        this.#line({ channel, line: line.line, offset: line.offset }, bytes);
      },
    };
    return createLines(sink, this.#options.line_bytes_max, from);
  }
}

const isCut = (event: Event) => event.kind === 'problem' && event.data.code === 'spool_truncated';

/** What a draft and its event have in common. */
const TOLD_BY = [
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

function toldAs({ kind, data }: { kind: string; data: object }): string {
  const fields = data as Record<string, unknown>;
  return JSON.stringify([kind, ...TOLD_BY.map((name) => fields[name])]);
}

function sameLine(a: Raw | null, b: Raw | null): boolean {
  return a !== null && b !== null && a.offset === b.offset && a.channel === b.channel;
}

/** Null for what is no record; it is then read, and complained of, as any other line. */
function parsedRecord(text: string): object | null {
  if (text.length >= LIMITS.depth_scan_from_bytes || !mayBeJson(text)) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
