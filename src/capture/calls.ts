/**
 * The calls of a run: a request is paired with its decision, start, progress and end, by the agent's own id. Later events
 * of a call get the unique id and the tool's name that its request got.
 */
import { LIMITS } from '../lib/limits.ts';
import type { CallRequestedDraft, Draft, DraftOf } from '../model/draft.ts';
import type { DataOf, EventKind } from '../model/event.ts';
import type { ProblemCode } from '../model/words.ts';
import { sameCall } from './call-input.ts';
import type { CallState } from './call-states.ts';
import { problem } from './decode.ts';
import type { Normaliser } from './normalise.ts';
import type { RunState } from './run-state.ts';

/** Smaller steps back are normal clock corrections. */
export const CLOCK_STEP_MS = 1_000;

/** The context that handlers of drafts work in. */
export interface Context {
  state: RunState;
  normaliser: Normaliser;
  emit<K extends EventKind>(kind: K, data: DataOf<K>): void;
  /** The time of the record that is being handled. */
  now(): number;
  /** Bytes of the input before that record. */
  offset(): number;
  /** Whether the events were observed live, with a clock. */
  live: boolean;
  elapsed: (() => number) | null;
  /** When reading began, and when each open call was seen, by `elapsed`. */
  began: number;
  requested: Map<string, number>;
}

export type Handlers = { [K in Draft['kind']]?: (context: Context, draft: DraftOf<K>) => void };

export const CALL_HANDLERS: Handlers = {
  call_requested(context, { data }) {
    requestCall(context, data);
  },
  call_decided(context, { data }) {
    const call = openCall(context, data.call_id);
    if (call === undefined || call.decided || call.started) return;
    context.emit('call_decided', { ...data, ...named(call) });
  },
  call_started(context, { data }) {
    const call = openCall(context, data.call_id);
    if (call !== undefined) startCall(context, call);
  },
  call_progress(context, { data }) {
    const call = context.state.calls.get(data.call_id);
    if (call === undefined || call.status !== null) return;
    startCall(context, call);
    context.emit('call_progress', { ...data, ...named(call) });
  },
  call_finished: finishCall,
  call_updated(context, { data, at_ms }) {
    const call = context.state.calls.get(data.call_id);
    if (call === undefined) return;
    // An update of a call without a known end serves as its end.
    if (call.status === null && data.status !== null) {
      const ended = { ...data, status: data.status, duration_ms: null, output: null };
      finishCall(context, { kind: 'call_finished', at_ms, data: ended });
      return;
    }
    const news =
      (data.status !== null && data.status !== call.status) ||
      (data.exit_code !== null && data.exit_code !== call.exit_code);
    if (news) context.emit('call_updated', { ...data, ...named(call) });
  },
  call_retried(context, { data }) {
    const call = openCall(context, data.call_id);
    if (call !== undefined) context.emit('call_retried', { ...data, ...named(call) });
  },
};

const named = ({ call_id, tool }: CallState) => ({ call_id, tool });

/** Ends the oldest open calls without a result. */
export function giveUpCalls(context: Context, most: number): void {
  for (const call of [...context.state.calls.open.values()].slice(0, most)) {
    const nothing = { exit_code: null, duration_ms: null, output: null };
    context.emit('call_finished', { ...named(call), ok: false, status: 'cancelled', ...nothing });
    const detail = `${call.tool} ${call.call_id} was never answered`;
    report(context, 'unfinished_call', detail);
  }
}

function report({ emit }: Context, code: ProblemCode, detail: string, text: string | null = null) {
  emit('problem', problem('correlate', code, detail, text).data);
}

function requestCall(context: Context, draft: CallRequestedDraft): CallState | undefined {
  const { state, normaliser, emit } = context;
  const known = state.calls.get(draft.call_id);
  if (known !== undefined && known.status === null) {
    announceAgain(context, known, draft);
    return known;
  }
  if (draft.parent_call_id !== null) {
    const parent = state.calls.get(draft.parent_call_id);
    if (parent !== undefined) startCall(context, parent);
  }
  // Closed in batches: finding the oldest call means scanning all of them.
  if (state.calls.open.size >= LIMITS.open_calls_max)
    giveUpCalls(context, LIMITS.open_calls_max / 2);
  const { tool, row, input, reads, problems } = normaliser.call(draft);
  for (const code of problems) {
    const detail = `input of ${draft.native_tool} ${draft.call_id}`;
    emit('problem', problem('normalise', code, detail).data);
  }
  emit('call_requested', {
    call_id: newCallId(state, draft.call_id, known),
    native_call_id: draft.call_id,
    tool,
    native_tool: draft.native_tool,
    row,
    input,
    reads,
    parent_call_id: draft.parent_call_id,
  });
  const call = state.calls.get(draft.call_id);
  if (call !== undefined && context.elapsed !== null)
    context.requested.set(call.call_id, context.elapsed());
  return call;
}

/** An open call announced again is the same call, perhaps with more of its input. A different call counts as lost. */
function announceAgain(context: Context, call: CallState, draft: CallRequestedDraft): void {
  const { input } = context.normaliser.call(draft);
  if (call.native_tool === draft.native_tool && sameCall(call.input, input)) return;
  const detail = `${call.tool} ${call.call_id} is still open, but its id was reused for another call: ${draft.native_tool}`;
  const text = JSON.stringify(input) ?? '';
  // Completely or not at all: redaction happens later, and truncation could split a secret.
  const fits = text.length <= LIMITS.excerpt_bytes_max;
  report(context, 'contradiction', detail, fits ? text : null);
}

/** `id` → `id#2` → `id#3`: a reused id is a new call. The agent's own ids may look like that too. */
function newCallId(state: RunState, native_call_id: string, known: CallState | undefined): string {
  if (known === undefined && !state.calls.marked.has(native_call_id)) return native_call_id;
  let use = known === undefined ? 2 : useOf(known) + 1;
  while (state.calls.find(`${native_call_id}#${use}`) !== undefined) use += 1;
  return `${native_call_id}#${use}`;
}

function useOf({ call_id, native_call_id }: CallState): number {
  return Number(call_id.slice(native_call_id.length + 1)) || 1;
}

function startCall({ emit }: Context, call: CallState): void {
  if (call.started || call.status !== null) return;
  emit('call_started', named(call));
}

function openCall(context: Context, native_call_id: string): CallState | undefined {
  const call = context.state.calls.get(native_call_id);
  if (call?.status === null) return call;
  const detail = `a record of call ${native_call_id}, which was never requested`;
  if (call === undefined) report(context, 'orphan_result', detail);
  return undefined;
}

function finishCall(context: Context, { data, at_ms }: DraftOf<'call_finished'>): void {
  const { call_id, native_tool, status, exit_code, output } = data;
  let call = context.state.calls.get(call_id);
  if (call === undefined && native_tool !== undefined) {
    call = requestCall(context, { call_id, native_tool, input: null, parent_call_id: null });
  }
  if (call === undefined) {
    const detail = `a result for call ${call_id}, which was never requested`;
    report(context, 'orphan_result', detail, output);
    return;
  }
  if (call.status !== null) {
    const detail = `a second result for ${call.tool} ${call.call_id}`;
    report(context, 'duplicate_result', detail, output);
    return;
  }
  // A refused call never ran.
  if (status !== 'denied') startCall(context, call);
  const seen_ms = measured(context, call, at_ms);
  const duration_ms = statedDuration(context, call, data.duration_ms ?? null) ?? seen_ms;
  const ok = status === 'ok';
  const { call_id: id, tool } = call;
  context.emit('call_finished', { call_id: id, tool, ok, status, exit_code, duration_ms, output });
}

/** The duration that the agent states, if it is possible. */
function statedDuration(context: Context, call: CallState, ms: number | null): number | null {
  if (ms === null || isDuration(ms)) return ms;
  const detail = `the stated duration of ${call.tool} ${call.call_id} is impossible: ${ms} ms; recorded as unknown`;
  report(context, 'figure_invalid', detail);
  return null;
}

/** Whether a call can have taken this long. */
export const isDuration = (ms: number): boolean => ms >= 0 && ms <= LIMITS.call_ms_max;

/** Clocks may be adjusted while a call runs, including the agent's: no call took longer than the run. */
function measured(context: Context, call: CallState, native_ms: number | undefined): number | null {
  const { live, elapsed, began, requested } = context;
  const seen = elapsed === null ? undefined : requested.get(call.call_id);
  if (seen !== undefined) requested.delete(call.call_id);
  const native = call.requested_native && native_ms !== undefined;
  // In a recording only the agent's own times count.
  if (!live && !native) return null;
  const by_clock = Math.max(0, (native_ms ?? context.now()) - call.requested_at_ms);
  if (elapsed === null || seen === undefined) return by_clock;
  const now = elapsed();
  return native && by_clock <= now - began + CLOCK_STEP_MS ? by_clock : Math.round(now - seen);
}
