/** A recording → events, run-events, live messages, an outcome or a transcript in several forms, through the same code as a live run. */
import { basename } from 'node:path';
import { createPipeline, type Pipeline } from '../../capture/pipeline.ts';
import { recordedRun } from '../../capture/run-info.ts';
import { fromByteText } from '../../lib/byte-text.ts';
import { TachoError } from '../../lib/errors.ts';
import { newRunId, seededRandom } from '../../lib/ids.ts';
import { inFlatMemory } from '../../lib/memory.ts';
import type { Agent, Decoder } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import type { OutcomeCall } from '../../model/outcome.ts';
import { agentvLines } from '../../projections/agentv.ts';
import { atifText } from '../../projections/atif.ts';
import { createLiveProjector, type LiveProjector } from '../../projections/live/live.ts';
import { createOutcomeFold } from '../../projections/outcome.ts';
import { createRunEventProjection, serialiseRunEvent } from '../../projections/run-event.ts';
import { draftRedaction, lineRedaction, redactEvent, redactRecord } from '../../redact/event.ts';
import type { Redactor } from '../../redact/redact.ts';
import { tmpFolder } from '../config/paths.ts';
import { inPieces } from '../runs/disk-list.ts';
import { createCallSpill } from '../runs/outcome-writer.ts';
import { type FinishedTranscript, TranscriptWriter } from '../runs/transcript-writer.ts';
import { chunksOf, sessionEvents } from './session-source.ts';

export { agentOf } from '../config/agent-of.ts';

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
  redactor?: Redactor;
  /** Texts are redacted when they are whole: pieces of them stay as they are. */
  whole_texts?: boolean;
  /** Events hold byte text. */
  byte_text?: boolean;
  /** Every line that is no record is an event of its own. */
  every_line?: boolean;
  /** Instead of the agent's own. */
  decoder?: Decoder;
}

type RedactedOptions = ConvertOptions & { redactor: Redactor };

export function decoderFor(agent: Agent, from: ConvertFrom): Decoder {
  const session = from === 'session' ? agent.session : null;
  return session?.decoder() ?? agent.stream();
}

/** The same input has the same id. */
function pipelineFor({
  agent,
  from,
  input,
  redactor,
  whole_texts = false,
  byte_text = false,
  decoder,
  every_line = false,
}: ConvertOptions): Pipeline {
  const name = typeof input === 'string' ? basename(input) : 'stdin';
  const run_id = newRunId(0, seededRandom(`${agent.id}:${from}:${name}`));
  return createPipeline({
    agent,
    primary: from,
    now: null,
    byte_text,
    every_line,
    ...(decoder && { decoder }),
    ...(redactor && (whole_texts ? lineRedaction(redactor) : draftRedaction(redactor))),
    info: recordedRun(run_id, agent.id),
  });
}

/** Events of the recording, a batch at a time; not yet redacted. */
export async function* eventsOf(options: ConvertOptions): AsyncGenerator<Event[]> {
  const { agent, from, input, redactor = null } = options;
  if (from === 'session' && agent.session === null) {
    throw new TachoError('usage', `${agent.title} keeps no session files`, { stage: 'convert' });
  }
  const pipeline = pipelineFor(options);
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

/** Options with which whole texts are redacted, as byte text where that is the same. */
function asBytes<O extends RedactedOptions>(options: O): O & { byte_text: boolean } {
  return { ...options, whole_texts: true, byte_text: options.redactor.bytes_too };
}

/**
 * Texts of calls and messages are redacted as they are given away: an event that holds one is passed on as it is. So are
 * events of which only ids and figures are used.
 */
const REDACTED_LATE = new Set<Event['kind']>([
  'call_requested',
  'call_started',
  'call_progress',
  'call_finished',
  'message_delta',
  'message_finished',
  'thinking_delta',
  'thinking_finished',
  'step_started',
  'step_finished',
  'usage_reported',
  'run_finished',
]);

/** Before a projection takes a part of a text: what it cuts off must not hide the rest of a secret. */
const early = (event: Event, redactor: Redactor): Event =>
  REDACTED_LATE.has(event.kind) ? event : redactEvent(event, redactor);

/** Events of the recording, a batch at a time, without its secrets. */
export async function* redactedEvents(options: RedactedOptions): AsyncGenerator<Event[]> {
  const { redactor } = options;
  for await (const events of eventsOf(options))
    yield events.map((event) => redactEvent(event, redactor));
}

/** What is handed on at once: one event can make megabytes of messages. */
const PIECE_CHARS = 1024 * 1024;

/** An event as lines of a form; '' where the form has none for it. */
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
      projector ??= createLiveProjector({
        session_id: event.run_id,
        call_timeout_ms: null,
        trace: null,
        // A recording tells how its calls ended, however long they were silent.
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
  for await (const events of redactedEvents(options)) {
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
  const { redactor: secrets, byte_text } = given;
  const spill = createCallSpill(tmpFolder(), byte_text);
  try {
    const fold = createOutcomeFold({
      keepIo: true,
      onCall(call, index) {
        spill.put(redactedCall(call, secrets), index);
      },
    });
    for await (const events of eventsOf(given)) {
      for (const event of events) fold.push(early(event, secrets));
    }
    const outcome = redactRecord(realText(fold.finish(), byte_text), secrets);
    yield* spill.pieces(outcome, fold.patches);
    yield '\n';
  } finally {
    spill.close();
  }
}

/** Its status and figures are ours. */
function redactedCall(call: OutcomeCall, secrets: Redactor): OutcomeCall {
  const { id, name, native_name, parent_id, inputs, outputs } = call;
  // The fold has let go of the call: a copy would cost more than the search for secrets.
  call.id = secrets.text(id);
  call.name = secrets.name(name);
  call.native_name = secrets.name(native_name);
  if (parent_id !== null) call.parent_id = secrets.text(parent_id);
  call.inputs = secrets.foreign(inputs);
  if (outputs != null) call.outputs = secrets.text(outputs);
  return call;
}

const realText = <T>(value: T, byte_text: boolean): T => (byte_text ? fromByteText(value) : value);

async function* transcriptText(
  options: RedactedOptions,
  form: TranscriptForm,
): AsyncGenerator<string | Buffer> {
  const given = asBytes(options);
  const { redactor, byte_text } = given;
  const path = typeof options.input === 'string' ? options.input : null;
  const writer = new TranscriptWriter({ tmp: tmpFolder(), byte_text, redactor, path });
  try {
    // Calls go to the writer; the outcome needs none of them.
    const fold = createOutcomeFold({ keepIo: false, onCall: () => undefined });
    for await (const events of eventsOf(given)) {
      for (const read of events) {
        const event = early(read, redactor);
        fold.push(event);
        writer.push(event);
      }
    }
    const outcome = redactRecord(realText(fold.finish(), byte_text), redactor);
    yield* FORMS[form](writer.finish(outcome), options.test_id ?? null);
  } finally {
    writer.close();
  }
}

type Form = (made: FinishedTranscript, test_id: string | null) => Iterable<string | Buffer>;

const FORMS: Record<TranscriptForm, Form> = {
  transcript: (made) => made.pieces(),
  agentv: (made, test_id) => inPieces(agentvLines(made.view, test_id)),
  atif: (made) => inPieces(atifText(made.view)),
};

/** The converted text in pieces. */
export function convertTo(
  options: RedactedOptions,
  to: ConvertTo,
): AsyncGenerator<string | Buffer> {
  if (to === 'outcome') return outcomeOf(options);
  return to in FORMS
    ? transcriptText(options, to as TranscriptForm)
    : linesOf(options, to as LineForm);
}
