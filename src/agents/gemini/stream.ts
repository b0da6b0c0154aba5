/** stdout: `--output-format stream-json`. Text arrives in pieces without an id; calls have ids. One end record. */
import { isLonger, jsonInside } from '../../lib/byte-text.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { ExitReason } from '../../model/words.ts';
import { decoder } from '../kit/decoder.ts';
import { type CallEnd, endFor, type Time, Writer } from '../kit/drafts.ts';
import {
  type Inside,
  idOf,
  nativeOf,
  type Open,
  statusOf,
  textOf,
  tokensOf,
} from '../kit/native.ts';
import { wordSet } from '../kit/text.ts';
import { add, isEmpty, less, onlyKey, type Spent, spent, without } from '../kit/usage.ts';
import { Calls, isRefusal, shownEnd } from './calls.ts';
import type { Stdout } from './generated/native.ts';

const REFUSED_TYPE = 'policy_violation';
/** Failure classes that the end record names. Errors thrown by the API are `unknown`. */
const ENDS: ReadonlyMap<string, ExitReason> = new Map([
  ['FatalTurnLimitedError', 'max_steps'],
  ['MaxSessionTurnsError', 'max_steps'],
  ['AbortError', 'cancelled'],
  ['FatalCancellationError', 'cancelled'],
]);
const PROVIDER_ERRORS = wordSet(`
    ApiError BadRequestError ForbiddenError INVALID_STREAM InvalidStreamError ModelNotFoundError
    RetryableQuotaError TerminalQuotaError UnauthorizedError ValidationRequiredError _ApiError unknown
  `);
/** Errors in separate records, before an end record that does not repeat them. */
const TURN_LIMIT = 'Maximum session turns exceeded';
/** Beginnings of errors that mean that the API returned no usable answer. */
const INVALID_STREAM = [
  'Invalid stream: ',
  'The model returned ',
  'The model response was blocked due to ',
  'Model response was truncated because it exceeded the token limit',
];
const BODY_CHARS_MAX = 65_536;

export const stream = () =>
  decoder<Stdout>((to) => {
    const turn = new Turn(to);
    return {
      records: {
        init: (record) =>
          to.session({ session_id: idOf(record.session_id), model: idOf(record.model) }),
        message: (record) => turn.message(record),
        tool_use: (record) => turn.toolUse(record),
        tool_result: (record) => turn.toolResult(record),
        error: (record) => turn.error(record),
        result: (record) => turn.result(record),
      },
      end: () => turn.finishMessage(true),
    };
  });

class Turn extends Writer {
  readonly #calls = new Calls(this.to);
  /** Pieces of the current message. */
  #said = '';
  #said_at: Time;
  /** The model's turn has begun and has no answer yet. */
  #open = false;
  /** The last error that had its own record. */
  #error: string | null = null;

  message(record: Stdout['message']): void {
    const text = textOf(record.content);
    if (text === null || (record.role !== 'user' && record.role !== 'assistant')) {
      this.to.bad('message without role or content');
    } else if (record.role === 'user') {
      this.finishMessage(false);
      this.#open = false;
      this.to.message('user', text);
    } else if (text !== '') {
      this.#begin();
      this.#say(text, record.delta === true);
    }
  }

  /** A message that is not a piece is complete; it may repeat the pieces before it. */
  #say(text: string, piece: boolean): void {
    if (!piece && this.#said === text) {
      this.finishMessage(false);
      return;
    }
    if (!piece || this.#said.length + text.length > LIMITS.line_bytes_max)
      this.finishMessage(false);
    if (piece) this.to.delta('message_delta', text, null);
    this.#said += text;
    this.#said_at = this.to.at_ms;
    if (!piece) this.finishMessage(false);
  }

  finishMessage(partial: boolean): void {
    if (this.#said === '') return;
    this.to.message('assistant', this.#said, { partial }, this.#said_at);
    this.#said = '';
  }

  #begin(): void {
    if (!this.#open) this.to.step(null);
    this.#open = true;
  }

  toolUse(record: Stdout['tool_use']): void {
    this.finishMessage(false);
    const detail = 'tool_use without tool_id or tool_name';
    const call = this.to.callIn(record.tool_id, record.tool_name, detail);
    if (call === null) return;
    this.#begin();
    this.#calls.request(call.call_id, call.native_tool, record.parameters ?? {});
  }

  toolResult(record: Stdout['tool_result']): void {
    this.finishMessage(false);
    const call_id = this.to.need(idOf(record.tool_id), 'tool_result without tool_id');
    if (call_id === null) return;
    if (!this.#calls.knows(call_id)) this.#requestOf(call_id);
    this.#open = false;
    const end = endOfCall(record, this.#calls.open.get(call_id)?.tool ?? null);
    const output = textOf(record.output) ?? textOf(nativeOf(record.error)?.message);
    this.#calls.finish({ call_id, at_ms: this.to.at_ms, ...end, output, detail: null });
  }

  /** For a result without a request: the id begins with the tool's name. */
  #requestOf(call_id: string): void {
    const cut = call_id.lastIndexOf('__');
    if (cut <= 0) return;
    this.#begin();
    this.#calls.request(call_id, call_id.slice(0, cut), null);
  }

  error(record: Stdout['error']): void {
    const text = this.to.need(textOf(record.message), 'error without message');
    if (text === null) return;
    const code = textOf(record.severity) ?? 'error';
    if (code !== 'warning') this.#error = text;
    this.to.notice(code, text);
  }

  /** The figures of several models replace those of the sum, if they have all of it. */
  #usage(stats: Stdout['result']['stats']): void {
    const whole = ofStats(stats);
    if (isEmpty(whole)) return;
    const models = nativeOf(nativeOf(stats)?.models) ?? {};
    const parts = Object.entries(models).map(([name, value]) => [name, ofStats(value)] as const);
    const sum = spent();
    for (const [, part] of parts) add(sum, part);
    const all = parts.length > 1 && JSON.stringify(sum) === JSON.stringify(whole);
    if (!all) this.to.usage('total', whole, onlyKey(models));
    else
      for (const [at, [name, part]] of parts.entries())
        this.to.usage(at === 0 ? 'total' : 'add', part, name);
  }

  result(record: Stdout['result']): void {
    this.finishMessage(false);
    this.#open = false;
    this.#usage(record.stats);
    const error = textOf(nativeOf(record.error)?.message) ?? this.#error;
    const end = endFor(reasonOf(record, this.#error), error);
    if (end.exit_reason === 'provider_error') {
      const body = bodyOf(end.error ?? '');
      const [native_kind, status] = [textOf(body?.status), statusOf(body?.code)];
      this.to.failed({ native_kind, status, message: end.error ?? '' });
    }
    this.to.ended(end);
  }
}

/** Its input includes cached tokens; tacho's does not. Thoughts are counted only in the total. */
function ofStats(value: unknown): Spent {
  const stats: Inside<Stdout['result']['stats']> | null = nativeOf(value);
  const cache_read = tokensOf(stats?.cached);
  const input = tokensOf(stats?.input) ?? without(tokensOf(stats?.input_tokens), cache_read);
  const output = tokensOf(stats?.output_tokens);
  const [total, prompt] = [tokensOf(stats?.total_tokens), tokensOf(stats?.input_tokens)];
  const reasoning = prompt === null || output === null ? null : less(total, prompt + output);
  return spent({ input, output, cache_read, reasoning });
}

/** `error`: the last error that had its own record. */
function reasonOf(result: Stdout['result'], error: string | null): ExitReason {
  const type = textOf(nativeOf(result.error)?.type);
  if (type !== null && PROVIDER_ERRORS.has(type)) return 'provider_error';
  if (type !== null) return ENDS.get(type) ?? 'agent_error';
  if (error === TURN_LIMIT) return 'max_steps';
  if (result.status === 'success') return 'ok';
  const invalid = INVALID_STREAM.some((start) => error?.startsWith(start));
  return invalid ? 'provider_error' : 'agent_error';
}

/** `[API Error: {"error":{"code":400,"status":"INVALID_ARGUMENT",…}}]`: the API's own body, if it is JSON. */
function bodyOf(message: string): Open | null {
  const from = message.indexOf('{');
  const to = message.lastIndexOf('}');
  if (from < 0 || to < from) return null;
  const said = message.slice(from, to + 1);
  const body = isLonger(said, BODY_CHARS_MAX) ? null : nativeOf(jsonInside(said));
  return nativeOf(body?.error) ?? body;
}

/** On stdout everything that is not an error is a success, even a cancelled call. */
function endOfCall(record: Stdout['tool_result'], tool: string | null): CallEnd {
  const error = nativeOf(record.error);
  const output = textOf(record.output);
  if (record.status === 'error' || error !== null) {
    const refused = error?.type === REFUSED_TYPE || isRefusal(textOf(error?.message));
    if (refused || isRefusal(output)) return { status: 'denied', exit_code: null };
    return { status: record.status === 'success' ? 'cancelled' : 'error', exit_code: null };
  }
  if (record.status === 'success') return shownEnd(tool, output);
  return { status: record.status === 'cancelled' ? 'cancelled' : 'unknown', exit_code: null };
}
