/**
 * Canonical events → messages of the live protocol (LP-2 to LP-6).
 * Contract: session_start is first and session_end last; numbers start at 1 without a gap; times never go back; the
 * request of a call precedes its other messages, and each call has one answer. Timed messages come from `tick`, or with
 * the next event if that is later, and carry the time at which they were due.
 * Events without a message type are `news` in a `session_state`; docs/reference/live-projection.md has the table.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { DataOf, Event, EventOf } from '../../model/event.ts';
import type { LiveMessage } from '../../model/live.ts';
import {
  captureProblem,
  passing,
  providerError,
  providerRetry,
  sessionEnd,
  sessionStart,
} from './data.ts';
import { LiveTexts } from './texts.ts';
import { LiveTools } from './tools.ts';
import { type DataAndMore, LiveWriter, type Trace } from './writer.ts';

export interface LiveProjectorOptions {
  session_id: string;
  /** A call that runs longer is answered with TOOL_TIMEOUT; null for no limit. */
  call_timeout_ms: number | null;
  trace: Trace;
  /** A call without events for this time is given up; null for never, as in a recording, which is complete. */
  abandoned_ms?: number | null;
}

type Handlers = { [K in Event['kind']]?: (to: LiveProjector, event: EventOf<K>) => void };

/** Kinds that are neither here nor in SILENT become a status of their open call, otherwise news. */
const HANDLERS: Handlers = {
  session_started: (to, { kind, data }) => {
    to.texts.model = data.model ?? to.texts.model;
    to.news(kind, data);
  },
  message_delta: (to, { data }) => to.texts.delta('text', data),
  thinking_delta: (to, { data }) => to.texts.delta('thinking', data),
  message_finished: (to, { data }) => to.texts.message(data),
  thinking_finished: (to, { data }) => to.texts.thought(data),
  call_requested: (to, { data, step }) => {
    to.texts.pause(data.parent_call_id);
    to.tools.request(data, step);
  },
  call_decided: (to, { data }) => to.tools.decided(data),
  call_started: (to, { data }) => to.tools.started(data),
  call_progress: (to, { data }) => to.tools.progress(data),
  call_retried: (to, { data }) => to.tools.retried(data),
  call_finished: (to, { data }) => to.tools.finish(data),
  permission_asked: (to, { data }) => to.tools.asked(data),
  permission_answered: (to, { data }) => to.tools.permitted(data),
  provider_failed: (to, { data }) => to.error(providerError(data)),
  provider_retried: (to, { data }) => to.error(providerRetry(data)),
  problem: (to, event) => to.error(captureProblem(event)),
  process_exited: (to, { data }) => {
    to.cause = data.cause;
  },
  run_finished: (to, { data }) => to.end(data),
};

/** Steps are in the requests and totals; the agent's end is in session_end. */
const SILENT: ReadonlySet<string> = new Set(['step_started', 'step_finished', 'agent_ended']);
/** Kinds that end a message without an open block. */
const PAUSES: ReadonlySet<string> = new Set(['step_started', 'step_finished', 'run_finished']);

export class LiveProjector {
  readonly #writer: LiveWriter;
  readonly texts: LiveTexts;
  readonly tools: LiveTools;
  /** Why the agent's process was ended; null if it was not. */
  cause: string | null = null;
  #state: 'new' | 'open' | 'ended' = 'new';
  #errors = 0;

  constructor(options: LiveProjectorOptions) {
    const { session_id, trace, call_timeout_ms, abandoned_ms = LIMITS.live_abandoned_ms } = options;
    this.#writer = new LiveWriter(session_id, trace);
    this.texts = new LiveTexts(this.#writer);
    const news = this.news.bind(this);
    this.tools = new LiveTools(this.#writer, { call_timeout_ms, abandoned_ms }, news);
  }

  /** When to call `tick` next; null for not before the next event. The call may return nothing. */
  get due_ms(): number | null {
    return this.#state === 'open' ? this.tools.due_ms : null;
  }

  push(event: Event): LiveMessage[] {
    if (this.#state === 'ended') return [];
    // Entries due at this very moment wait: the event may be the answer.
    if (this.#state === 'open') this.tools.fallDue(event.at_ms - 1);
    this.#writer.moment(event.at_ms, event.at_source);
    if (this.#state === 'new') this.#start(event);
    if (event.kind !== 'run_started') this.#handle(event);
    return this.#writer.take();
  }

  /** The messages that are due by now. */
  tick(now_ms: number): LiveMessage[] {
    if (this.#state === 'open') this.tools.fallDue(now_ms);
    return this.#writer.take();
  }

  /** Continues after a message that an earlier projector of the session made from the events pushed so far. */
  restore(message: LiveMessage): void {
    this.#writer.continueAfter(message, Date.parse(message.timestamp));
    if (message.type === 'session_end') this.#state = 'ended';
    if (message.type === 'tool_call_response')
      this.tools.restoreAnswer((message as LiveMessage<'tool_call_response'>).data.call_id);
  }

  #start(event: Event): void {
    this.#state = 'open';
    const started: DataAndMore<'session_start'> =
      event.kind === 'run_started' ? sessionStart(event.data) : { agent: 'unknown' };
    this.texts.model = started.model ?? null;
    this.#writer.write('session_start', started);
  }

  #handle(event: Event): void {
    if (PAUSES.has(event.kind)) this.texts.pause(null);
    const { parent_call_id } = event.data as { parent_call_id?: string | null };
    if (parent_call_id != null) this.tools.noteActivity(parent_call_id);
    const handler = HANDLERS[event.kind] as ((to: LiveProjector, event: Event) => void) | undefined;
    if (handler !== undefined) handler(this, event);
    else if (!SILENT.has(event.kind)) this.#other(event);
  }

  #other({ kind, data }: Event): void {
    const { call_id = null } = data as { call_id?: string | null };
    const call = this.tools.find(call_id);
    if (call === undefined) this.news(kind, data);
    else this.tools.status(call, 'running', { details: { kind, ...passing({ ...data }) } });
  }

  /** Linked to the previous message as the probable cause. */
  error(data: DataAndMore<'error'>): void {
    this.#errors += 1;
    const { correlation_id = null, message_id = null, seq = null } = this.#writer.last ?? {};
    this.#writer.write('error', { ...data, caused_by: { correlation_id, message_id, seq } });
  }

  /** Reports an event without a message type, with the state of the session. */
  news(kind: Event['kind'], data: object): void {
    const open = this.tools.openIds();
    this.#writer.write('session_state', {
      status: 'active',
      open_calls: open.slice(0, LIMITS.live_open_calls_named_max),
      last_seq: this.#writer.seq + 1,
      counters: { ...this.tools.counters, open_calls: open.length, errors: this.#errors },
      news: { kind, ...passing({ ...data }) },
    });
  }

  end(data: DataOf<'run_finished'>): void {
    this.texts.end();
    this.tools.endAll();
    const { responses, statuses_made } = this.tools.counters;
    const { statuses_left_out } = this.tools;
    const totals = { responses, errors: this.#errors, statuses_made, statuses_left_out };
    this.#writer.write('session_end', { ...sessionEnd(data, totals), cause: this.cause });
    this.#state = 'ended';
  }
}
