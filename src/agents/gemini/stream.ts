/** stdout: `--output-format stream-json`. Text comes in pieces without an id, calls by id, one end record. */
import { LIMITS } from '../../lib/limits.ts';
import type { Decoder } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import { type CallEnd, Calls, isRefusal, shownEnd } from './calls.ts';
import { idOf, isNative, type Native, nativeOf, problem, textOf, timeOf } from './native.ts';
import { REFUSED_TYPES } from './records.ts';
import { endOf, providerFailure } from './results.ts';
import { isEmpty, ofStats, onlyModel } from './usage.ts';

export function stream(): Decoder {
  return new Stream();
}

class Stream implements Decoder {
  readonly #calls = new Calls();
  /** Pieces of the message that is being said. */
  #said = '';
  #said_at: number | undefined;
  /** The model's turn has begun and nothing has answered it yet. */
  #turn_open = false;
  #told: string | null = null;

  record(value: unknown, out: Draft[]): void {
    if (!isNative(value)) {
      out.push(problem('bad_record', 'record is no object'));
      return;
    }
    const at_ms = timeOf(value);
    switch (value.type) {
      case 'message':
        this.#message(value, at_ms, out);
        break;
      case 'tool_use':
        this.#toolUse(value, at_ms, out);
        break;
      case 'tool_result':
        this.#toolResult(value, at_ms, out);
        break;
      case 'init':
        init(value, at_ms, out);
        break;
      case 'error':
        this.#error(value, at_ms, out);
        break;
      case 'result':
        this.#result(value, at_ms, out);
        break;
      default:
        out.push(unknown(value));
    }
  }

  end(out: Draft[]): void {
    this.#finishMessage(true, out);
  }

  #message(record: Native, at_ms: number | undefined, out: Draft[]): void {
    const text = textOf(record.content);
    if (text === null || (record.role !== 'user' && record.role !== 'assistant')) {
      out.push(problem('bad_record', 'message without role or content'));
    } else if (record.role === 'user') {
      this.#finishMessage(false, out);
      this.#turn_open = false;
      out.push(message('user', text, { at_ms, partial: false }));
    } else if (text !== '') {
      this.#openTurn(at_ms, out);
      this.#say(text, record.delta === true, at_ms, out);
    }
  }

  /** A message that is no piece is whole; it may repeat the pieces before it. */
  #say(text: string, piece: boolean, at_ms: number | undefined, out: Draft[]): void {
    if (!piece && this.#said === text) {
      this.#finishMessage(false, out);
      return;
    }
    if (!piece || this.#said.length + text.length > LIMITS.line_bytes_max) {
      this.#finishMessage(false, out);
    }
    if (piece) {
      const data = { message_id: null, parent_call_id: null, text };
      out.push({ kind: 'message_delta', at_ms, data });
    }
    this.#said += text;
    this.#said_at = at_ms;
    if (!piece) this.#finishMessage(false, out);
  }

  #finishMessage(partial: boolean, out: Draft[]): void {
    if (this.#said === '') return;
    out.push(message('assistant', this.#said, { at_ms: this.#said_at, partial }));
    this.#said = '';
  }

  #openTurn(at_ms: number | undefined, out: Draft[]): void {
    if (this.#turn_open) return;
    this.#turn_open = true;
    const data = { step_id: null, allowed_tools: null, enforcement_mode: null };
    out.push({ kind: 'step_started', at_ms, data });
  }

  #toolUse(record: Native, at_ms: number | undefined, out: Draft[]): void {
    const call_id = idOf(record.tool_id);
    const native_tool = idOf(record.tool_name);
    this.#finishMessage(false, out);
    if (call_id === null || native_tool === null) {
      out.push(problem('bad_record', 'tool_use without tool_id or tool_name'));
      return;
    }
    this.#openTurn(at_ms, out);
    const input = record.parameters ?? {};
    this.#calls.request({ call_id, native_tool, input, parent: null, shown: null }, at_ms, out);
  }

  #toolResult(record: Native, at_ms: number | undefined, out: Draft[]): void {
    const call_id = idOf(record.tool_id);
    this.#finishMessage(false, out);
    if (call_id === null) {
      out.push(problem('bad_record', 'tool_result without tool_id'));
      return;
    }
    if (!this.#calls.knows(call_id)) this.#requestOf(call_id, at_ms, out);
    this.#turn_open = false;
    const end = endOfCall(record, this.#calls.toolOf(call_id));
    const output = textOf(record.output) ?? textOf(nativeOf(record.error)?.message);
    this.#calls.finish({ call_id, at_ms, ...end, output, detail: null }, out);
  }

  /** A result whose request was lost: the id begins with the tool's name. */
  #requestOf(call_id: string, at_ms: number | undefined, out: Draft[]): void {
    const cut = call_id.lastIndexOf('__');
    if (cut <= 0) return;
    const native_tool = call_id.slice(0, cut);
    this.#openTurn(at_ms, out);
    const request = { call_id, native_tool, input: null, parent: null, shown: null };
    this.#calls.request(request, at_ms, out);
  }

  #error(record: Native, at_ms: number | undefined, out: Draft[]): void {
    const text = textOf(record.message);
    if (text === null) {
      out.push(problem('bad_record', 'error without message'));
      return;
    }
    const code = textOf(record.severity) ?? 'error';
    if (code !== 'warning') this.#told = text;
    out.push({ kind: 'notice', at_ms, data: { code, text } });
  }

  #result(record: Native, at_ms: number | undefined, out: Draft[]): void {
    this.#finishMessage(false, out);
    this.#turn_open = false;
    const end = endOf(record, this.#told);
    const stats = nativeOf(record.stats);
    const usage = stats === null ? null : ofStats(stats);
    if (stats !== null && usage !== null && !isEmpty(usage)) {
      const data = { mode: 'total' as const, usage, cost_usd: null, model: onlyModel(stats) };
      out.push({ kind: 'usage_reported', at_ms, data });
    }
    if (end.exit_reason === 'provider_error') out.push(providerFailure(end.error ?? '', at_ms));
    out.push({ kind: 'agent_ended', at_ms, data: end });
  }
}

function init(record: Native, at_ms: number | undefined, out: Draft[]): void {
  const session_id = idOf(record.session_id);
  const rest = { agent_version: null, cwd: null, tools: null, permission_mode: null };
  const data = { session_id, model: idOf(record.model), ...rest };
  out.push({ kind: 'session_started', at_ms, data });
}

/** By the CLI's own words: everything that is no error is a success there, also what was cancelled, but not without an error. */
function endOfCall(record: Native, tool: string | null): CallEnd {
  const error = nativeOf(record.error);
  const output = textOf(record.output);
  if (record.status === 'error' || error !== null) {
    const type = textOf(error?.type) ?? '';
    const refused = REFUSED_TYPES.has(type) || isRefusal(textOf(error?.message));
    if (refused || isRefusal(output)) return { status: 'denied', exit_code: null };
    return { status: record.status === 'success' ? 'cancelled' : 'error', exit_code: null };
  }
  if (record.status === 'success') return shownEnd(tool, output);
  return { status: record.status === 'cancelled' ? 'cancelled' : 'unknown', exit_code: null };
}

function message(
  role: 'assistant' | 'user',
  text: string,
  { at_ms, partial }: { at_ms: number | undefined; partial: boolean },
): Draft {
  const data = { message_id: null, parent_call_id: null, role, text, synthetic: false, partial };
  return { kind: 'message_finished', at_ms, data };
}

function unknown(record: Native): Draft {
  const type = textOf(record.type);
  if (type !== null) return problem('unknown_record', type);
  return problem('bad_record', 'record without type');
}
