/**
 * Drafts → events: pairs calls, keeps order (RE-11), counts steps, measures durations, copies the tool's name onto every
 * later event of a call, never lets time go back. Pure: time comes in, events go out.
 */
import { LIMITS } from '../lib/limits.ts';
import type { CallRequestedDraft, Draft, DraftOf } from '../model/draft.ts';
import type { DataOf, Event, Raw } from '../model/event.ts';
import type { Usage } from '../model/parts.ts';
import type { Channel, EventKind } from '../model/words.ts';
import { sameCall } from './call-input.ts';
import { problem } from './decode.ts';
import type { Normaliser } from './normalise.ts';
import type { RunInfo } from './run-info.ts';
import { applyEvent, type CallState, findCall, type RunState } from './run-state.ts';
import { keptSession, startStep } from './session-facts.ts';

export interface CorrelatorOptions {
  info: RunInfo;
  normaliser: Normaliser;
  state: RunState;
  /** Where the run's own stream comes from. */
  primary: Channel;
  /** Wall time; null when a recording is read: then only the agent's own times count. */
  now: (() => number) | null;
  /** Time that cannot be set, in ms since any moment; null or absent where nobody saw the events come. */
  elapsed?: (() => number) | null;
}

export interface Correlator {
  draft(draft: Draft, raw: Raw | null, out: Event[]): void;
  /** Makes the events that wait for the run's first sure moment. */
  settle(out: Event[]): void;
  emit<K extends EventKind>(kind: K, data: DataOf<K>, raw: Raw | null, out: Event[]): void;
  closeCalls(out: Event[]): void;
}

/** A smaller step back is what clocks do when they are set right. */
const CLOCK_STEP_MS = 1_000;

interface Waiting {
  draft: Draft;
  raw: Raw | null;
}

/** Drafts that may come before the agent has said who it is. */
const PRELUDE = new Set<EventKind>([
  'problem',
  'notice',
  'hook_finished',
  'message_finished',
  'provider_retried',
]);

export function createCorrelator(options: CorrelatorOptions): Correlator {
  return new Correlation(options);
}

class Correlation implements Correlator {
  readonly #options: CorrelatorOptions;
  #waiting: Waiting[] | null;
  #native_ms: number | undefined;
  #clock_told = false;
  /** What the handlers see; one for all drafts, as there are many. */
  readonly #context: Context;
  #raw: Raw | null = null;
  #out: Event[] = [];

  constructor(options: CorrelatorOptions) {
    const { state, normaliser } = options;
    this.#context = {
      state,
      normaliser,
      emit: (kind, data) => this.emit(kind, data, this.#raw, this.#out),
      now: () => this.#moment(options.now?.()).at_ms,
      offset: () => this.#raw?.offset ?? 0,
      live: options.now !== null,
      elapsed: options.elapsed ?? null,
      began: options.elapsed?.() ?? 0,
      requested: new Map(),
    };
    this.#options = options;
    this.#waiting = options.state.started === null ? [] : null;
  }

  emit<K extends EventKind>(kind: K, data: DataOf<K>, raw: Raw | null, out: Event[]): void {
    const { state, info, now, primary } = this.#options;
    const wall = now === null ? undefined : now();
    if (wall !== undefined && wall < state.at_ms - CLOCK_STEP_MS && !this.#clock_told) {
      this.#clock_told = true;
      const detail = `the clock went back by ${state.at_ms - wall} ms; times are held until it catches up`;
      this.emit('problem', problem('process', 'clock_went_back', detail).data, null, out);
    }
    const { at_ms, at_source } = this.#moment(wall);
    const step = kind === 'step_started' ? state.step + 1 : state.step;
    const seq = state.seq + 1;
    const event = { v: 1, run_id: info.run_id, seq, at_ms, at_source, step, kind, raw, data };
    applyEvent(state, event as unknown as Event, primary);
    out.push(event as unknown as Event);
  }

  /** When the event that is being made happened. */
  #moment(wall: number | undefined): Pick<Event, 'at_ms' | 'at_source'> {
    const { state } = this.#options;
    let at_ms = this.#native_ms ?? wall ?? state.at_ms;
    // An agent's clock that runs ahead must not push the run into the future.
    if (wall !== undefined && at_ms > wall) at_ms = wall;
    if (at_ms < state.at_ms) return { at_ms: state.at_ms, at_source: 'clamped' };
    return { at_ms, at_source: this.#native_ms === undefined ? 'observed' : 'native' };
  }

  draft(draft: Draft, raw: Raw | null, out: Event[]): void {
    const { latest_ms = Number.POSITIVE_INFINITY } = this.#options.info;
    if (draft.at_ms !== undefined && draft.at_ms > latest_ms) {
      const detail = `times in the future, taken as unknown: ${draft.at_ms}`;
      draft.at_ms = undefined;
      if (!this.#clock_told) this.draft(problem('correlate', 'figure_invalid', detail), null, out);
      this.#clock_told = true;
    }
    if (this.#options.state.seq >= LIMITS.run_events_max && !this.#endsRun(draft, raw)) {
      if (draft.kind !== 'agent_ended') this.#options.state.over_limit += 1;
      return;
    }
    if (draft.kind !== 'session_started') this.#take(draft, raw, out);
    else for (const kept of keptSession(draft)) this.#take(kept, raw, out);
  }

  #take(draft: Draft, raw: Raw | null, out: Event[]): void {
    if (this.#waiting === null) {
      this.#handle(draft, raw, out);
      return;
    }
    this.#waiting.push({ draft, raw });
    if (this.#ready(draft) || this.#tooMuchWaits(raw)) this.settle(out);
  }

  #tooMuchWaits(raw: Raw | null): boolean {
    const waiting = this.#waiting ?? [];
    const bytes = (raw?.offset ?? 0) - (waiting[0]?.raw?.offset ?? 0);
    return waiting.length > LIMITS.waiting_drafts_max || bytes > LIMITS.waiting_bytes_max;
  }

  /** What a run over its limit still records: its end, and tacho's own problems with it. */
  #endsRun({ kind }: Draft, raw: Raw | null): boolean {
    const { state } = this.#options;
    const room = (LIMITS.session_events_max - LIMITS.run_events_max) / 2;
    if (state.seq >= LIMITS.run_events_max + room) return false;
    return kind === 'agent_ended' ? state.ended === null : kind === 'problem' && raw === null;
  }

  /** Whether the run can begin: somebody has said who speaks and (in a recording) what time it is. */
  #ready(draft: Draft): boolean {
    if (this.#options.now !== null) return !PRELUDE.has(draft.kind);
    const timed = draft.at_ms !== undefined;
    return timed && (this.#waiting ?? []).some((entry) => !PRELUDE.has(entry.draft.kind));
  }

  settle(out: Event[]): void {
    if (this.#waiting === null) return;
    const held = this.#waiting;
    this.#waiting = null;
    this.#native_ms = held.find((entry) => entry.draft.at_ms !== undefined)?.draft.at_ms;
    const session = held.find((entry) => entry.draft.kind === 'session_started');
    const data = session === undefined ? null : (session.draft.data as DataOf<'session_started'>);
    // The first line begins the run; a recovery goes on from the line that the last event names.
    this.#startRun(held[0]?.raw ?? null, data, out);
    for (const entry of held) this.#handle(entry.draft, entry.raw, out);
  }

  #startRun(raw: Raw | null, session: DataOf<'session_started'> | null, out: Event[]): void {
    const { info } = this.#options;
    const agent_version = session?.agent_version ?? null;
    const model = session?.model ?? info.model;
    const tools = session?.tools ?? null;
    const data: DataOf<'run_started'> = {
      agent: info.agent,
      agent_version,
      model,
      session_id: session?.session_id ?? info.session_id,
      cwd: info.cwd ?? session?.cwd ?? null,
      fingerprint: info.fingerprint({ agent_version, model, tools }),
      prompt: info.prompt,
      config: info.config,
    };
    this.#native_ms = info.started_ms ?? this.#native_ms;
    this.emit('run_started', data, raw, out);
  }

  #handle(draft: Draft, raw: Raw | null, out: Event[]): void {
    this.#native_ms = draft.at_ms;
    const make = HANDLERS[draft.kind] as ((context: Context, draft: Draft) => void) | undefined;
    if (make === undefined) {
      this.emit(draft.kind, draft.data as DataOf<typeof draft.kind>, raw, out);
    } else {
      this.#raw = raw;
      this.#out = out;
      make(this.#context, draft);
    }
    this.#native_ms = undefined;
  }

  closeCalls(out: Event[]): void {
    this.#raw = null;
    this.#out = out;
    giveUpCalls(this.#context, Number.POSITIVE_INFINITY);
  }
}

/** Ends the oldest open calls without a result. */
function giveUpCalls({ state, emit }: Context, most: number): void {
  for (const { call_id, tool } of [...state.open_calls.values()].slice(0, most)) {
    const nothing = { exit_code: null, duration_ms: null, output: null };
    emit('call_finished', { call_id, tool, ok: false, status: 'cancelled', ...nothing });
    const detail = `${tool} ${call_id} was never answered`;
    emit('problem', problem('correlate', 'unfinished_call', detail).data);
  }
}

interface Context {
  state: RunState;
  normaliser: Normaliser;
  emit<K extends EventKind>(kind: K, data: DataOf<K>): void;
  /** The time of the record that is being handled. */
  now(): number;
  /** Bytes of the input before that record. */
  offset(): number;
  /** Whether a clock saw the events come. */
  live: boolean;
  elapsed: (() => number) | null;
  /** When the reading began, and when each open call was seen, by `elapsed`. */
  began: number;
  requested: Map<string, number>;
}

type Handlers = { [K in Draft['kind']]?: (context: Context, draft: DraftOf<K>) => void };

const HANDLERS: Handlers = {
  step_started(context, { data }) {
    startStep(context, data);
  },
  call_requested(context, { data }) {
    requestCall(context, data);
  },
  call_decided(context, { data }) {
    const call = openCall(context, data.call_id);
    if (call === undefined || call.decided || call.started) return;
    context.emit('call_decided', { ...data, call_id: call.call_id, tool: call.tool });
  },
  call_started(context, { data }) {
    const call = openCall(context, data.call_id);
    if (call !== undefined) startCall(context, call);
  },
  call_progress(context, { data }) {
    const call = context.state.calls.get(data.call_id);
    if (call === undefined || call.status !== null) return;
    startCall(context, call);
    context.emit('call_progress', { ...data, call_id: call.call_id, tool: call.tool });
  },
  call_finished: finishCall,
  call_updated(context, { data, at_ms }) {
    const { state, emit } = context;
    const call = state.calls.get(data.call_id);
    if (call === undefined) return;
    // Later news of a call that nobody said had ended are its end.
    if (call.status === null && data.status !== null) {
      const { call_id, status, exit_code } = data;
      const ended = { call_id, status, exit_code, duration_ms: null, output: null };
      const end: DraftOf<'call_finished'> = { kind: 'call_finished', data: ended };
      finishCall(context, at_ms === undefined ? end : { ...end, at_ms });
      return;
    }
    const news =
      (data.status !== null && data.status !== call.status) ||
      (data.exit_code !== null && data.exit_code !== call.exit_code);
    if (news) emit('call_updated', { ...data, call_id: call.call_id, tool: call.tool });
  },
  call_retried(context, { data }) {
    const call = openCall(context, data.call_id);
    if (call !== undefined)
      context.emit('call_retried', { ...data, call_id: call.call_id, tool: call.tool });
  },
  usage_reported({ emit }, { data }) {
    const { usage, cost_usd } = data;
    const refused = FIGURES.filter((name) => !isPossible(usage[name]));
    if (refused.length === 0 && isPossible(cost_usd)) {
      emit('usage_reported', data);
      return;
    }
    const figures = refused.map((name) => usage[name]);
    if (!isPossible(cost_usd)) figures.push(cost_usd);
    const detail = `figures below 0, taken as unknown: ${figures.join(', ')}`;
    emit('problem', problem('correlate', 'figure_invalid', detail).data);
    const unknown = Object.fromEntries(refused.map((name) => [name, null]));
    emit('usage_reported', {
      ...data,
      usage: { ...usage, ...unknown },
      cost_usd: isPossible(cost_usd) ? cost_usd : null,
    });
  },
  step_blocked({ state, normaliser, emit }, { data }) {
    const tool = normaliser.toolName(data.tool);
    emit('step_blocked', { reason: data.reason, tool, step_id: data.step_id ?? state.step_id });
  },
  permission_asked({ normaliser, emit }, { data }) {
    emit('permission_asked', { ...data, tool: normaliser.toolName(data.tool) });
  },
  permission_answered({ normaliser, emit }, { data }) {
    emit('permission_answered', { ...data, tool: normaliser.toolName(data.tool) });
  },
};

const FIGURES = [
  'input',
  'output',
  'cache_read',
  'cache_write',
  'reasoning',
] as const satisfies (keyof Usage)[];

/** Sums and differences of figures that were possible by themselves. */
function isPossible(figure: unknown): boolean {
  return figure === null || (Number.isFinite(figure) && (figure as number) >= 0);
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
  // Half of them at once: an agent that leaves this many calls open leaves more.
  if (state.open_calls.size >= LIMITS.open_calls_max)
    giveUpCalls(context, LIMITS.open_calls_max / 2);
  const { tool, row, input, reads, problems } = normaliser.call(draft);
  for (const code of problems)
    emit(
      'problem',
      problem('normalise', code, `input of ${draft.native_tool} ${draft.call_id}`).data,
    );
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

/** An open call that is announced again is the same call, perhaps with more of its input. Another one is a loss. */
function announceAgain({ normaliser, emit }: Context, call: CallState, draft: CallRequestedDraft) {
  const { input } = normaliser.call(draft);
  if (call.native_tool === draft.native_tool && sameCall(call.input, input)) return;
  const detail = `${call.tool} ${call.call_id} is open and was requested again as another call: ${draft.native_tool}`;
  const text = JSON.stringify(input) ?? '';
  // Whole or not at all: it is redacted later, and a cut could hide the rest of a secret.
  const fits = text.length <= LIMITS.excerpt_bytes_max;
  emit('problem', problem('correlate', 'contradiction', detail, fits ? text : null).data);
}

/** `id` → `id#2` → `id#3`: an id that the agent uses again is another call. The agent's own ids may have such marks. */
function newCallId(state: RunState, native_call_id: string, known: CallState | undefined): string {
  if (known === undefined && !state.marked_calls.has(native_call_id)) return native_call_id;
  let use = known === undefined ? 2 : useOf(known) + 1;
  while (findCall(state, `${native_call_id}#${use}`) !== undefined) use += 1;
  return `${native_call_id}#${use}`;
}

function useOf({ call_id, native_call_id }: CallState): number {
  return Number(call_id.slice(native_call_id.length + 1)) || 1;
}

function startCall({ emit }: Context, call: CallState): void {
  if (call.started || call.status !== null) return;
  emit('call_started', { call_id: call.call_id, tool: call.tool });
}

function openCall(context: Context, native_call_id: string): CallState | undefined {
  const call = context.state.calls.get(native_call_id);
  if (call === undefined) {
    context.emit(
      'problem',
      problem(
        'correlate',
        'orphan_result',
        `a record of call ${native_call_id}, which was never requested`,
      ).data,
    );
    return undefined;
  }
  return call.status === null ? call : undefined;
}

function finishCall(context: Context, draft: DraftOf<'call_finished'>): void {
  const { state, emit } = context;
  const { data } = draft;
  let call = state.calls.get(data.call_id);
  if (call === undefined && data.native_tool !== undefined) {
    call = requestCall(context, {
      call_id: data.call_id,
      native_tool: data.native_tool,
      input: null,
      parent_call_id: null,
    });
  }
  if (call === undefined) {
    emit(
      'problem',
      problem(
        'correlate',
        'orphan_result',
        `a result for call ${data.call_id}, which was never requested`,
        data.output,
      ).data,
    );
    return;
  }
  if (call.status !== null) {
    emit(
      'problem',
      problem(
        'correlate',
        'duplicate_result',
        `a second result for ${call.tool} ${call.call_id}`,
        data.output,
      ).data,
    );
    return;
  }
  // A call that was refused never ran.
  if (data.status !== 'denied') startCall(context, call);
  const seen_ms = measured(context, call, draft.at_ms);
  emit('call_finished', {
    call_id: call.call_id,
    tool: call.tool,
    ok: data.status === 'ok',
    status: data.status,
    exit_code: data.exit_code,
    duration_ms: toldDuration(context, call, data.duration_ms ?? null) ?? seen_ms,
    output: data.output,
  });
}

function toldDuration({ emit }: Context, call: CallState, told: number | null): number | null {
  if (told === null || (told >= 0 && told <= LIMITS.call_ms_max)) return told;
  const detail = `${call.tool} ${call.call_id} took ${told} ms, it says; taken as unknown`;
  emit('problem', problem('correlate', 'figure_invalid', detail).data);
  return null;
}

/** The clock may be set while a call runs, also the agent's: no call took longer than the run. */
function measured(context: Context, call: CallState, native_ms: number | undefined): number | null {
  const { live, elapsed, began, requested } = context;
  const seen = elapsed === null ? undefined : requested.get(call.call_id);
  if (seen !== undefined) requested.delete(call.call_id);
  const native = call.requested_native && native_ms !== undefined;
  // In a recording only the agent's own times are times.
  if (!live && !native) return null;
  const by_clock = Math.max(0, (native_ms ?? context.now()) - call.requested_at_ms);
  if (elapsed === null || seen === undefined) return by_clock;
  const now = elapsed();
  return native && by_clock <= now - began + CLOCK_STEP_MS ? by_clock : Math.round(now - seen);
}
