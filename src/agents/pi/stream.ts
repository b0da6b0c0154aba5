/**
 * stdout of `--mode json` (and of `--mode rpc`, which has the same events). Records have no times of their own, and
 * almost everything is told several times: a message in its updates, its end, its turn and its run; a result likewise.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { Decoder } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import { type End, endAfter, type Failure, failureOf, OK, providerFailed } from './failures.ts';
import { Conversation, messageId } from './messages.ts';
import {
  beginOf,
  countOf,
  durationOf,
  endOf,
  idOf,
  isNative,
  listOf,
  type Native,
  nameOf,
  nativeOf,
  problem,
  textOf,
  timeOf,
} from './native.ts';
import { ROLES_IGNORED, STDOUT_IGNORED, STDOUT_NOTICES, UPDATES_IGNORED } from './records.ts';
import { ofExecution } from './results.ts';
import { spentOf } from './usage.ts';

export function stream(): Decoder {
  return new Stream();
}

/** A message of the model that has begun and not ended. */
interface Unfinished {
  readonly message_id: string | null;
  /** Its text so far, by content block. */
  readonly texts: Map<number, string>;
  /** Its whole calls so far. */
  readonly calls: Native[];
  chars: number;
}

class Stream implements Decoder {
  readonly #talk = new Conversation();
  #session_id: string | null = null;
  #tools: string[] | null = null;
  #model_known = false;
  #message: Unfinished | null = null;
  /** After the model's last message. */
  #end: End = OK;
  /** A failure of the API that may yet be tried again. */
  #failure: Failure | null = null;
  #retrying = false;
  /** Whether the last thing said of the run is that it ended. */
  #ended = false;
  #reopened = false;

  record(value: unknown, out: Draft[]): void {
    if (!isNative(value)) {
      out.push(problem('bad_record', 'record is no object'));
      return;
    }
    const handle = typeof value.type === 'string' ? HANDLERS.get(value.type) : undefined;
    if (handle) handle(this, value, out);
    else this.#other(value, out);
  }

  end(out: Draft[]): void {
    this.#abandon(out);
    if (this.#ended) this.#giveUp(out);
    else if (this.#reopened) {
      out.push(problem('no_end_record', 'the stream has no end record of its last prompt'));
    }
  }

  #other(record: Native, out: Draft[]): void {
    const name = nameOf(record.type);
    if (STDOUT_IGNORED.has(name)) return;
    if (STDOUT_NOTICES.has(name)) {
      const said = [record.title, record.error, record.errorMessage, record.reason].find(textOf);
      out.push({ kind: 'notice', data: { code: name, text: textOf(said) } });
    } else out.push(problem(record.type === undefined ? 'bad_record' : 'unknown_record', name));
  }

  session(record: Native, out: Draft[]): void {
    this.#session_id = idOf(record.id);
    this.#introduce(null, textOf(record.cwd), timeOf(record), out);
  }

  /** Answers of RPC mode, which has no `session` record. */
  response(record: Native, out: Draft[]): void {
    const state = record.command === 'get_state' ? nativeOf(record.data) : null;
    if (state === null || this.#session_id !== null) return;
    this.#session_id = idOf(state.sessionId);
    const model = idOf(nativeOf(state.model)?.id);
    this.#model_known = model !== null;
    this.#introduce(model, null, undefined, out);
  }

  #introduce(
    model: string | null,
    cwd: string | null,
    at_ms: number | undefined,
    out: Draft[],
  ): void {
    const who = { session_id: this.#session_id, model, agent_version: null, cwd };
    const data = { ...who, tools: this.#tools, permission_mode: null };
    out.push({ kind: 'session_started', at_ms, data });
  }

  agentStart(out: Draft[]): void {
    this.#abandon(out);
    if (this.#ended && !this.#retrying) this.#giveUp(out);
    this.#failure = null;
    this.#retrying = false;
    if (!this.#ended) return;
    this.#ended = false;
    this.#reopened = true;
    const error = 'the stream stopped before the end of a later prompt';
    const data = { exit_reason: 'incomplete' as const, error, evidence: 'none' as const };
    out.push({ kind: 'agent_ended', data });
  }

  /** Versions without `willRetry` have no `agent_settled`: there this is the end, unless a retry follows. */
  agentEnd(record: Native, out: Draft[]): void {
    this.#abandon(out);
    if (record.willRetry === true) this.#failure = null;
    if (record.willRetry === undefined) this.#close(this.#end, out);
  }

  agentSettled(record: Native, out: Draft[]): void {
    this.#abandon(out);
    this.#giveUp(out);
    const aborted = record.aborted === true && this.#end.exit_reason !== 'cancelled';
    this.#close(aborted ? { exit_reason: 'cancelled', error: null } : this.#end, out);
  }

  #close(end: End, out: Draft[]): void {
    this.#ended = true;
    out.push({ kind: 'agent_ended', data: { ...end, evidence: 'native_result' } });
  }

  /** The failure is for good. */
  #giveUp(out: Draft[]): void {
    if (this.#failure) out.push(providerFailed(this.#failure, undefined));
    this.#failure = null;
  }

  turnStart(out: Draft[]): void {
    this.#abandon(out);
    const data = { step_id: null, allowed_tools: null, enforcement_mode: null };
    out.push({ kind: 'step_started', data });
  }

  /** Repeats the turn's message and results; what was lost of them is taken from here. */
  turnEnd(record: Native, out: Draft[]): void {
    const message = nativeOf(record.message);
    if (this.#message && message?.role === 'assistant') {
      // The message's own record is missing; its calls may have run and ended all the same.
      const told = (block: Native) => this.#talk.calls.get(idOf(block.id) ?? '')?.open === false;
      const content = listOf(message.content).filter((block) => !isNative(block) || !told(block));
      this.#assistant({ ...message, content }, out);
    }
    for (const result of listOf(record.toolResults)) {
      if (isNative(result)) this.#talk.resultMessage(result, beginOf(result), out);
    }
    const reason = textOf(message?.stopReason);
    out.push({ kind: 'step_finished', data: { step_id: null, reason } });
  }

  messageStart(record: Native, out: Draft[]): void {
    const message = nativeOf(record.message);
    if (message?.role !== 'assistant') return;
    this.#abandon(out);
    this.#message = { message_id: messageId(message), texts: new Map(), calls: [], chars: 0 };
    this.#tellModel(message, out);
  }

  #tellModel(message: Native, out: Draft[]): void {
    const model = this.#model_known ? null : idOf(message.model);
    if (model === null) return;
    this.#model_known = true;
    this.#introduce(model, null, beginOf(message), out);
  }

  messageUpdate(record: Native, out: Draft[]): void {
    const event = nativeOf(record.assistantMessageEvent);
    const type = textOf(event?.type);
    if (event === null || type === null) {
      out.push(problem('bad_record', 'message_update without its event'));
    } else if (type === 'text_delta' || type === 'thinking_delta') {
      this.#delta(type, event, out);
    } else if (type === 'toolcall_end') {
      const call = nativeOf(event.toolCall);
      const held = this.#message?.calls;
      if (call && held && held.length < LIMITS.unclaimed_prompts_max) held.push(call);
    } else if (!UPDATES_IGNORED.has(type)) {
      out.push(problem('unknown_record', `message_update/${type}`));
    }
  }

  #delta(type: 'text_delta' | 'thinking_delta', event: Native, out: Draft[]): void {
    const text = textOf(event.delta);
    if (text === null) {
      out.push(problem('bad_record', `message_update/${type} without delta`));
      return;
    }
    const message = this.#message;
    const data = { message_id: message?.message_id ?? null, parent_call_id: null, text };
    out.push({ kind: type === 'text_delta' ? 'message_delta' : 'thinking_delta', data });
    if (type === 'thinking_delta' || message === null) return;
    message.chars += text.length;
    if (message.chars > LIMITS.line_bytes_max) return;
    const index = countOf(event.contentIndex) ?? 0;
    message.texts.set(index, (message.texts.get(index) ?? '') + text);
  }

  messageEnd(record: Native, out: Draft[]): void {
    const message = nativeOf(record.message);
    const role = textOf(message?.role);
    if (message === null || role === null) {
      out.push(problem('bad_record', 'message_end without message'));
    } else if (role === 'assistant') this.#assistant(message, out);
    else if (role === 'toolResult') this.#talk.resultMessage(message, beginOf(message), out);
    else if (role === 'user') this.#talk.user(message, beginOf(message), out);
    else if (role === 'system') this.#tools ??= toolNames(message);
    else if (!ROLES_IGNORED.has(role)) {
      out.push(problem('unknown_record', `message/${role}`));
    }
  }

  #assistant(message: Native, out: Draft[]): void {
    this.#message = null;
    const at_ms = endOf(message);
    this.#tellModel(message, out);
    this.#talk.assistant(message, { parent: null, at_ms }, out);
    const spent = spentOf(message.usage);
    if (spent) {
      const model = textOf(message.model);
      out.push({ kind: 'usage_reported', at_ms, data: { mode: 'add', ...spent, model } });
    }
    this.#end = endAfter(message);
    this.#failure = message.stopReason === 'error' ? failureOf(message) : null;
  }

  /** A message that never ended: what was said of it is all there is. */
  #abandon(out: Draft[]): void {
    const message = this.#message;
    if (message === null) return;
    this.#message = null;
    const of = { message_id: message.message_id, parent_call_id: null, synthetic: false };
    for (const text of message.texts.values()) {
      const data = { ...of, role: 'assistant' as const, text, partial: true };
      out.push({ kind: 'message_finished', data });
    }
    const origin = { parent: null, at_ms: undefined, measured: this.#talk.measured, cut: false };
    for (const call of message.calls) this.#talk.calls.request(call, origin, out);
  }

  executionStart(record: Native, out: Draft[]): void {
    this.#talk.calls.announce(record, this.#talk.measured, out);
  }

  executionUpdate(record: Native, out: Draft[]): void {
    this.#talk.calls.progress(record, out);
    const call_id = idOf(record.toolCallId);
    const details = nativeOf(nativeOf(record.partialResult)?.details);
    if (call_id !== null && details) this.#talk.children(call_id, details, undefined, out);
  }

  executionEnd(record: Native, out: Draft[]): void {
    this.#talk.result(ofExecution(record), out);
  }

  retry(record: Native, out: Draft[]): void {
    this.#retrying = true;
    this.#failure = null;
    const { status, kind } = failureOf(record);
    const attempt = countOf(record.attempt);
    const max_attempts = countOf(record.maxAttempts);
    const backoff_ms = durationOf(record.delayMs);
    const data = { attempt, max_attempts, kind, status, backoff_ms };
    out.push({ kind: 'provider_retried', data });
  }

  /** The summary is written by the model too, and costs. */
  compactionEnd(record: Native, out: Draft[]): void {
    const spent = spentOf(nativeOf(record.result)?.usage);
    if (spent) out.push({ kind: 'usage_reported', data: { mode: 'add', ...spent, model: null } });
    const text = textOf(record.errorMessage) ?? textOf(record.reason);
    out.push({ kind: 'notice', data: { code: nameOf(record.type), text } });
  }
}

function toolNames(message: Native): string[] | null {
  if (!Array.isArray(message.toolsAdded)) return null;
  return message.toolsAdded
    .map((tool) => idOf(nativeOf(tool)?.name))
    .filter((name) => name !== null);
}

type Handle = (stream: Stream, record: Native, out: Draft[]) => void;

const HANDLERS: ReadonlyMap<string, Handle> = new Map<string, Handle>([
  ['message_update', (stream, record, out) => stream.messageUpdate(record, out)],
  ['message_start', (stream, record, out) => stream.messageStart(record, out)],
  ['message_end', (stream, record, out) => stream.messageEnd(record, out)],
  ['tool_execution_start', (stream, record, out) => stream.executionStart(record, out)],
  ['tool_execution_update', (stream, record, out) => stream.executionUpdate(record, out)],
  ['tool_execution_end', (stream, record, out) => stream.executionEnd(record, out)],
  ['turn_start', (stream, _record, out) => stream.turnStart(out)],
  ['turn_end', (stream, record, out) => stream.turnEnd(record, out)],
  ['agent_start', (stream, _record, out) => stream.agentStart(out)],
  ['agent_end', (stream, record, out) => stream.agentEnd(record, out)],
  ['agent_settled', (stream, record, out) => stream.agentSettled(record, out)],
  ['session', (stream, record, out) => stream.session(record, out)],
  ['response', (stream, record, out) => stream.response(record, out)],
  ['auto_retry_start', (stream, record, out) => stream.retry(record, out)],
  ['compaction_end', (stream, record, out) => stream.compactionEnd(record, out)],
  ['auto_compaction_end', (stream, record, out) => stream.compactionEnd(record, out)],
]);
