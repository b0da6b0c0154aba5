/** A recording → events, run-events, live messages, an outcome or a transcript in several forms, through the same code as a live run. */
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { createPipeline, type Pipeline } from '../capture/pipeline.ts';
import { fromByteText } from '../lib/byte-text.ts';
import { TachoError } from '../lib/errors.ts';
import { newRunId, seededRandom } from '../lib/ids.ts';
import { inFlatMemory } from '../lib/memory.ts';
import type { Agent, Decoder } from '../model/agent.ts';
import type { Event } from '../model/event.ts';
import { agentvLines } from '../projections/agentv.ts';
import { atifText } from '../projections/atif.ts';
import { createLiveProjector, type LiveProjector } from '../projections/live.ts';
import { createOutcomeFold } from '../projections/outcome.ts';
import { createRunEventProjection, serialiseRunEvent } from '../projections/run-event.ts';
import { createRedactor, type Redactor } from '../store/redact.ts';
import { draftRedaction, redactEvent } from '../store/redact-event.ts';
import { createCallSpill } from './outcome-writer.ts';
import { chunksOf, sessionEvents } from './session-source.ts';
import { inPieces } from './spill.ts';
import { createTranscriptWriter, type FinishedTranscript } from './transcript-writer.ts';

export { agentOf } from './agent-of.ts';

export type ConvertFrom = 'stdout' | 'session';
export type ConvertTo = LineForm | 'outcome' | TranscriptForm;
type LineForm = 'events' | 'run-event' | 'live';
export type TranscriptForm = 'transcript' | 'agentv' | 'atif';

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
  /** Events hold byte text. */
  byte_text?: boolean;
  /** Every line that is no record is an event of its own. */
  every_line?: boolean;
  /** Instead of the agent's own. */
  decoder?: Decoder;
}

export function decoderFor(agent: Agent, from: ConvertFrom): Decoder {
  return from === 'session' && agent.session ? agent.session.decoder() : agent.stream();
}

/** The same input has the same id. */
function pipelineFor({
  agent,
  from,
  input,
  redactor,
  byte_text = false,
  decoder,
  every_line = false,
}: ConvertOptions): Pipeline {
  const name = typeof input === 'string' ? basename(input) : 'stdin';
  return createPipeline({
    agent,
    primary: from,
    now: null,
    byte_text,
    every_line,
    ...(decoder && { decoder }),
    ...(redactor && draftRedaction(redactor)),
    info: {
      run_id: newRunId(0, seededRandom(`${agent.id}:${from}:${name}`)),
      agent: agent.id,
      cwd: null,
      prompt: null,
      config: null,
      started_ms: null,
      model: null,
      agent_version: null,
      session_id: null,
      fingerprint: () => null,
    },
  });
}

/** Events of the recording, a batch at a time; not yet redacted. */
export async function* eventsOf(options: ConvertOptions): AsyncGenerator<Event[]> {
  const { agent, from, input } = options;
  if (from === 'session' && agent.session === null) {
    throw new TachoError('usage', `${agent.title} keeps no session files`, { stage: 'convert' });
  }
  const pipeline = pipelineFor(options);
  if (from === 'session' && typeof input === 'string') {
    yield* sessionEvents(agent, input, pipeline);
  } else {
    const chunks = typeof input === 'string' ? inFlatMemory(chunksOf(input)) : input;
    for await (const chunk of chunks)
      yield pipeline.push(from, Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    yield pipeline.endOfInput(from);
  }
  yield pipeline.finish();
}

/** Known key shapes only: the environment of a recording is not ours to know. */
const newRedactor = () =>
  createRedactor({
    env: {},
    secret_env: [],
    // Without a state folder there is no key; equal secrets of one export still look equal.
    hash: (text) => createHash('sha256').update(text).digest('hex'),
  });

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

async function* linesOf(options: ConvertOptions, to: LineForm): AsyncGenerator<string> {
  const secrets = newRedactor();
  const toLines = LINE_FORMS[to](options);
  for await (const events of eventsOf({ ...options, redactor: secrets })) {
    let text = '';
    for (const event of events) {
      text += toLines(redactEvent(event, secrets));
      if (text.length < PIECE_CHARS) continue;
      yield text;
      text = '';
    }
    if (text !== '') yield text;
  }
}

async function* outcomeOf(options: ConvertOptions): AsyncGenerator<string | Buffer> {
  const secrets = newRedactor();
  const spill = createCallSpill();
  try {
    const fold = createOutcomeFold({
      keepIo: true,
      onCall(call, index) {
        // The fold has let go of the call.
        call.inputs = secrets.value(call.inputs);
        if (call.outputs != null) call.outputs = secrets.text(call.outputs);
        spill.put(call, index);
      },
    });
    for await (const events of eventsOf({ ...options, byte_text: true })) {
      for (const event of events) fold.push(event);
    }
    const outcome = secrets.value(fromByteText(fold.finish()));
    yield* spill.pieces(outcome, fold.patches);
    yield '\n';
  } finally {
    spill.close();
  }
}

async function* transcriptText(
  options: ConvertOptions,
  form: TranscriptForm,
): AsyncGenerator<string | Buffer> {
  const redactor = newRedactor();
  const path = typeof options.input === 'string' ? options.input : null;
  const writer = createTranscriptWriter({ byte_text: true, redactor, path });
  try {
    // Calls go to the writer; the outcome needs none of them.
    const fold = createOutcomeFold({ keepIo: false, onCall: () => undefined });
    for await (const events of eventsOf({ ...options, byte_text: true })) {
      for (const event of events) {
        fold.push(event);
        writer.push(event);
      }
    }
    const outcome = redactor.value(fromByteText(fold.finish()));
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
export function convertTo(options: ConvertOptions, to: ConvertTo): AsyncGenerator<string | Buffer> {
  if (to === 'outcome') return outcomeOf(options);
  return to in FORMS
    ? transcriptText(options, to as TranscriptForm)
    : linesOf(options, to as LineForm);
}
