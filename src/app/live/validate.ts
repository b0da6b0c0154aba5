/** `tacho validate`: reads a stream and judges it, in constant memory. */
import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { Judge } from '../../conformance/judge.ts';
import { RecordJudge } from '../../conformance/records.ts';
import { RUN_EVENT_RULES } from '../../conformance/run-event-rules.ts';
import { SentStream } from '../../conformance/sent-stream.ts';
import { TRANSCRIPT_RULES } from '../../conformance/transcript-rules.ts';
import type { Report } from '../../conformance/types.ts';
import { fileError } from '../../lib/errors.ts';
import { isoTime } from '../../lib/iso-time.ts';
import { jsonFault } from '../../lib/json.ts';
import { LIMITS } from '../../lib/limits.ts';
import { createLines, type LineSink, type Lines } from '../../lib/lines.ts';
import { inFlatMemory } from '../../lib/memory.ts';
import { isMap } from '../../lib/own.ts';
import { type JsonSchema, schemaFault } from '../../lib/schema/json-schema.ts';
import { shown } from '../../live/protocol/fault.ts';
import { type ReadMessage, readMessage, readText } from '../../live/protocol/messages.ts';
import { checkRunEvent, checkTranscript } from '../../model/generated/checks.ts';
import { schemaOf } from '../config/paths.ts';
import { APP_LIMITS } from '../limits.ts';
import { storedMessages } from './stored.ts';

/** A format that can be checked. */
export type ValidateFormat = 'live' | 'run-event' | 'transcript';

/** A file, or the bytes themselves. */
export type ValidateInput = string | AsyncIterable<Uint8Array>;

/** Judges one format, line by line. */
interface Reader {
  line(bytes: Buffer, start: number, end: number, line: number): void;
  oversize(line: number, bytes: number, head: string): void;
  report(): Report;
}

const STAGE = 'validate';

/** A message as the judge takes it. `received_at` may have been added by a receiver. */
function pushMessage(judge: Judge, read: ReadMessage, line: number): void {
  const noted = (read.message as { received_at?: unknown } | null)?.received_at;
  const received_ms = typeof noted === 'string' ? (isoTime(noted) ?? null) : null;
  judge.push({ ...read, line, received_ms });
}

function tooLarge(bytes: number, head: string): ReadMessage {
  const message = `the line has ${bytes} bytes, ${LIMITS.live_message_bytes_max} are allowed`;
  const fault = { code: 'MESSAGE_TOO_LARGE', field: null, message, details: { bytes } } as const;
  return { fault, message: null, text: head };
}

function liveReader(against: SentStream | null): Reader {
  const judge = new Judge({ against });
  return {
    line: (bytes, start, end, line) => pushMessage(judge, readMessage(bytes, start, end), line),
    oversize: (line, bytes, head) => pushMessage(judge, tooLarge(bytes, head), line),
    report: () => judge.report(),
  };
}

/** The alternative with the record's type. */
function alternative(schema: JsonSchema, { type }: Record<string, unknown>): JsonSchema | null {
  if (schema.anyOf === undefined) return schema;
  return schema.anyOf.find(({ properties }) => properties?.type?.const === type) ?? null;
}

const RECORDS = {
  'run-event': { rules: RUN_EVENT_RULES, check: checkRunEvent },
  transcript: { rules: TRANSCRIPT_RULES, check: checkTranscript },
} as const;

function recordReader(format: keyof typeof RECORDS): Reader {
  const { rules, check } = RECORDS[format];
  const judge = new RecordJudge(format, rules);
  let schema: JsonSchema | null = null;

  function faultOf(value: Record<string, unknown>): string | null {
    if (check(value)) return null;
    schema ??= schemaOf(format);
    const meant = alternative(schema, value);
    if (meant === null) return `unknown type ${shown(value.type)}`;
    return schemaFault(meant, value) ?? 'it does not match its schema';
  }

  const bad = (line: number, fault: string) =>
    judge.push({ line, value: null, fault, schema_fault: null });

  return {
    line(bytes, start, end, line) {
      const { value, fault } = parsed(bytes.subarray(start, end));
      if (value === null) bad(line, fault);
      else judge.push({ line, value, fault: null, schema_fault: faultOf(value) });
    },
    oversize: (line, bytes) => bad(line, `${bytes} bytes are over the limit`),
    report: () => judge.report(),
  };
}

function parsed(bytes: Buffer): { value: Record<string, unknown> | null; fault: string } {
  if (!isUtf8(bytes)) return { value: null, fault: 'the line is not UTF-8' };
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return isMap(value) ? { value, fault: '' } : { value: null, fault: 'it is not a JSON object' };
  } catch (error) {
    return { value: null, fault: jsonFault(error) };
  }
}

const VERSION = /"schema_version"\s*:\s*"(tacho\.transcript|openagent\.run_event)\./;

/** Detected from the beginning of the first line. Anything but the other records is judged as a message. */
function formatOf(head: string): ValidateFormat {
  const found = VERSION.exec(head.trimStart().split('\n', 1)[0] ?? '');
  if (found === null) return 'live';
  return found[1] === 'tacho.transcript' ? 'transcript' : 'run-event';
}

const chunksOf = (input: ValidateInput): AsyncIterable<Buffer> =>
  typeof input === 'string'
    ? createReadStream(input, { highWaterMark: LIMITS.read_chunk_bytes })
    : (input as AsyncIterable<Buffer>);

async function eachChunk(input: ValidateInput, take: (chunk: Buffer) => void): Promise<void> {
  try {
    for await (const chunk of inFlatMemory(chunksOf(input))) take(chunk);
  } catch (cause) {
    throw fileError(cause, typeof input === 'string' ? input : 'standard input', STAGE);
  }
}

async function readAgainst(input: ValidateInput): Promise<SentStream> {
  const against = new SentStream();
  const lines = createLines({
    line(bytes, start, end) {
      const read = readMessage(bytes, start, end);
      if (read.fault === null) against.add(read.message);
    },
    oversize() {},
  });
  await eachChunk(input, (chunk) => lines.push(chunk));
  lines.end();
  return against;
}

/** A line of these may be as long as a whole run. */
const LINE_BYTES_MAX: Readonly<Record<ValidateFormat, number>> = {
  live: LIMITS.live_message_bytes_max,
  'run-event': LIMITS.line_bytes_max,
  transcript: APP_LIMITS.transcript_line_bytes_max,
};

/** Enough of a stream to detect its format. */
const HEAD_BYTES = 4096;

/** `format`: null to detect it from the first line. `against`: the stream as it was sent. */
export async function validateInput(
  input: ValidateInput,
  options: { format: ValidateFormat | null; against: ValidateInput | null },
): Promise<Report> {
  const against = options.against === null ? null : await readAgainst(options.against);
  let held = Buffer.alloc(0);
  let opened: { reader: Reader; lines: Lines } | null = null;

  function open() {
    const format = options.format ?? formatOf(held.toString('utf8', 0, HEAD_BYTES));
    const reader = format === 'live' ? liveReader(against) : recordReader(format);
    const sink: LineSink = {
      line: (bytes, start, end, { line }) => reader.line(bytes, start, end, line),
      oversize: ({ line, bytes, head }) => reader.oversize(line, bytes, head.toString('utf8')),
    };
    const lines = createLines(sink, LINE_BYTES_MAX[format]);
    lines.push(held);
    return { reader, lines };
  }

  await eachChunk(input, (chunk) => {
    if (opened !== null) opened.lines.push(chunk);
    else {
      held = Buffer.concat([held, chunk]);
      if (held.length >= HEAD_BYTES) opened = open();
    }
  });
  const { reader, lines } = opened ?? open();
  lines.end();
  return reader.report();
}

/** Validates the messages that the collector of a state folder has stored: one session, or all. */
export async function validateStored(state_dir: string, session: string | null): Promise<Report> {
  const judge = new Judge();
  let line = 0;
  for await (const { body } of storedMessages(state_dir, session)) {
    line += 1;
    pushMessage(judge, readText(body), line);
  }
  return judge.report();
}
