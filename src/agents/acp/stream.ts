/**
 * stdout of the client program: every message of both directions, `{"dir", "at_ms", "msg"}`, one a line. Recordings of
 * other clients in that form are read too, and the bare messages of an agent, without the client's.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { Decoder } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import { Calls } from './calls.ts';
import {
  codeOf,
  idOf,
  isNative,
  type Native,
  nativeOf,
  problem,
  rpcKey,
  textOf,
  timeOf,
  trim,
} from './native.ts';
import { EXTENSIONS, SILENT_METHODS } from './records.ts';
import { Session } from './session-start.ts';
import { Turn } from './turn.ts';

export function stream(options?: { resumed: boolean }): Decoder {
  return new Stream(options?.resumed ?? false);
}

type Time = number | undefined;

class Stream implements Decoder {
  readonly #session = new Session();
  readonly #turn: Turn;
  /** Methods of the client's requests that wait for an answer, by id. */
  readonly #asked = new Map<string, string>();
  /** The prompt that was answered last. */
  #prompt: string | null = null;
  /** The request that makes the agent tell its history again; what it tells until the answer was an earlier run's. */
  #loading: string | null = null;

  constructor(resumed: boolean) {
    this.#turn = new Turn(new Calls(), resumed);
  }

  record(value: unknown, out: Draft[]): void {
    if (!isNative(value)) {
      out.push(problem('bad_record', 'record is no object'));
      return;
    }
    const at_ms = timeOf(value.at_ms);
    if (value.dir === undefined && isMessage(value)) this.#fromAgent(value, at_ms, out);
    else if (value.dir === 'agent-nonjson') {
      out.push(problem('not_json', 'the agent wrote a line that is no JSON', textOf(value.msg)));
    } else if (value.dir === 'agent-oversize') {
      out.push(problem('oversize_line', textOf(value.msg) ?? 'a message over the limit'));
    } else if (value.dir === 'note') {
      out.push({ kind: 'notice', at_ms, data: { code: 'client', text: textOf(value.msg) } });
    } else if (value.dir === 'exit') this.#exit(nativeOf(value.msg), at_ms, out);
    else this.#message(value, at_ms, out);
  }

  end(out: Draft[]): void {
    this.#turn.cut(out);
  }

  #message(record: Native, at_ms: Time, out: Draft[]): void {
    const { dir, msg } = record;
    if (dir !== 'agent->client' && dir !== 'client->agent') {
      out.push(unknown(record));
    } else if (!isNative(msg) || !isMessage(msg)) {
      out.push(problem('bad_record', 'no JSON-RPC message'));
    } else if (dir === 'client->agent') this.#fromClient(msg, at_ms, out);
    else this.#fromAgent(msg, at_ms, out);
  }

  #fromClient(message: Native, at_ms: Time, out: Draft[]): void {
    const method = textOf(message.method);
    const key = rpcKey(message.id);
    const params = nativeOf(message.params) ?? {};
    if (method === null) {
      if (key !== null) this.#turn.permissionAnswer(key, nativeOf(message.result), at_ms, out);
      return;
    }
    if (key !== null) {
      this.#asked.set(key, method);
      trim(this.#asked, LIMITS.open_calls_max);
    }
    if (method === 'session/load') this.#loading = key;
    if (method === 'session/prompt') this.#turn.prompt(params, at_ms, out);
    this.#session.asked(method, params);
  }

  #fromAgent(message: Native, at_ms: Time, out: Draft[]): void {
    const method = textOf(message.method);
    const params = nativeOf(message.params) ?? {};
    if (method === null) this.#answer(message, at_ms, out);
    else if (TALK.has(method) && this.#session.isOther(params)) {
      out.push(problem('unknown_record', `${method} of another session`));
    } else if (method === 'session/update') {
      if (this.#loading === null) this.#turn.update(nativeOf(params.update), at_ms, out);
    } else if (method === 'session/request_permission') {
      this.#turn.permission(rpcKey(message.id), params, at_ms, out);
    } else if (!isIgnored(method)) {
      out.push(problem('unknown_record', method));
    }
  }

  /** What an answer is about is known by the request, or where that was not seen, by what it holds. */
  #answer(message: Native, at_ms: Time, out: Draft[]): void {
    const key = rpcKey(message.id);
    const method = key === null ? undefined : this.#asked.get(key);
    if (method === undefined && key !== null && key === this.#prompt) {
      out.push(problem('bad_record', 'a second answer to the prompt'));
      return;
    }
    if (key !== null) this.#asked.delete(key);
    if (method === 'session/prompt') this.#prompt = key;
    if (key !== null && key === this.#loading) this.#loading = null;
    const error = nativeOf(message.error);
    if (error !== null) {
      this.#turn.failed(method ?? null, error, at_ms, out);
      return;
    }
    const result = nativeOf(message.result) ?? {};
    if (method === 'initialize' || (method === undefined && 'protocolVersion' in result)) {
      this.#session.initialised(result);
      this.#turn.speaker = this.#session.speaker;
    } else if (method === 'session/prompt' || (method === undefined && 'stopReason' in result)) {
      this.#turn.answered(result, at_ms, out);
    } else if (isSessionStart(method, result)) this.#session.started(result, at_ms, out);
  }

  #exit(exit: Native | null, at_ms: Time, out: Draft[]): void {
    const code = codeOf(exit?.code);
    const signal = idOf(exit?.signal);
    if (code === 0 || (code === null && signal === null)) return;
    const text = signal === null ? `exit code ${code}` : `ended by ${signal}`;
    out.push({ kind: 'notice', at_ms, data: { code: 'agent_exit', text } });
  }
}

/** What is said in a session. */
const TALK: ReadonlySet<string> = new Set(['session/update', 'session/request_permission']);
const SESSION_STARTS: ReadonlySet<string> = new Set([
  'session/fork',
  'session/load',
  'session/new',
  'session/resume',
]);

function isSessionStart(method: string | undefined, result: Native): boolean {
  return method === undefined ? 'sessionId' in result : SESSION_STARTS.has(method);
}

/** A request, a notification or an answer. */
function isMessage(value: Native): boolean {
  if (typeof value.method === 'string') return true;
  return rpcKey(value.id) !== null && ('result' in value || 'error' in value);
}

function isIgnored(method: string): boolean {
  return SILENT_METHODS.has(method) || EXTENSIONS.some((start) => method.startsWith(start));
}

function unknown(record: Native): Draft {
  const type = textOf(record.dir) ?? textOf(record.type);
  if (type !== null) return problem('unknown_record', type);
  return problem('bad_record', 'no JSON-RPC message');
}
