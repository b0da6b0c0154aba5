/**
 * The truth from two channels (AG-16): what the session file knows and the live stream did not say becomes drafts whose
 * raw line is the session's; where the two contradict each other, that is a problem, never a silent choice.
 */
import type { Draft } from '../model/draft.ts';
import type { Event, EventOf } from '../model/event.ts';
import type { Usage } from '../model/parts.ts';
import type { CallStatus } from '../model/words.ts';
import { CallPairs } from './call-pairs.ts';
import { problem } from './decode.ts';
import type { RunState } from './run-state.ts';

export interface Reconciler {
  /** One event of the session file, in its order. */
  event(event: Event): Draft[];
  /** What can be said only when all of the session file is known. */
  end(): Draft[];
}

export function createReconciler(live: RunState): Reconciler {
  return new Reconciliation(live);
}

type OnKind = { [K in Event['kind']]?: (event: EventOf<K>) => Draft[] };

interface CallEnd {
  status: CallStatus | null;
  exit_code: number | null;
}

class Reconciliation implements Reconciler {
  readonly #live: RunState;
  /** What the stream knew before anything was filled. */
  readonly #had: {
    usage: Usage | null;
    thinking: boolean;
    text: boolean;
    ended: boolean;
    retries: boolean;
    skills: Set<string>;
    files: Set<string>;
  };
  /** Calls that only the session file has, or knows the end of. */
  readonly #added = new Set<string>();
  /** How calls that the stream saw end ended by the session file's word. */
  readonly #ends = new Map<string, CallEnd>();
  /** Unique call id → the agent's own id; where the channels' ids differ, the stream's. */
  readonly #natives = new Map<string, string>();
  readonly #pairs: CallPairs | null;

  constructor(live: RunState) {
    this.#live = live;
    this.#pairs = live.keyOf === null ? null : new CallPairs(live.calls.values(), live.keyOf);
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
    session_started: (event) =>
      this.#live.model === null && event.data.model !== null ? [fill(event)] : [],
    call_requested: (event) => this.#onRequest(event),
    call_finished: (event) => this.#onResult(event),
    call_updated: (event) => this.#onUpdate(event),
    usage_reported: (event) => this.#onUsage(event),
    skill_used: (event) => (this.#had.skills.has(event.data.skill) ? [] : [fill(event)]),
    file_changed: (event) => (this.#had.files.has(event.data.path) ? [] : [this.#fileOf(event)]),
    thinking_finished: (event) => (this.#had.thinking ? [] : [fill(event)]),
    message_finished: (event) =>
      this.#had.text || this.#had.ended || event.data.role !== 'assistant' ? [] : [fill(event)],
    provider_retried: (event) => (this.#had.retries || this.#had.ended ? [] : [fill(event)]),
    agent_ended: (event) => (this.#had.ended ? [] : [fill(event)]),
    // Of the session's files as a whole; those of its lines repeat what the stream had too.
    problem: ({ kind, data }) => (data.stage === 'reconcile' ? [{ kind, data }] : []),
  };

  event(event: Event): Draft[] {
    const on = this.#on[event.kind] as ((event: Event) => Draft[]) | undefined;
    return on === undefined ? [] : on(event);
  }

  #native(call_id: string): string {
    return this.#natives.get(call_id) ?? call_id;
  }

  #onRequest(event: EventOf<'call_requested'>): Draft[] {
    const { call_id, native_call_id } = event.data;
    if (call_id !== native_call_id) this.#natives.set(call_id, native_call_id);
    const live = this.#live.calls.get(native_call_id);
    if (live !== undefined) {
      this.#pairs?.drop(live);
      return [];
    }
    return this.#pairs?.hold(event) ? [] : [this.#add(event)];
  }

  #add({ data, at_ms }: EventOf<'call_requested'>): Draft {
    const { native_call_id: call_id, native_tool, input } = data;
    const parent = data.parent_call_id;
    const parent_call_id = parent === null ? null : this.#native(parent);
    this.#added.add(call_id);
    const more = { ...mcpOf(data), ...lookedUpAs(data), tool: data.tool };
    const request = { call_id, native_tool, input, parent_call_id, ...more };
    return { kind: 'call_requested', at_ms, data: request };
  }

  #onResult(event: EventOf<'call_finished'>): Draft[] {
    const { data } = event;
    const held = this.#pairs?.end(data.call_id, data.status);
    if (held === undefined) return this.#result(event);
    if (held.live_id === null) {
      const { status, exit_code, output, duration_ms } = data;
      const call_id = this.#native(data.call_id);
      const end = { call_id, status, exit_code, output, duration_ms };
      const finish: Draft = { kind: 'call_finished', at_ms: event.at_ms, data: end };
      return [this.#add(held.request), finish];
    }
    this.#natives.set(data.call_id, held.live_id);
    return this.#result(event);
  }

  #fileOf(event: EventOf<'file_changed'>): Draft {
    const { call_id } = event.data;
    return fill({
      ...event,
      data: { ...event.data, call_id: call_id === null ? null : this.#native(call_id) },
    });
  }

  #result({ data, at_ms }: EventOf<'call_finished'>): Draft[] {
    const call_id = this.#native(data.call_id);
    const call = this.#live.calls.get(call_id);
    // An open call whose end the session file does not know either stays open: the runner closes it.
    const unanswered = data.status === 'cancelled' && data.output === null;
    if (call === undefined || (call.status === null && unanswered)) return [];
    const { status, exit_code, output, duration_ms } = data;
    if (call.status !== null) {
      this.#ends.set(call_id, { status, exit_code });
      return [];
    }
    const end = { call_id, status, exit_code, output, duration_ms };
    this.#added.add(call_id);
    return [{ kind: 'call_finished', at_ms, data: end }];
  }

  #onUpdate({ data, at_ms }: EventOf<'call_updated'>): Draft[] {
    const call_id = this.#native(data.call_id);
    const { status, exit_code } = data;
    if (this.#added.has(call_id)) {
      return [{ kind: 'call_updated', at_ms, data: { call_id, status, exit_code } }];
    }
    const known = this.#ends.get(call_id) ?? { status: null, exit_code: null };
    this.#ends.set(call_id, {
      status: status ?? known.status,
      exit_code: exit_code ?? known.exit_code,
    });
    return [];
  }

  end(): Draft[] {
    const open = this.#pairs?.rest() ?? [];
    return [...open.map((event) => this.#add(event)), ...this.#comparisons()];
  }

  #comparisons(): Draft[] {
    return [...this.#ends].flatMap(([call_id, end]) => this.#compare(call_id, end));
  }

  #compare(call_id: string, { status, exit_code }: CallEnd): Draft[] {
    const call = this.#live.calls.get(call_id);
    if (call === undefined || call.status === null) return [];
    const drafts: Draft[] = [];
    const code = call.exit_code === null ? exit_code : null;
    // A command that failed is an error wherever its code is known (AG-9), also where the stream called it done.
    const failed = call.status === 'ok' && status === 'error' && code !== null && code !== 0;
    const better = (call.status === 'unknown' && status !== 'unknown') || failed ? status : null;
    if (better !== null || code !== null) {
      drafts.push({ kind: 'call_updated', data: { call_id, status: better, exit_code: code } });
    }
    const contradict = (said: unknown, other: unknown) => {
      const detail = `${call.tool} ${call_id}: the stream says ${said}, the session file ${other}`;
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

  #onUsage(event: EventOf<'usage_reported'>): Draft[] {
    const { usage } = this.#had;
    if (usage === null) return [fill(event)];
    const said = (['input', 'output', 'cache_read', 'cache_write'] as const)
      .map((key) => [key, usage[key], event.data.usage[key]] as const)
      .filter(([, stream, session]) => stream !== null && session !== null && stream !== session)
      .map(([key, stream, session]) => `${key} ${stream} and ${session}`);
    if (said.length === 0) return [];
    return [
      problem(
        'reconcile',
        'contradiction',
        `tokens: stream and session file say ${said.join(', ')}`,
      ),
    ];
  }
}

/** Server and tool of an MCP call whose native name does not tell them. */
function mcpOf({ row, tool, native_tool }: EventOf<'call_requested'>['data']) {
  const names = /^mcp__(.+?)__(.+)$/s.exec(tool);
  if (row !== 'mcp' || native_tool.startsWith('mcp__') || names === null) return {};
  return { mcp: { server: names[1] as string, tool: names[2] as string } };
}

/** The name that the tool table was asked for, where it is not the native one. */
function lookedUpAs({ row, tool, native_tool }: EventOf<'call_requested'>['data']) {
  if (row === 'mcp') return {};
  const name = row === 'pass' ? tool : row.slice(row.indexOf(':') + 1);
  return name === native_tool ? {} : { looked_up_as: name };
}

/** Kinds whose draft is the event itself. */
type Same =
  | 'session_started'
  | 'usage_reported'
  | 'skill_used'
  | 'file_changed'
  | 'thinking_finished'
  | 'message_finished'
  | 'provider_retried'
  | 'agent_ended';

function fill(event: EventOf<Same>): Draft {
  return { kind: event.kind, at_ms: event.at_ms, data: event.data } as Draft;
}
