/** One session's files as an import reads them: their identity, and all events from a time on. */
import { hash } from 'node:crypto';
import { Pipeline } from '../../capture/pipeline.ts';
import { recordedRun } from '../../capture/run-info.ts';
import { inFlatMemory } from '../../lib/memory.ts';
import { isMap } from '../../lib/own.ts';
import type { Decoder, SessionFiles } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import type { RunConfig } from '../../model/parts.ts';
import type { Gate } from '../../redact/gate.ts';
import { sessionChunks } from './session-chunks.ts';
import { type SessionSource, sourceEvents } from './session-source.ts';

/**
 * The digest that the run of a session is identified by. Contract: it never changes, however the session grows, and
 * copies of the session have the same.
 */
export async function identityOf(source: SessionSource, { session_id }: Head): Promise<string> {
  const known = session_id === null ? ['record', await firstLine(source)] : ['session', session_id];
  return hash('sha256', JSON.stringify([source.agent.id, ...known]));
}

/** The first line, or the beginning of a long one. */
async function firstLine({ agent, path }: SessionSource): Promise<string> {
  for await (const chunk of sessionChunks(agent, path)) {
    const end = chunk.indexOf(10);
    return chunk.toString(
      'latin1',
      0,
      end < 0 ? HEAD_PIECE_BYTES : Math.min(end, HEAD_PIECE_BYTES),
    );
  }
  return '';
}

export interface ReadOptions {
  run_id: string;
  config: RunConfig | null;
  /** Null if nothing of it is stored or shown. */
  gate: Gate | null;
  /** Only events from this time on. */
  since_ms: number | null;
  /** Only events before this time. Default: all. */
  until_ms?: number | null;
  /** Events contain byte text. Throws `NeedsText` if they would differ. */
  byte_text?: boolean;
}

/** Tolerance between the clock of the machine that recorded a session and ours. */
const CLOCKS_DIFFER_MS = 86_400_000;

/** A head is at the beginning of its chunk: the rest is not decoded. */
const HEAD_PIECE_BYTES = 16 * 1024;

const PROBING: Omit<ReadOptions, 'since_ms'> = { run_id: '', config: null, gate: null };

export function pipelineOf({ agent, path }: SessionSource, options: ReadOptions): Pipeline {
  const { run_id, config, gate, since_ms, until_ms = null, byte_text = false } = options;
  const { session } = agent;
  // A session from the year 9999 would be the last run forever.
  const latest_ms = Date.now() + CLOCKS_DIFFER_MS;
  return new Pipeline({
    agent,
    primary: 'session',
    now: null,
    byte_text,
    exact: byte_text,
    ...(session && {
      decoder: endingAt(
        until_ms,
        session,
        session.decoder({ path, all_runs: true, ...(since_ms !== null && { since_ms }) }),
      ),
    }),
    ...(gate && { gate }),
    info: recordedRun(run_id, agent.id, { config, latest_ms }),
  });
}

/** Leaves out records from this time on. One without a time has that of the record before it in its file. */
function endingAt(until_ms: number | null, session: SessionFiles, decoder: Decoder): Decoder {
  if (until_ms === null) return decoder;
  const times = new Map<string, number>();
  const { text } = decoder;
  return {
    record(value, out, part) {
      const file = part?.path ?? '';
      const at_ms = (isMap(value) ? session.timeOf(value) : null) ?? times.get(file) ?? 0;
      times.set(file, at_ms);
      if (at_ms < until_ms) decoder.record(value, out, part);
    },
    ...(text && { text: (line, out) => text.call(decoder, line, out) }),
    end: (out) => decoder.end(out),
  };
}

export async function* runEvents(
  source: SessionSource,
  options: ReadOptions,
): AsyncGenerator<Event[]> {
  const pipeline = pipelineOf(source, options);
  const redactor = options.gate?.redactor ?? null;
  yield* sourceEvents(source, pipeline, redactor);
  yield pipeline.finish();
}

export interface Head {
  session_id: string | null;
  started_ms: number;
  /** The working folder that it names. */
  cwd: string | null;
  /** Whether it contains a message or a call. */
  speaks: boolean;
  /** Lines that could not be read, as far as the file was read. */
  problems: number;
}

const SPEAKING = new Set<Event['kind']>(['step_started', 'message_finished', 'call_requested']);
/** Stages with problems of the line itself. */
const UNREAD = new Set<string>(['frame', 'decode']);

/** The facts at the beginning of the main file. All of it is read only if they are missing there. */
export async function headOf(source: SessionSource, since_ms: number | null): Promise<Head> {
  const pipeline = pipelineOf(source, { ...PROBING, since_ms });
  const { state } = pipeline;
  const head: Head = {
    session_id: null,
    started_ms: 0,
    cwd: null,
    speaks: false,
    problems: 0,
  };
  const take = (events: readonly Event[]) => {
    for (const { kind, data } of events) {
      head.speaks ||= SPEAKING.has(kind);
      if (kind === 'problem' && UNREAD.has(data.stage)) head.problems += 1;
    }
    head.session_id = state.session_id;
    head.started_ms = state.started?.at_ms ?? 0;
    head.cwd = state.names.cwd;
    return head.speaks && head.session_id !== null && state.started !== null;
  };
  for await (const chunk of inFlatMemory(sessionChunks(source.agent, source.path))) {
    for (let at = 0; at < chunk.length; at += HEAD_PIECE_BYTES)
      if (take(pipeline.push('session', chunk.subarray(at, at + HEAD_PIECE_BYTES)))) return head;
  }
  take(pipeline.endOfInput('session'));
  take(pipeline.finish());
  return head;
}
