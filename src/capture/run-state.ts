/**
 * What is known of a run: a fold over its events and nothing else, so that a recorder that was killed goes on from the
 * journal exactly where it stood.
 */

import { BoundedSet } from '../lib/bounded-set.ts';
import { charsIn, charsOf } from '../lib/chars-of.ts';
import { LIMITS } from '../lib/limits.ts';
import { own } from '../lib/own.ts';
import type { DataOf, Event } from '../model/event.ts';
import type { Usage } from '../model/parts.ts';
import type { CallStatus, Channel, ProblemCode } from '../model/words.ts';

export interface CallState {
  call_id: string;
  native_call_id: string;
  tool: string;
  native_tool: string;
  /** Null when the call has ended, and for an input that is too large to be kept. */
  input: unknown;
  input_chars: number;
  parent_call_id: string | null;
  requested_at_ms: number;
  /** Whether the agent itself said when; in a recording nobody else can. */
  requested_native: boolean;
  decided: boolean;
  started: boolean;
  /** Null while the call is open. */
  status: CallStatus | null;
  exit_code: number | null;
  /** What the call is about, where the session file knows it by another id. */
  key: string | null;
}

export type KeyOf = (call: { tool: string; native_tool: string; input: unknown }) => string | null;

export interface RunState {
  readonly keyOf: KeyOf | null;
  seq: number;
  /** Time of the last event; no event may be earlier. */
  at_ms: number;
  started_at_ms: number | null;
  step: number;
  step_id: string | null;
  session_id: string | null;
  model: string | null;
  agent_version: string | null;
  cwd: string | null;
  tools: string[] | null;
  permission_mode: string | null;
  /** Characters of the tools that steps repeated, and whether a step left them out. */
  step_tools_chars: number;
  tools_left_out: boolean;
  /** The last call of each of the agent's own ids: all open ones, and the latest finished ones. */
  calls: Map<string, CallState>;
  /** By unique id: those of them that have another one than the agent's, and earlier calls of an id used again. */
  marked_calls: Map<string, CallState>;
  open_calls: number;
  /** Characters of the inputs of open calls. */
  open_chars: number;
  call_count: number;
  final_parts: string[];
  /** Characters of `final_parts`; over the limit no more are kept. */
  final_chars: number;
  final_message_id: string | null;
  usage: Usage | null;
  cost_usd: number | null;
  provider_retries: number;
  provider_errors: number;
  ended: DataOf<'agent_ended'> | null;
  exited: DataOf<'process_exited'> | null;
  problems: Map<ProblemCode, number>;
  /** The run's own stream stopped in the middle of a line. */
  torn: boolean;
  /** Only to know them again in the session file; the outcome counts those beyond the limits. */
  skills: Set<string>;
  files: Set<string>;
  had_thinking: boolean;
  /** What the session file added to a live run (AG-16). */
  filled: Set<string>;
  /** The last lines of stderr, for runs that say nothing else. */
  stderr_tail: string[];
  /** Offset of the last line of each channel that gave an event. */
  read: Map<Channel, number>;
  finished: boolean;
  /** Drafts that were not recorded: the run had all the events that it may have. */
  over_limit: number;
}

export function createRunState(keyOf: KeyOf | null = null): RunState {
  return {
    keyOf,
    seq: 0,
    at_ms: 0,
    started_at_ms: null,
    step: 0,
    step_id: null,
    session_id: null,
    model: null,
    agent_version: null,
    cwd: null,
    tools: null,
    permission_mode: null,
    step_tools_chars: 0,
    tools_left_out: false,
    calls: new Map(),
    marked_calls: new Map(),
    open_calls: 0,
    open_chars: 0,
    call_count: 0,
    final_parts: [],
    final_chars: 0,
    final_message_id: null,
    usage: null,
    cost_usd: null,
    provider_retries: 0,
    provider_errors: 0,
    ended: null,
    exited: null,
    problems: new Map(),
    torn: false,
    skills: new BoundedSet(LIMITS.skill_uses_max, LIMITS.skill_uses_chars_max),
    files: new BoundedSet(LIMITS.artifacts_max, LIMITS.artifacts_chars_max),
    had_thinking: false,
    filled: new Set(),
    stderr_tail: [],
    read: new Map(),
    finished: false,
    over_limit: 0,
  };
}

/** What a filled value is called in `completeness.filled`. */
const FILLED_NAMES: Partial<Record<Event['kind'], string>> = {
  session_started: 'model',
  call_requested: 'calls',
  call_finished: 'call_results',
  call_updated: 'call_results',
  usage_reported: 'usage',
  skill_used: 'skills',
  file_changed: 'files',
  message_finished: 'text',
  thinking_finished: 'thinking',
  agent_ended: 'end',
  provider_retried: 'provider_retries',
};

export function applyEvent(state: RunState, event: Event, primary: Channel): void {
  state.seq = event.seq;
  state.at_ms = event.at_ms;
  if (event.raw !== null) {
    // Lines after the limit were not recorded: a recovery reads them again, to count them.
    if (event.seq <= LIMITS.run_events_max) state.read.set(event.raw.channel, event.raw.offset);
    if (event.raw.channel === 'session' && primary !== 'session') {
      const name = own(FILLED_NAMES, event.kind);
      if (name !== undefined) state.filled.add(name);
    }
  }
  if (event.kind === 'problem' && event.data.code === 'torn_line')
    state.torn ||= event.raw?.channel === primary;
  applyKind(state, event);
}

function applyKind(state: RunState, event: Event): void {
  switch (event.kind) {
    case 'run_started':
      state.started_at_ms = event.at_ms;
      break;
    case 'session_started':
      applySession(state, event.data);
      break;
    case 'step_started':
      state.step_tools_chars += charsIn(event.data.allowed_tools);
      state.tools_left_out ||= event.data.allowed_tools === null && state.tools !== null;
      state.step = event.data.step_index;
      state.step_id = event.data.step_id;
      forgetText(state);
      state.final_message_id = null;
      break;
    case 'message_finished':
      applyMessage(state, event.data);
      break;
    case 'thinking_finished':
      state.had_thinking = true;
      break;
    case 'usage_reported':
      applyUsage(state, event.data);
      break;
    case 'provider_retried':
      state.provider_retries += 1;
      break;
    case 'provider_failed':
      state.provider_errors += 1;
      break;
    case 'skill_used':
      state.skills.add(event.data.skill);
      break;
    case 'file_changed':
      state.files.add(event.data.path);
      break;
    case 'problem':
      countProblem(state, event.data);
      break;
    case 'notice':
      if (event.data.code === 'stderr') keepStderr(state, event.data.text);
      break;
    case 'agent_ended':
      state.ended = event.data;
      break;
    case 'process_exited':
      state.exited = event.data;
      break;
    case 'run_finished':
      state.finished = true;
      break;
    default:
      applyCall(state, event);
  }
}

function countProblem({ problems }: RunState, { code, count = 1 }: DataOf<'problem'>): void {
  problems.set(code, (problems.get(code) ?? 0) + count);
}

function keepStderr(state: RunState, text: string | null): void {
  if (text === null) return;
  for (const line of text.split('\n').slice(-5)) {
    if (line.trim() === '') continue;
    state.stderr_tail.push(line.slice(0, 300));
    if (state.stderr_tail.length > 5) state.stderr_tail.shift();
  }
}

function applySession(state: RunState, data: DataOf<'session_started'>): void {
  state.session_id ??= data.session_id;
  state.model ??= data.model;
  state.agent_version ??= data.agent_version;
  state.cwd ??= data.cwd;
  state.tools ??= data.tools;
  state.permission_mode ??= data.permission_mode;
}

function applyMessage(state: RunState, data: DataOf<'message_finished'>): void {
  if (data.role !== 'assistant' || data.parent_call_id !== null || data.synthetic) return;
  if (data.message_id !== null && data.message_id !== state.final_message_id) forgetText(state);
  state.final_message_id = data.message_id;
  if (!/\S/.test(data.text)) return;
  const room = LIMITS.final_output_chars_max - state.final_chars;
  // A text is kept whole or not at all: it is not redacted yet, and a cut could hide the rest of a secret.
  if (data.text.length <= room) state.final_parts.push(data.text);
  else if (state.final_chars === 0) state.final_parts.push(data.text.slice(0, room));
  state.final_chars += data.text.length;
}

function forgetText(state: RunState): void {
  state.final_parts = [];
  state.final_chars = 0;
}

const sum = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : a + b);

function applyUsage(state: RunState, { mode, usage, cost_usd }: DataOf<'usage_reported'>): void {
  if (mode === 'total' || state.usage === null) {
    state.usage = { ...usage };
    state.cost_usd = mode === 'total' ? cost_usd : sum(state.cost_usd, cost_usd);
    return;
  }
  const total = state.usage;
  total.input = sum(total.input, usage.input);
  total.output = sum(total.output, usage.output);
  total.cache_read = sum(total.cache_read, usage.cache_read);
  total.cache_write = sum(total.cache_write, usage.cache_write);
  total.reasoning = sum(total.reasoning, usage.reasoning);
  state.cost_usd = sum(state.cost_usd, cost_usd);
}

function applyCall(state: RunState, event: Event): void {
  if (event.kind === 'call_requested') {
    const { call_id, native_call_id, tool, native_tool, parent_call_id } = event.data;
    const call: CallState = {
      call_id,
      native_call_id,
      tool,
      native_tool,
      input: null,
      input_chars: 0,
      parent_call_id,
      requested_at_ms: event.at_ms,
      requested_native: event.at_source !== 'observed',
      decided: false,
      started: false,
      status: null,
      exit_code: null,
      key: state.keyOf === null ? null : state.keyOf(event.data),
    };
    if (call_id !== native_call_id) markCall(state, call);
    state.calls.set(native_call_id, call);
    keepInput(state, call, event.data.input);
    state.open_calls += 1;
    state.call_count += 1;
    return;
  }
  if (!('call_id' in event.data) || event.data.call_id === null) return;
  const call = findCall(state, event.data.call_id);
  if (call === undefined) return;
  if (event.kind === 'call_decided') call.decided = true;
  else if (event.kind === 'call_started') call.started = true;
  else if (event.kind === 'call_finished') {
    call.status = event.data.status;
    call.exit_code = event.data.exit_code;
    state.open_calls -= 1;
    state.open_chars -= call.input_chars;
    call.input_chars = 0;
    call.input = null;
    forgetOldCalls(state);
  } else if (event.kind === 'call_updated') {
    // Only its end closes a call.
    if (call.status !== null) call.status = event.data.status ?? call.status;
    call.exit_code = event.data.exit_code ?? call.exit_code;
  }
}

/** Few agents use an id again. */
function markCall({ calls, marked_calls }: RunState, call: CallState): void {
  const earlier = calls.get(call.native_call_id);
  if (earlier !== undefined) marked_calls.set(earlier.call_id, earlier);
  marked_calls.set(call.call_id, call);
  // Deleted first, which keeps the map in order of age.
  calls.delete(call.native_call_id);
}

/** By unique id. */
export function findCall(
  { calls, marked_calls }: RunState,
  call_id: string,
): CallState | undefined {
  const call = calls.get(call_id);
  return call?.call_id === call_id ? call : marked_calls.get(call_id);
}

function keepInput(state: RunState, call: CallState, input: unknown): void {
  const most = Math.min(
    LIMITS.open_input_chars_max,
    LIMITS.open_inputs_chars_max - state.open_chars,
  );
  const chars = charsOf(input, most);
  if (chars > most) return;
  state.open_chars += chars;
  call.input_chars = chars;
  call.input = input;
}

/** Seldom and many at once: going over a map costs more than what is deleted from it. */
function forgetOldCalls(state: RunState): void {
  const { calls, marked_calls } = state;
  const most = LIMITS.calls_remembered_max + state.open_calls;
  if (calls.size > most * 2) forgetOld(calls, most);
  if (marked_calls.size > most * 2) forgetOld(marked_calls, most);
}

function forgetOld(calls: Map<string, CallState>, most: number): void {
  for (const [key, call] of calls) {
    if (calls.size <= most) return;
    if (call.status !== null) calls.delete(key);
  }
}
