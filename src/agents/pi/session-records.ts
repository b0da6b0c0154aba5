/**
 * Session files: the same messages as on stdout, without their updates, the tools' own events and the bounds of turns
 * and runs. How the run ended is inferred from the model's last message.
 */
import type { Decoder } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import { type End, endAfter, type Failure, failureOf, providerFailed } from './failures.ts';
import { Conversation } from './messages.ts';
import {
  beginOf,
  idOf,
  isNative,
  type Native,
  nameOf,
  nativeOf,
  problem,
  textOf,
  timeOf,
} from './native.ts';
import { ROLES_IGNORED, SESSION_IGNORED } from './records.ts';
import { added, type Spent, spentOf } from './usage.ts';

export function sessionDecoder(since_ms: number | null): Decoder {
  return new SessionRecords(since_ms);
}

/** A failed message, until it is known whether it was tried again. */
interface Failed {
  readonly entry_id: string | null;
  readonly failure: Failure;
  readonly at_ms: number | undefined;
}

class SessionRecords implements Decoder {
  readonly #since_ms: number | null;
  readonly #talk = new Conversation();
  #header: Native | null = null;
  #model: string | null = null;
  /** What the beginning has told: nothing, who speaks, or with which model too. */
  #told: 'nothing' | 'session' | 'model' = 'nothing';
  #now_ms: number | undefined;
  #spent: Spent | null = null;
  #failed: Failed | null = null;
  /** Null: nothing tells how the run ended. */
  #end: End | null = null;

  constructor(since_ms: number | null) {
    this.#since_ms = since_ms;
  }

  record(value: unknown, out: Draft[]): void {
    if (!isNative(value)) {
      out.push(problem('bad_record', 'record is no object'));
      return;
    }
    this.#now_ms = timeOf(value) ?? this.#now_ms;
    if (value.type === 'session') this.#header ??= value;
    else if (value.type === 'model_change') this.#modelChange(value, out);
    else if (!this.#isEarlier()) this.#entry(value, out);
  }

  end(out: Draft[]): void {
    if (this.#told === 'nothing' && this.#header) this.#introduce(this.#now_ms, out);
    if (this.#failed) out.push(providerFailed(this.#failed.failure, this.#failed.at_ms));
    this.#failed = null;
    if (this.#spent) {
      const data = { mode: 'total' as const, ...this.#spent, model: null };
      out.push({ kind: 'usage_reported', data });
    }
    if (this.#end) out.push({ kind: 'agent_ended', data: { ...this.#end, evidence: 'inferred' } });
  }

  /** Of an earlier run of the same session. */
  #isEarlier(): boolean {
    return this.#since_ms !== null && (this.#now_ms ?? 0) < this.#since_ms;
  }

  #introduce(at_ms: number | undefined, out: Draft[]): void {
    if (this.#told === 'model' || (this.#told === 'session' && this.#model === null)) return;
    this.#told = this.#model === null ? 'session' : 'model';
    const session_id = idOf(this.#header?.id);
    const rest = { agent_version: null, tools: null, permission_mode: null };
    const data = { session_id, model: this.#model, cwd: textOf(this.#header?.cwd), ...rest };
    out.push({ kind: 'session_started', at_ms, data });
  }

  #modelChange(record: Native, out: Draft[]): void {
    this.#model = idOf(record.modelId) ?? this.#model;
    if (!this.#isEarlier()) this.#introduce(timeOf(record), out);
  }

  #entry(record: Native, out: Draft[]): void {
    const at_ms = timeOf(record);
    switch (record.type) {
      case 'message':
        this.#message(record, at_ms, out);
        break;
      case 'compaction':
      case 'branch_summary':
        // The summary is written by the model too, and costs.
        this.#spent = added(this.#spent, spentOf(record.usage));
        out.push({ kind: 'notice', at_ms, data: { code: record.type, text: null } });
        break;
      case 'context_edit':
        // A failed message is taken out of the context before it is tried again.
        if (this.#failed && idOf(record.targetId) === this.#failed.entry_id) this.#retried(out);
        break;
      default: {
        const name = nameOf(record.type);
        if (SESSION_IGNORED.has(name)) return;
        out.push(problem(record.type === undefined ? 'bad_record' : 'unknown_record', name));
      }
    }
  }

  #message(record: Native, at_ms: number | undefined, out: Draft[]): void {
    const message = nativeOf(record.message);
    const role = textOf(message?.role);
    if (message === null || role === null) {
      out.push(problem('bad_record', 'message without role'));
      return;
    }
    if (role === 'assistant') this.#assistant(record, message, at_ms, out);
    else if (role === 'toolResult') {
      this.#end = null;
      this.#talk.resultMessage(message, at_ms, out);
    } else if (role === 'user') {
      this.#introduce(at_ms, out);
      if (this.#failed) out.push(providerFailed(this.#failed.failure, this.#failed.at_ms));
      this.#failed = null;
      this.#end = null;
      this.#talk.user(message, at_ms, out);
    } else if (role !== 'system' && !ROLES_IGNORED.has(role)) {
      out.push(problem('unknown_record', `message/${role}`));
    }
  }

  #assistant(record: Native, message: Native, at_ms: number | undefined, out: Draft[]): void {
    if (this.#failed) this.#retried(out);
    this.#model ??= idOf(message.model);
    const begin = beginOf(message) ?? at_ms;
    this.#introduce(begin, out);
    const step = { step_id: null, allowed_tools: null, enforcement_mode: null };
    out.push({ kind: 'step_started', at_ms: begin, data: step });
    this.#talk.assistant(message, { parent: null, at_ms }, out);
    const reason = textOf(message.stopReason);
    this.#spent = added(this.#spent, spentOf(message.usage));
    this.#end = reason === 'toolUse' || reason === 'pending' ? null : endAfter(message);
    if (reason !== 'error') return;
    this.#failed = { entry_id: idOf(record.id), failure: failureOf(message), at_ms };
  }

  #retried(out: Draft[]): void {
    if (this.#failed === null) return;
    const { failure, at_ms } = this.#failed;
    this.#failed = null;
    this.#end = null;
    const { status, kind } = failure;
    const data = { attempt: null, max_attempts: null, kind, status, backoff_ms: null };
    out.push({ kind: 'provider_retried', at_ms, data });
  }
}
