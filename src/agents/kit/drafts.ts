/** Writes the drafts of one decoder. Holds the output list and the current record's time and speaker. */
import { idOf, problem } from '../../lib/foreign.ts';
import type { CallFinishedDraft, CallRequestedDraft, Draft, DraftOf } from '../../model/draft.ts';
import type { DataOf } from '../../model/event.ts';
import type { CallStatus, Decision, ExitReason, ProblemCode } from '../../model/words.ts';
import { type FailureFacts, failureOf } from './failures.ts';
import type { Spent } from './usage.ts';

type Kind = Draft['kind'];
type Session = DataOf<'session_started'>;
type Retry = Omit<DataOf<'provider_retried'>, 'kind' | 'native_kind'>;
type Named = Pick<CallRequestedDraft, 'call_id' | 'native_tool'>;
type Requested = Omit<Partial<CallRequestedDraft>, keyof Named | 'input'>;
export type Time = number | undefined;
/** A change to a file made by a call. */
export type FileChange = Omit<DataOf<'file_changed'>, 'call_id'>;
/** How a call ended. */
export type CallEnd = Pick<CallFinishedDraft, 'status' | 'exit_code'>;
/** How a run ended. */
export type End = Omit<DataOf<'agent_ended'>, 'evidence'>;
export const OK: End = { exit_reason: 'ok', error: null };

const NO_SESSION: Session = {
  session_id: null,
  model: null,
  agent_version: null,
  cwd: null,
  tools: null,
  permission_mode: null,
};
const NO_RETRY: Retry = { attempt: null, max_attempts: null, status: null, backoff_ms: null };

export interface Said {
  message_id?: string | null;
  synthetic?: boolean;
  partial?: boolean;
}

export class Drafts {
  /** The record's own time; undefined if it has none. */
  at_ms: Time;
  /** The call that started the speaking sub-agent; null for the root agent, or if unknown. */
  parent: string | null = null;
  /** Whether the root agent speaks. */
  root = true;
  introduced = false;
  /** Called before the first draft that is not a problem. */
  first: (() => void) | null = null;
  #out: Draft[] = [];

  /** Starts a record: its drafts are added to `out`. The speaker is the root agent until `speak` changes it. */
  begin(out: Draft[], at_ms: Time): void {
    this.#out = out;
    this.at_ms = at_ms;
    this.parent = null;
    this.root = true;
  }

  speak(parent: string | null, root = parent === null): void {
    this.parent = parent;
    this.root = root;
  }

  /** A sub-agent of an unknown call speaks. Its text must not be mistaken for the root agent's. */
  get lost(): boolean {
    return !this.root && this.parent === null;
  }

  /** Number of drafts in the output. A record without drafts leaves it unchanged. */
  get written(): number {
    return this.#out.length;
  }

  put<K extends Kind>(kind: K, data: DraftOf<K>['data'], at_ms: Time = this.at_ms): void {
    const { first } = this;
    if (first !== null) {
      this.first = null;
      first();
    }
    this.#out.push({ kind, at_ms, data } as Draft);
  }

  problem(code: ProblemCode, detail: string): void {
    this.#out.push(problem(code, detail));
  }

  bad(detail: string): void {
    this.problem('bad_record', detail);
  }

  /** Returns the value; a missing value makes the record bad. */
  need<T>(value: T | null, detail: string): T | null {
    if (value === null) this.bad(detail);
    return value;
  }

  /** A call's id and tool. Without either, the record is bad. */
  callIn(id: unknown, tool: unknown, detail: string): Named | null {
    const [call_id, native_tool] = [idOf(id), idOf(tool)];
    const known = call_id !== null && native_tool !== null;
    return this.need(known ? { call_id, native_tool } : null, detail);
  }

  session(facts: Partial<Session>): void {
    this.introduced = true;
    this.put('session_started', { ...NO_SESSION, ...facts });
  }

  /** Like `session`, unless the session has already been introduced. */
  introduce(facts: Partial<Session>): void {
    if (!this.introduced) this.session(facts);
  }

  step(step_id: string | null): void {
    this.put('step_started', { step_id, allowed_tools: null, enforcement_mode: null });
  }

  message(role: 'assistant' | 'user', text: string, said: Said = {}, at_ms = this.at_ms): void {
    if (this.lost) return;
    const { message_id = null, synthetic = false, partial = false } = said;
    const data = { message_id, parent_call_id: this.parent, role, text, synthetic, partial };
    this.put('message_finished', data, at_ms);
  }

  thinking(text: string, message_id: string | null): void {
    if (!this.lost)
      this.put('thinking_finished', { message_id, parent_call_id: this.parent, text });
  }

  delta(kind: 'message_delta' | 'thinking_delta', text: string, message_id: string | null): void {
    this.put(kind, { message_id, parent_call_id: this.parent, text });
  }

  requested(
    call_id: string,
    native_tool: string,
    input: unknown,
    more: Requested | null = null,
  ): void {
    const asked = { call_id, native_tool, input, parent_call_id: this.parent };
    this.put('call_requested', more === null ? asked : { ...asked, ...more });
  }

  decided(call_id: string, decision: Decision, reason: string | null, source: string | null): void {
    this.put('call_decided', { call_id, decision, reason, source });
  }

  progress(call_id: string | null, text: string | null, elapsed_ms: number | null = null): void {
    if (call_id === null) return;
    this.put('call_progress', { call_id, text, elapsed_ms, stream: null });
  }

  finished(data: CallFinishedDraft): void {
    this.put('call_finished', data);
  }

  updated(call_id: string, status: CallStatus | null, exit_code: number | null = null): void {
    this.put('call_updated', { call_id, status, exit_code });
  }

  /**
   * `add`: by the speaker. `total`: of everybody. The figures are copied. In a session file, a total at the end replaces
   * the figures that were added: these only show when and by which model they were used.
   */
  usage(mode: 'add' | 'total', { usage, cost_usd }: Spent, model: string | null = null): void {
    const { parent } = this;
    const by = mode === 'add' && parent !== null ? { parent_call_id: parent } : {};
    this.put('usage_reported', { mode, usage: { ...usage }, cost_usd, model, ...by });
  }

  notice(code: string, text: string | null): void {
    this.put('notice', { code, text });
  }

  /** `failure`: the cause of the retry. */
  retried(retry: Partial<Retry>, failure: FailureFacts = {}, at_ms = this.at_ms): void {
    const status = retry.status ?? failure.status ?? null;
    const { kind, native_kind } = failureOf({ ...failure, status });
    this.put('provider_retried', { ...NO_RETRY, ...retry, status, kind, native_kind }, at_ms);
  }

  failed(facts: FailureFacts, at_ms = this.at_ms): void {
    this.put('provider_failed', failureOf(facts), at_ms);
  }

  ended(end: End, evidence: DataOf<'agent_ended'>['evidence'] = 'native_result'): void {
    this.put('agent_ended', { ...end, evidence });
  }
}

/** A part of a decoder that keeps state between records. */
export abstract class Writer {
  protected readonly to: Drafts;

  constructor(to: Drafts) {
    this.to = to;
  }
}

/** The end of a run for this reason. The error is dropped when the reason is `ok`. */
export function endFor(exit_reason: ExitReason, error: string | null): End {
  return { exit_reason, error: exit_reason === 'ok' ? null : error };
}
