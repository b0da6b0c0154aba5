/**
 * A recording → events, run-events, live messages, an outcome or a transcript in several forms, with the code of a
 * live run.
 */
import { basename } from 'node:path';
import { Pipeline } from '../../capture/pipeline.ts';
import { recordedRun } from '../../capture/run-info.ts';
import { fromByteText } from '../../lib/byte-text.ts';
import { TachoError } from '../../lib/errors.ts';
import { newRunId, seededRandom } from '../../lib/ids.ts';
import { inFlatMemory } from '../../lib/memory.ts';
import type { Agent, Decoder } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import { agentvLines } from '../../projections/agentv.ts';
import { atifText } from '../../projections/atif.ts';
import { LiveProjector } from '../../projections/live/live.ts';
import { createOutcomeFold } from '../../projections/outcome.ts';
import { createRunEventProjection, serialiseRunEvent } from '../../projections/run-event.ts';
import {
  type AnyRedactor,
  createGate,
  type Gate,
  type Redactor,
  redactCall,
  redactRecord,
} from '../../redact/gate.ts';
import { tmpFolder } from '../config/paths.ts';
import { inPieces } from '../runs/disk-list.ts';
import { createCallSpill } from '../runs/outcome-writer.ts';
import { type FinishedTranscript, TranscriptWriter } from '../runs/transcript-writer.ts';
import { chunksOf } from './session-chunks.ts';
import { sessionEvents } from './session-source.ts';

export type ConvertFrom = 'stdout' | 'session';
export type ConvertTo = LineForm | 'outcome' | TranscriptForm;
type LineForm = 'events' | 'run-event' | 'live';
type TranscriptForm = 'transcript' | 'agentv' | 'atif';

export interface ConvertOptions {
  agent: Agent;
  from: ConvertFrom;
  /** A file, or the bytes themselves. */
  input: string | AsyncIterable<Uint8Array>;
  /** Whether text deltas become `model_delta` records. */
  stream?: boolean;
  /** With `agentv`: the eval's test that the rows are for. */
  test_id?: string | null;
  redactor?: AnyRedactor;
  /** Texts are redacted only when they are complete: pieces of them stay unchanged. */
  whole_texts?: boolean;
  /** Events contain byte text. */
  byte_text?: boolean;
  /** Every line that is not a record becomes its own event. */
  every_line?: boolean;
  /** Used instead of the agent's own decoder. */
  decoder?: Decoder;
  /** Called with every event. */
  watch?: (event: Event) => void;
}

type RedactedOptions = ConvertOptions & { redactor: AnyRedactor };

/** `path`: the file, if the input is one. */
export function decoderFor(agent: Agent, from: ConvertFrom, path?: string): Decoder {
  const decoder =
    from === 'session'
      ? agent.session?.decoder(path === undefined ? {} : { path })
      : agent.stream?.();
  if (decoder !== undefined) return decoder;
  const channel = from === 'session' ? 'session files' : 'known output: use --from session';
  throw new TachoError('usage', `${agent.title} has no ${channel}`, { stage: 'convert' });
}

/** The same input gets the same id. */
function pipelineFor(
  { agent, from, input, byte_text = false, decoder, every_line = false }: ConvertOptions,
  gate: Gate | undefined,
): Pipeline {
  const name = typeof input === 'string' ? basename(input) : 'stdin';
  const run_id = newRunId(0, seededRandom(`${agent.id}:${from}:${name}`));
  return new Pipeline({
    agent,
    primary: from,
    now: null,
    byte_text,
    every_line,
    decoder: decoder ?? decoderFor(agent, from, typeof input === 'string' ? input : undefined),
    gate,
    info: recordedRun(run_id, agent.id),
  });
}

/** A redactor for the contents of events. */
function ofEvents(redactor: AnyRedactor, { byte_text }: { byte_text?: boolean }): Redactor {
  return byte_text ? redactor.forByteText() : redactor;
}

/** Events of the recording in batches; with a redactor, without its secrets. */
export async function* eventsOf(options: ConvertOptions): AsyncGenerator<Event[]> {
  const { redactor, whole_texts = false, watch } = options;
  const gate = redactor && createGate(ofEvents(redactor, options), { whole_texts });
  for await (const events of readEvents(options, gate)) {
    if (watch) for (const event of events) watch(event);
    yield gate === undefined ? events : events.map((event) => gate.event(event));
  }
}

async function* readEvents(options: ConvertOptions, gate: Gate | undefined) {
  const { agent, from, input, redactor = null } = options;
  const pipeline = pipelineFor(options, gate);
  if (from === 'session' && typeof input === 'string') {
    yield* sessionEvents(agent, input, pipeline, redactor);
  } else {
    const chunks = typeof input === 'string' ? inFlatMemory(chunksOf(input)) : input;
    for await (const chunk of chunks)
      yield pipeline.push(from, Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    yield pipeline.endOfInput(from);
  }
  yield pipeline.finish();
}

/** Options for redacting complete texts, as byte text if the result is the same. */
function asBytes<O extends RedactedOptions>(options: O): O & { byte_text: boolean } {
  return { ...options, whole_texts: true, byte_text: options.redactor.bytes_too };
}

/** Characters passed on together: one event can make megabytes of messages. */
const PIECE_CHARS = 1024 * 1024;

/** An event as lines of a format; '' if the format has none for it. */
type ToLines = (event: Event) => string;

const LINE_FORMS: Record<LineForm, (options: ConvertOptions) => ToLines> = {
  events: () => (event) => `${JSON.stringify(event)}\n`,
  'run-event': ({ stream = false }) => {
    const projection = createRunEventProjection({ stream });
    return (event) => {
      const record = projection.project(event);
      return record === null ? '' : serialiseRunEvent(record);
    };
  },
  live: () => {
    let projector: LiveProjector | null = null;
    return (event) => {
      projector ??= new LiveProjector({
        session_id: event.run_id,
        call_timeout_ms: null,
        trace: null,
        // A recording shows how its calls ended, however long they were silent.
        abandoned_ms: null,
      });
      return projector
        .push(event)
        .map((message) => `${JSON.stringify(message)}\n`)
        .join('');
    };
  },
};

async function* linesOf(options: RedactedOptions, to: LineForm): AsyncGenerator<string> {
  const toLines = LINE_FORMS[to](options);
  for await (const events of eventsOf(options)) {
    let text = '';
    for (const event of events) {
      text += toLines(event);
      if (text.length < PIECE_CHARS) continue;
      yield text;
      text = '';
    }
    if (text !== '') yield text;
  }
}

async function* outcomeOf(options: RedactedOptions): AsyncGenerator<string | Buffer> {
  const given = asBytes(options);
  const { redactor, byte_text } = given;
  const of_calls = ofEvents(redactor, given);
  using spill = createCallSpill(tmpFolder(), byte_text);
  const fold = createOutcomeFold({
    keepIo: true,
    byte_text,
    onCall(call, index) {
      spill.put(redactCall(call, of_calls), index);
    },
  });
  for await (const events of eventsOf(given)) {
    for (const event of events) fold.push(event);
  }
  const outcome = redactRecord(realText(fold.finish(), byte_text), redactor);
  yield* spill.pieces(outcome, fold.patches);
  yield '\n';
}

const realText = <T>(value: T, byte_text: boolean): T => (byte_text ? fromByteText(value) : value);

async function* transcriptText(options: RedactedOptions, form: TranscriptForm) {
  const given = asBytes(options);
  const { redactor, byte_text } = given;
  const path = typeof options.input === 'string' ? options.input : null;
  using writer = new TranscriptWriter({ tmp: tmpFolder(), byte_text, redactor, path });
  // Calls are passed to the writer; the outcome needs none of them.
  const fold = createOutcomeFold({ keepIo: false, byte_text, onCall: () => undefined });
  for await (const events of eventsOf(given)) {
    for (const event of events) {
      fold.push(event);
      writer.push(event);
    }
  }
  const outcome = redactRecord(realText(fold.finish(), byte_text), redactor);
  yield* FORMS[form](writer.finish(outcome), options.test_id ?? null);
}

type Form = (made: FinishedTranscript, test_id: string | null) => Iterable<string | Buffer>;

const FORMS: Record<TranscriptForm, Form> = {
  transcript: (made) => made.pieces(),
  agentv: (made, test_id) => inPieces(agentvLines(made.view, test_id)),
  atif: (made) => inPieces(atifText(made.view)),
};

/** The converted text in chunks. */
export function convertTo(
  options: RedactedOptions,
  to: ConvertTo,
): AsyncGenerator<string | Buffer> {
  if (to === 'outcome') return outcomeOf(options);
  return to in FORMS
    ? transcriptText(options, to as TranscriptForm)
    : linesOf(options, to as LineForm);
}
