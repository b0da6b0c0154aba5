/**
 * The state of a run: a fold over its events and nothing else, so that capture continues from the journal after a
 * recorder was killed.
 */
import { BoundedSet } from '../lib/bounded-set.ts';
import { charsIn, charsOf } from '../lib/chars-of.ts';
import { LIMITS } from '../lib/limits.ts';
import { own } from '../lib/own.ts';
import type { DataOf, Event, EventOf } from '../model/event.ts';
import { FinalText, OpenCalls, RunFold } from '../model/run-fold.ts';
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

export class RunState extends RunFold {
  readonly keyOf: KeyOf | null;
  seq = 0;
  /** Time of the last event; no event may be earlier. */
  at_ms = 0;
  step_id: string | null = null;
  tools: string[] | null = null;
  permission_mode: string | null = null;
  /** Characters of the tools that steps repeated, and whether a step left them out. */
  step_tools_chars = 0;
  tools_left_out = false;
  readonly open_calls = new OpenCalls((event) => newCall(this, event));
  /** The last call of each of the agent's own ids: all open ones, and the latest finished ones. */
  readonly calls = new Map<string, CallState>();
  /** By unique id: those of them that have another one than the agent's, and earlier calls of an id used again. */
  readonly marked_calls = new Map<string, CallState>();
  /** Characters of the inputs of open calls. */
  open_chars = 0;
  readonly text = new FinalText(LIMITS.final_output_chars_max);
  ended: DataOf<'agent_ended'> | null = null;
  exited: DataOf<'process_exited'> | null = null;
  readonly problems = new Map<ProblemCode, number>();
  /** The run's own stream stopped in the middle of a line. */
  torn = false;
  /** Only to know them again in the session file; the outcome counts those beyond the limits. */
  readonly skills: Set<string> = new BoundedSet(LIMITS.skill_uses_max, LIMITS.skill_uses_chars_max);
  readonly files: Set<string> = new BoundedSet(LIMITS.artifacts_max, LIMITS.artifacts_chars_max);
  had_thinking = false;
  /** What the session file added to a live run (AG-16). */
  readonly filled = new Set<string>();
  /** The last lines of stderr, for runs that say nothing else. */
  readonly stderr_tail: string[] = [];
  /** Offset of the last line of each channel that gave an event. */
  readonly read = new Map<Channel, number>();
  /** Drafts that were not recorded: the run had all the events that it may have. */
  over_limit = 0;

  constructor(keyOf: KeyOf | null = null) {
    super();
    this.keyOf = keyOf;
  }
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
  state.push(event);
  state.text.push(event);
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
    case 'session_started':
      state.tools ??= event.data.tools;
      state.permission_mode ??= event.data.permission_mode;
      break;
    case 'step_started':
      state.step_tools_chars += charsIn(event.data.allowed_tools);
      state.tools_left_out ||= event.data.allowed_tools === null && state.tools !== null;
      state.step_id = event.data.step_id;
      break;
    case 'thinking_finished':
      state.had_thinking = true;
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

function applyCall(state: RunState, event: Event): void {
  const open = state.open_calls.push(event);
  if (event.kind === 'call_updated') updateCall(findCall(state, event.data.call_id), event.data);
  if (open === undefined) return;
  if (event.kind === 'call_decided') open.decided = true;
  else if (event.kind === 'call_started') open.started = true;
  else if (event.kind === 'call_finished') {
    open.status = event.data.status;
    open.exit_code = event.data.exit_code;
    state.open_chars -= open.input_chars;
    open.input_chars = 0;
    open.input = null;
    forgetOldCalls(state);
  }
}

function updateCall(call: CallState | undefined, data: DataOf<'call_updated'>): void {
  if (call === undefined) return;
  // Only its end closes a call.
  if (call.status !== null) call.status = data.status ?? call.status;
  call.exit_code = data.exit_code ?? call.exit_code;
}

function newCall(
  state: RunState,
  { data, at_ms, at_source }: EventOf<'call_requested'>,
): CallState {
  const { call_id, native_call_id, tool, native_tool, parent_call_id } = data;
  const call: CallState = {
    call_id,
    native_call_id,
    tool,
    native_tool,
    input: null,
    input_chars: 0,
    parent_call_id,
    requested_at_ms: at_ms,
    requested_native: at_source !== 'observed',
    decided: false,
    started: false,
    status: null,
    exit_code: null,
    key: state.keyOf === null ? null : state.keyOf(data),
  };
  if (call_id !== native_call_id) markCall(state, call);
  state.calls.set(native_call_id, call);
  keepInput(state, call, data.input);
  return call;
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
  const most = LIMITS.calls_remembered_max + state.open_calls.size;
  if (calls.size > most * 2) forgetOld(calls, most);
  if (marked_calls.size > most * 2) forgetOld(marked_calls, most);
}

function forgetOld(calls: Map<string, CallState>, most: number): void {
  for (const [key, call] of calls) {
    if (calls.size <= most) return;
    if (call.status !== null) calls.delete(key);
  }
}
