/** Tool calls → requests, confirmations, statuses, responses (LP-2, LP-4, LP-6). */
import { LIMITS } from '../../lib/limits.ts';
import type { DataOf, Event } from '../../model/event.ts';
import type { Decision } from '../../model/words.ts';
import { type CallTimes, LiveCalls, type OpenCall } from './calls.ts';
import { argsOf, passing, responseOf, SAID_CHARS_MAX, tooLong } from './data.ts';
import { partsOf } from './texts.ts';
import type { DataAndMore, LiveWriter } from './writer.ts';

type Status = DataAndMore<'tool_execution_status'>;
type StatusMore = Pick<Status, 'progress' | 'details'>;
/** Reports an event that has no message type of its call. */
export type News = (kind: Event['kind'], data: object) => void;

type NewCall = Pick<DataOf<'call_requested'>, 'call_id' | 'native_call_id' | 'tool' | 'input'> & {
  native_tool: string | null;
};

const DECIDED: Record<Decision, Status['status']> = {
  allow: 'running',
  deny: 'cancelled',
  require_approval: 'paused',
};

/** Reasons for which tacho answers instead of the agent. */
const GIVEN_UP = {
  timeout: { status: 'timeout', reason: 'the call exceeded its time limit' },
  abandoned: { status: 'cancelled', reason: 'abandoned: the call sent no messages' },
  unanswered: { status: 'cancelled', reason: 'the session ended without an answer' },
  too_many: { status: 'cancelled', reason: 'given up: too many open calls' },
} as const;

export class LiveTools {
  readonly #writer: LiveWriter;
  readonly #calls: LiveCalls;
  readonly #news: News;
  readonly counters = { calls: 0, responses: 0, statuses_made: 0 };

  constructor(writer: LiveWriter, times: CallTimes, news: News) {
    this.#writer = writer;
    this.#calls = new LiveCalls(times);
    this.#news = news;
  }

  get due_ms(): number | null {
    return this.#calls.due_ms;
  }

  get statuses_left_out(): number {
    return this.#calls.left_out;
  }

  openIds(): string[] {
    return this.#calls.all().map(({ id }) => id);
  }

  find(call_id: string | null): OpenCall | undefined {
    return call_id === null ? undefined : this.#calls.find(call_id);
  }

  /** Notes activity of a call or of the sub-agent that it started. */
  noteActivity(call_id: string): void {
    const call = this.#calls.find(call_id);
    if (call !== undefined) this.#calls.alive(call, this.#writer.at_ms, false);
  }

  /** Marks a call that an earlier projector answered. */
  restoreAnswer(id: string): void {
    const call = this.#calls.all().find((open) => open.id === id);
    if (call !== undefined) this.#calls.close(call, true);
  }

  fallDue(now_ms: number): void {
    for (const due of this.#calls.take(now_ms)) {
      this.#writer.moment(due.at_ms, 'observed');
      if (due.what === 'status') this.#stillRuns(due.call, due.last);
      else this.#giveUp(due.call, due.what);
    }
  }

  endAll(): void {
    for (const call of this.#calls.all()) this.#giveUp(call, 'unanswered');
  }

  request(data: DataOf<'call_requested'>, step: number): void {
    const { call_id, native_call_id, reads, parent_call_id } = data;
    const open = this.#calls.get(call_id);
    if (open === undefined) this.#open(data, { native_call_id, parent_call_id, step, reads });
    else this.#news('call_requested', { call_id: open.id, native_call_id });
  }

  started(data: DataOf<'call_started'>): void {
    this.status(this.#callOf(data), 'running', {});
  }

  progress(data: DataOf<'call_progress'>): void {
    const call = this.#callOf(data);
    const { text, stream, elapsed_ms } = data;
    const progress = elapsed_ms === null ? null : { elapsed_ms };
    for (const part of text === null || text === '' ? [text] : partsOf(text))
      this.status(call, 'running', { progress, details: { text: part, stream } });
  }

  retried({ call_id, tool, ...retry }: DataOf<'call_retried'>): void {
    this.status(this.#callOf({ call_id, tool }), 'running', { details: { retry } });
  }

  decided({ call_id, tool, ...details }: DataOf<'call_decided'>): void {
    this.#decide(this.#callOf({ call_id, tool }), details);
  }

  permitted({ request_id, ...data }: DataOf<'permission_answered'>): void {
    const call = this.find(data.call_id);
    const { decision, source } = data;
    if (call === undefined) this.#news('permission_answered', { request_id, ...data });
    else this.#decide(call, { decision, reason: call.reason, source });
  }

  asked(data: DataOf<'permission_asked'>): void {
    const call = this.find(data.call_id);
    if (call === undefined) {
      this.#news('permission_asked', data);
      return;
    }
    this.#calls.alive(call, this.#writer.at_ms, false);
    const { id: call_id, tool: name, native_tool: native_name } = call;
    const { args, args_wrapped } = call.args;
    const wrapped = args_wrapped === null ? {} : { args_wrapped };
    const request = { name, native_name, args, ...wrapped, request_id: data.request_id };
    const text = data.reason || `May ${name} be used?`;
    const prompt = text.slice(0, SAID_CHARS_MAX);
    const cut = text.length > prompt.length ? { prompt_chars: text.length } : {};
    this.#writer.write('tool_call_confirmation', { call_id, request, prompt, ...cut }, call_id);
  }

  finish(data: DataOf<'call_finished'>): void {
    const late = this.#calls.late(data.call_id);
    const call = late === undefined ? this.#callOf(data) : undefined;
    if (call === undefined) {
      // One answer per call: later results are news.
      this.#news('call_finished', { ...data, call_id: late ?? data.call_id });
      return;
    }
    const long = data.output !== null && tooLong(data.output);
    const output_parts = this.#inParts(call, 'output', long ? data.output : null);
    this.#calls.close(call, false);
    this.counters.responses += 1;
    const extra = { call_id: call.id, reason: call.reason, output_parts };
    this.#writer.write('tool_call_response', responseOf(data, extra), call.id);
  }

  /** Writes nothing for an answered call. */
  status(call: OpenCall | undefined, status: Status['status'], more: StatusMore): void {
    if (call === undefined) return;
    this.#calls.alive(call, this.#writer.at_ms, true);
    const { progress = null, details = null } = more;
    const { id: call_id } = call;
    this.#writer.write('tool_execution_status', { call_id, status, progress, details }, call_id);
  }

  #decide(
    call: OpenCall | undefined,
    details: { decision: Decision; reason: string | null; source: string | null },
  ): void {
    if (call !== undefined && details.decision === 'deny') call.reason = details.reason;
    this.status(call, DECIDED[details.decision], { details: passing(details) });
  }

  /** The call of an event; a missing request is made. Undefined when the call has been answered. */
  #callOf({ call_id, tool }: { call_id: string; tool: string }): OpenCall | undefined {
    const call = this.#calls.get(call_id);
    if (call !== undefined || this.#calls.answered(call_id) !== undefined) return call;
    const named = { call_id, native_call_id: call_id, tool, native_tool: null };
    return this.#open({ ...named, input: {} }, { inferred: true });
  }

  #open(data: NewCall, more: Record<string, unknown>): OpenCall {
    const oldest = this.#calls.size >= LIMITS.live_open_calls_max ? this.#calls.first() : undefined;
    if (oldest !== undefined) this.#giveUp(oldest, 'too_many');
    const { call_id, native_call_id, native_tool } = data;
    const id = this.#calls.newId(call_id);
    const tool = data.tool || native_tool || 'unknown';
    const args = argsOf(data.input);
    const now = this.#writer.at_ms;
    const call: OpenCall = {
      ...{ id, call_id, native_call_id, tool, native_tool, args, reason: null },
      ...{ requested_ms: now, alive_ms: now, made_statuses: 0 },
      status_due_ms: now + LIMITS.live_status_first_ms,
    };
    this.#calls.add(call);
    this.counters.calls += 1;
    const head = { call_id: id, name: tool, native_name: native_tool, args: args.args };
    const wrapped = args.args_wrapped === null ? {} : { args_wrapped: args.args_wrapped };
    const request = { ...head, is_client_initiated: false, ...wrapped, ...more };
    this.#writer.write('tool_call_request', request, id);
    this.#inParts(call, 'args', args.rest);
    return call;
  }

  /** Sends a text that is too long for one message as statuses; returns their number. */
  #inParts(call: OpenCall, of: 'args' | 'output', text: string | null): number {
    const parts = text === null ? [] : [...partsOf(text)];
    parts.forEach((part, index) => {
      const details = { part_of: of, part: index + 1, parts: parts.length, text: part };
      this.status(call, 'running', { details });
    });
    return parts.length;
  }

  #stillRuns({ id: call_id, requested_ms }: OpenCall, last: boolean): void {
    this.counters.statuses_made += 1;
    const progress = { elapsed_ms: Math.max(0, this.#writer.at_ms - requested_ms) };
    const details = {
      made_by: 'tacho',
      ...(last && { note: 'the last status that is made for this call' }),
    };
    const status = 'running';
    this.#writer.write('tool_execution_status', { call_id, status, progress, details }, call_id);
  }

  #giveUp(call: OpenCall, why: keyof typeof GIVEN_UP): void {
    const duration_ms = Math.max(0, this.#writer.at_ms - call.requested_ms);
    const { status, reason } = GIVEN_UP[why];
    const response = responseOf(
      { ok: false, exit_code: null, output: null, tool: call.tool, status, duration_ms },
      { call_id: call.id, reason, output_parts: 0 },
    );
    this.#calls.close(call, true);
    this.counters.responses += 1;
    const error = { ...response.error, made_by: 'tacho', why };
    this.#writer.write('tool_call_response', { ...response, error }, call.id);
  }
}
