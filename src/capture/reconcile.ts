/**
 * Merges two channels (AG-16): drafts of the session file that the live stream lacked are added to the run.
 * Contradictions between the two are problems, never silent choices.
 */
import { LIMITS } from '../lib/limits.ts';
import type { Agent } from '../model/agent.ts';
import type { Draft, DraftOf } from '../model/draft.ts';
import type { Usage } from '../model/parts.ts';
import { UsageFold } from '../model/run-fold.ts';
import type { CallStatus } from '../model/words.ts';
import { CallPairs, type Request } from './call-pairs.ts';
import { isDuration } from './calls.ts';
import { problem } from './decode.ts';
import { createNormaliser } from './normalise.ts';
import type { RunState } from './run-state.ts';

type OnKind = { [K in Draft['kind']]?: (draft: DraftOf<K>) => Draft[] };

interface CallEnd {
  status: CallStatus | null;
  exit_code: number | null;
}

/** A call as the session file records it. */
interface FiledCall {
  /** Its id in the run: the session file's own, or the stream's if the channels' ids differ. */
  id: string;
  open: boolean;
  /** Null if the session file has no time for it. */
  requested_ms: number | null;
}

export class Reconciler {
  readonly #live: RunState;
  /** The state of the stream before anything was filled in. */
  readonly #had: {
    usage: Usage | null;
    thinking: boolean;
    text: boolean;
    ended: boolean;
    retries: boolean;
    skills: Set<string>;
    files: Set<string>;
  };
  /** The latest calls, by the session file's id. */
  readonly #calls = new Map<string, FiledCall>();
  /** Calls that only the session file has, or that end only there. */
  readonly #added = new Set<string>();
  /** Ends in the session file of calls that ended in the stream too. */
  readonly #ends = new Map<string, CallEnd>();
  readonly #pairs: CallPairs | null;
  /** The usage in the session file. */
  readonly #filed = new UsageFold();
  /** Time of the last draft, used for drafts without their own time. */
  #at_ms = 0;

  constructor(agent: Agent, live: RunState) {
    this.#live = live;
    const { keyOf } = live.calls;
    const normaliser = createNormaliser(agent.id, agent.tools);
    const keyOfDraft = ({ data }: Request) =>
      keyOf?.({ native_tool: data.native_tool, ...normaliser.call(data) }) ?? null;
    this.#pairs = keyOf === null ? null : new CallPairs(live.calls.values(), keyOfDraft);
    this.#had = {
      usage: live.usage.tokens,
      thinking: live.had_thinking,
      text: live.text.parts.length > 0,
      ended: live.ended !== null,
      retries: live.provider_retries > 0,
      skills: new Set(live.skills),
      files: new Set(live.files),
    };
  }

  readonly #on: OnKind = {
    session_started: (draft) =>
      this.#live.model === null && draft.data.model !== null ? [this.#timed(draft)] : [],
    call_requested: (draft) => this.#onRequest(draft),
    call_finished: (draft) => this.#onResult(draft),
    call_updated: (draft) => this.#onUpdate(draft),
    usage_reported: (draft) => this.#onUsage(draft),
    skill_used: (draft) => (this.#had.skills.has(draft.data.skill) ? [] : [this.#timed(draft)]),
    file_changed: (draft) => (this.#had.files.has(draft.data.path) ? [] : [this.#fileOf(draft)]),
    thinking_finished: (draft) => (this.#had.thinking ? [] : [this.#timed(draft)]),
    message_finished: (draft) =>
      this.#had.text || this.#had.ended || draft.data.role !== 'assistant'
        ? []
        : [this.#timed(draft)],
    provider_retried: (draft) => (this.#had.retries || this.#had.ended ? [] : [this.#timed(draft)]),
    agent_ended: (draft) => (this.#had.ended ? [] : [this.#timed(draft)]),
    // About the session's files as a whole. Problems of single lines repeat those of the stream.
    problem: (draft) => (draft.data.stage === 'reconcile' ? [draft] : []),
  };

  /** The next draft of the session file → drafts of the run. Each is applied before the next one is requested. */
  draft(draft: Draft): Draft[] {
    this.#at_ms = Math.max(this.#at_ms, draft.at_ms ?? 0);
    const on = this.#on[draft.kind] as ((draft: Draft) => Draft[]) | undefined;
    return on?.(draft) ?? [];
  }

  #timed<D extends Draft>(draft: D): D {
    return { ...draft, at_ms: this.#at_ms };
  }

  #idOf(call_id: string | null): string | null {
    return call_id === null ? null : (this.#calls.get(call_id)?.id ?? call_id);
  }

  #fileOf(draft: DraftOf<'file_changed'>): Draft {
    const { data } = draft;
    return this.#timed({ ...draft, data: { ...data, call_id: this.#idOf(data.call_id) } });
  }

  #remember(call_id: string, at_ms: number | undefined): FiledCall {
    const call = {
      id: call_id,
      open: true,
      requested_ms: at_ms === undefined ? null : this.#at_ms,
    };
    this.#calls.delete(call_id);
    this.#calls.set(call_id, call);
    const [oldest] = this.#calls.size > LIMITS.open_calls_max ? this.#calls.keys() : [];
    if (oldest !== undefined) this.#calls.delete(oldest);
    return call;
  }

  #onRequest(draft: Request): Draft[] {
    const { call_id } = draft.data;
    // Announced again, perhaps with more of its input.
    if (this.#calls.get(call_id)?.open) return [];
    this.#remember(call_id, draft.at_ms);
    const live = this.#live.calls.get(call_id);
    if (live !== undefined) {
      this.#pairs?.drop(live);
      return [];
    }
    const request = this.#timed(draft);
    return this.#pairs?.hold(request) ? [] : [this.#add(request)];
  }

  #add(request: Request): Draft {
    const { data } = request;
    this.#added.add(data.call_id);
    return { ...request, data: { ...data, parent_call_id: this.#idOf(data.parent_call_id) } };
  }

  #onResult(draft: DraftOf<'call_finished'>): Draft[] {
    const { call_id, native_tool, status } = draft.data;
    let call = this.#calls.get(call_id);
    if (call === undefined && native_tool !== undefined)
      call = this.#remember(call_id, draft.at_ms);
    if (!call?.open) return [];
    call.open = false;
    const held = this.#pairs?.end(call_id, status);
    if (held?.live_id != null) call.id = held.live_id;
    const data = { ...draft.data, call_id: call.id, duration_ms: durationOf(draft, call) };
    const end = this.#timed({ ...draft, data });
    return held?.live_id === null ? [this.#add(held.request), end] : this.#result(end);
  }

  #result(draft: DraftOf<'call_finished'>): Draft[] {
    const { call_id, native_tool, status, exit_code, output } = draft.data;
    const call = this.#live.calls.get(call_id);
    if (call === undefined && native_tool === undefined) return [];
    if (call != null && call.status !== null) {
      this.#ends.set(call_id, { status, exit_code });
      return [];
    }
    // An open call without an end in the session file stays open: the runner closes it.
    if (status === 'cancelled' && output === null) return [];
    this.#added.add(call_id);
    return [draft];
  }

  #onUpdate(draft: DraftOf<'call_updated'>): Draft[] {
    const { status, exit_code } = draft.data;
    const call = this.#calls.get(draft.data.call_id);
    if (call === undefined) return [];
    if (call.open && status !== null) {
      const data = { ...draft.data, status, output: null };
      return this.#onResult({ kind: 'call_finished', at_ms: draft.at_ms, data });
    }
    const call_id = call.id;
    if (this.#added.has(call_id))
      return [this.#timed({ ...draft, data: { ...draft.data, call_id } })];
    const known = this.#ends.get(call_id) ?? { status: null, exit_code: null };
    this.#ends.set(call_id, {
      status: status ?? known.status,
      exit_code: exit_code ?? known.exit_code,
    });
    return [];
  }

  /** Drafts that can be made only when the whole session file is known. */
  end(): Draft[] {
    const open = (this.#pairs?.rest() ?? []).map((request) => this.#add(request));
    const ends = [...this.#ends].flatMap(([call_id, end]) => this.#compare(call_id, end));
    return [...open, ...ends, ...this.#usage()];
  }

  #compare(call_id: string, { status, exit_code }: CallEnd): Draft[] {
    const call = this.#live.calls.get(call_id);
    if (call === undefined || call.status === null) return [];
    const drafts: Draft[] = [];
    const code = call.exit_code === null ? exit_code : null;
    // A command that failed is an error wherever its code is known (AG-9), even if the stream reported success.
    const failed = call.status === 'ok' && status === 'error' && code !== null && code !== 0;
    const better = (call.status === 'unknown' && status !== 'unknown') || failed ? status : null;
    if (better !== null || code !== null) {
      drafts.push({ kind: 'call_updated', data: { call_id, status: better, exit_code: code } });
    }
    const contradict = (said: unknown, other: unknown) => {
      const detail = `${call.tool} ${call_id}: the stream says ${said}, the session file says ${other}`;
      drafts.push(problem('reconcile', 'contradiction', detail));
    };
    if (status !== null && better === null && call.status !== status) {
      contradict(call.status, status);
    }
    if (code === null && exit_code !== null && call.exit_code !== exit_code) {
      contradict(`exit code ${call.exit_code}`, exit_code);
    }
    return drafts;
  }

  /** Figures that the stream has too are only compared, once all of them are known. */
  #onUsage(draft: DraftOf<'usage_reported'>): Draft[] {
    this.#filed.push(draft.data);
    return this.#had.usage === null ? [this.#timed(draft)] : [];
  }

  #usage(): Draft[] {
    const [live, filed] = [this.#had.usage, this.#filed.tokens];
    if (live === null || filed === null) return [];
    const differing = (['input', 'output', 'cache_read', 'cache_write'] as const)
      .map((key) => [key, live[key], filed[key]] as const)
      .filter(([, stream, session]) => stream !== null && session !== null && stream !== session)
      .map(([key, stream, session]) => `${key} ${stream} and ${session}`);
    if (differing.length === 0) return [];
    const detail = `tokens: stream and session file say ${differing.join(', ')}`;
    return [problem('reconcile', 'contradiction', detail)];
  }
}

/** By the times of the session file: the run's times are later for a call that is filled in. */
function durationOf(
  { at_ms, data }: DraftOf<'call_finished'>,
  { requested_ms }: FiledCall,
): number | null {
  if (data.duration_ms != null && isDuration(data.duration_ms)) return data.duration_ms;
  return at_ms === undefined || requested_ms === null ? null : Math.max(0, at_ms - requested_ms);
}
