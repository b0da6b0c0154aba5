/**
 * Drafts → events: numbers them, keeps their order (RE-11), counts steps, pairs calls and keeps time from running
 * backwards. Pure: times are passed in, events are returned.
 */

import { LIMITS } from '../lib/limits.ts';
import type { Draft } from '../model/draft.ts';
import type { DataOf, Event, EventKind, Raw } from '../model/event.ts';
import type { Channel } from '../model/words.ts';
import { CLOCK_STEP_MS, type Context, giveUpCalls } from './calls.ts';
import { problem } from './decode.ts';
import { HANDLERS } from './handlers.ts';
import { CAPTURE_LIMITS } from './limits.ts';
import type { Normaliser } from './normalise.ts';
import type { RunInfo } from './run-info.ts';
import { applyEvent, type RunState } from './run-state.ts';
import { keptSession } from './session-facts.ts';

interface CorrelatorOptions {
  info: RunInfo;
  normaliser: Normaliser;
  state: RunState;
  /** The channel of the run's own stream. */
  primary: Channel;
  /** Wall time. Null if reading a recording: then only the agent's own times count. */
  now: (() => number) | null;
  /** Monotonic time in ms. Null or absent if the events were not observed live. */
  elapsed?: (() => number) | null;
}

interface Waiting {
  draft: Draft;
  raw: Raw | null;
}

/** Drafts that may precede the agent's introduction. */
const PRELUDE = new Set<EventKind>([
  'problem',
  'notice',
  'hook_finished',
  'message_finished',
  'provider_retried',
]);

export class Correlator {
  readonly #options: CorrelatorOptions;
  #waiting: Waiting[] | null;
  #native_ms: number | undefined;
  #clock_reported = false;
  /** The context of the handlers, shared by all drafts because there are many. */
  readonly #context: Context;
  #raw: Raw | null = null;
  #out: Event[] = [];

  constructor(options: CorrelatorOptions) {
    const { state, normaliser } = options;
    this.#context = {
      state,
      normaliser,
      emit: (kind, data) => this.emit(kind, data, this.#raw, this.#out),
      now: () => Math.max(this.#moment(options.now?.()), state.at_ms),
      offset: () => this.#raw?.offset ?? 0,
      live: options.now !== null,
      elapsed: options.elapsed ?? null,
      began: options.elapsed?.() ?? 0,
      requested: new Map(),
    };
    this.#options = options;
    this.#waiting = options.state.started === null ? [] : null;
  }

  /** Whether drafts wait for the run's first reliable time. */
  get waits(): boolean {
    return this.#waiting !== null;
  }

  emit<K extends EventKind>(kind: K, data: DataOf<K>, raw: Raw | null, out: Event[]): void {
    const { state, info, now, primary } = this.#options;
    const wall = now === null ? undefined : now();
    if (wall !== undefined && wall < state.at_ms - CLOCK_STEP_MS && !this.#clock_reported) {
      this.#clock_reported = true;
      const detail = `the clock went back by ${state.at_ms - wall} ms; times stay constant until it catches up`;
      this.emit('problem', problem('process', 'clock_went_back', detail).data, null, out);
    }
    const moment = this.#moment(wall);
    const clamped = moment < state.at_ms;
    const at_ms = clamped ? state.at_ms : moment;
    const native = this.#native_ms !== undefined;
    const at_source = clamped ? 'clamped' : native ? 'native' : 'observed';
    const step = kind === 'step_started' ? state.step + 1 : state.step;
    const seq = state.seq + 1;
    const event = { v: 1, run_id: info.run_id, seq, at_ms, at_source, step, kind, raw, data };
    applyEvent(state, event as unknown as Event, primary);
    out.push(event as unknown as Event);
  }

  /** When the current event happened, by the agent's clock or ours. This may be before the last event. */
  #moment(wall: number | undefined): number {
    const at_ms = this.#native_ms ?? wall ?? this.#options.state.at_ms;
    // An agent's clock that runs ahead must not push the run into the future.
    return wall !== undefined && at_ms > wall ? wall : at_ms;
  }

  draft(draft: Draft, raw: Raw | null, out: Event[]): void {
    const { latest_ms = Number.POSITIVE_INFINITY } = this.#options.info;
    if (draft.at_ms !== undefined && draft.at_ms > latest_ms) {
      const detail = `times in the future, recorded as unknown: ${draft.at_ms}`;
      draft.at_ms = undefined;
      if (!this.#clock_reported)
        this.draft(problem('correlate', 'figure_invalid', detail), null, out);
      this.#clock_reported = true;
    }
    if (this.#options.state.seq >= CAPTURE_LIMITS.run_events_max && !this.#endsRun(draft, raw)) {
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

  /** Events that a run over its limit still records: its end, and tacho's own problems with it. */
  #endsRun({ kind }: Draft, raw: Raw | null): boolean {
    const { state } = this.#options;
    const room = (LIMITS.session_events_max - CAPTURE_LIMITS.run_events_max) / 2;
    if (state.seq >= CAPTURE_LIMITS.run_events_max + room) return false;
    return kind === 'agent_ended' ? state.ended === null : kind === 'problem' && raw === null;
  }

  /** Whether the run can begin: the agent is known and, in a recording, the time. */
  #ready(draft: Draft): boolean {
    if (this.#options.now !== null) return !PRELUDE.has(draft.kind);
    const timed = draft.at_ms !== undefined;
    return timed && (this.#waiting ?? []).some((entry) => !PRELUDE.has(entry.draft.kind));
  }

  /** Creates the events that wait for the run's first reliable time. */
  settle(out: Event[]): void {
    if (this.#waiting === null) return;
    const held = this.#waiting;
    this.#waiting = null;
    this.#native_ms = held.find((entry) => entry.draft.at_ms !== undefined)?.draft.at_ms;
    const session = held.find((entry) => entry.draft.kind === 'session_started');
    const data = session === undefined ? null : (session.draft.data as DataOf<'session_started'>);
    // The first line begins the run. A recovery continues from the line that the last event names.
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
      ...(info.project && { project: info.project }),
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
