/**
 * A transcript → Agent Trajectory Interchange Format v1.7 (TR-5), as JSON text in pieces. A sub-agent is a separate
 * trajectory within that of its caller; the result of the call that started it refers to it.
 */
import { isoText } from '../lib/iso-time.ts';
import { isMap } from '../lib/own.ts';
import type { TranscriptCall, TranscriptMessage } from '../model/transcript.ts';
import { known } from './agentv.ts';
import type { TranscriptFacts, TranscriptView } from './transcript.ts';

const ATIF = 'ATIF-v1.7';
const SOURCES = { user: 'user', system: 'system', assistant: 'agent' } as const;

export function* atifText(view: TranscriptView): Generator<string, void> {
  yield* new Export(view).trajectory(null);
  yield '\n';
}

class Export {
  readonly #view: TranscriptView;
  /** Indexes of messages by the call that started their sub-agent. */
  readonly #threads = new Map<string | null, number[]>([[null, []]]);
  readonly #written = new Set<string>();

  constructor(view: TranscriptView) {
    this.#view = view;
    for (let index = 0; index < view.count; index++) {
      const parent = view.at(index).parent_tool_call_id;
      const thread = this.#threads.get(parent);
      if (thread === undefined) this.#threads.set(parent, [index]);
      else thread.push(index);
    }
  }

  *trajectory(parent: string | null): Generator<string, void> {
    const { facts } = this.#view;
    const indexes = this.#threads.get(parent) ?? [];
    const head = { schema_version: ATIF, ...headOf(facts, parent) };
    yield `${JSON.stringify(head).slice(0, -1)},"steps":[`;
    const started: string[] = [];
    for (const [at, index] of indexes.entries()) {
      const message = this.#view.at(index);
      const own = message.tool_calls.map((call) => call.id).filter((id) => this.#starts(id));
      started.push(...own);
      yield `${at === 0 ? '' : ','}${JSON.stringify(stepOf(message, at + 1, new Set(own)))}`;
    }
    yield ']';
    // A sub-agent of an unknown call belongs to the run.
    if (parent === null) started.push(...this.#unclaimed());
    yield* this.#subs(started);
    if (parent === null) {
      const rest = { final_metrics: metricsOf(facts, indexes.length), extra: extraOf(facts) };
      yield `,${JSON.stringify(rest).slice(1, -1)}`;
    }
    yield '}';
  }

  /** Whether this call started a sub-agent that is not placed yet; marks it as placed. */
  #starts(id: string): boolean {
    if (!this.#threads.has(id) || this.#written.has(id)) return false;
    this.#written.add(id);
    return true;
  }

  #unclaimed(): string[] {
    const calls = new Set<string>();
    for (let index = 0; index < this.#view.count; index++)
      for (const call of this.#view.at(index).tool_calls) calls.add(call.id);
    const parents = [...this.#threads.keys()].filter((id) => id !== null && !calls.has(id));
    return (parents as string[]).filter((id) => this.#starts(id));
  }

  *#subs(ids: readonly string[]): Generator<string, void> {
    if (ids.length === 0) return;
    yield ',"subagent_trajectories":[';
    for (const [at, id] of ids.entries()) {
      if (at > 0) yield ',';
      yield* this.trajectory(id);
    }
    yield ']';
  }
}

function headOf(facts: TranscriptFacts, parent: string | null): object {
  const { agent, agent_version, model, session_id, run_id } = facts;
  return {
    session_id: session_id ?? run_id,
    trajectory_id: parent ?? run_id,
    agent: { name: agent, version: agent_version ?? 'unknown', model_name: model },
  };
}

function stepOf(message: TranscriptMessage, step_id: number, subs: ReadonlySet<string>): object {
  const { role, content, thinking, tool_calls, time_ms, step } = message;
  const base = { step_id, timestamp: isoText(time_ms), source: SOURCES[role], message: content };
  if (role !== 'assistant') return base;
  const calls = tool_calls.length > 0 && {
    tool_calls: tool_calls.map(callOf),
    observation: { results: tool_calls.map((call) => resultOf(call, subs.has(call.id))) },
  };
  return { ...base, reasoning_content: thinking, ...calls, extra: known({ step }) };
}

function callOf(call: TranscriptCall): object {
  const { id: tool_call_id, name: function_name, input, native_name } = call;
  const { start_time_ms, end_time_ms, duration_ms } = call;
  const whole = input === null ? {} : { input };
  const times = known({ start_time_ms, end_time_ms, duration_ms });
  return {
    tool_call_id,
    function_name,
    arguments: isMap(input) ? input : whole,
    extra: { native_name, ...times },
  };
}

function resultOf({ id, output, status, exit_code }: TranscriptCall, sub: boolean): object {
  return {
    source_call_id: id,
    content: output,
    ...(sub && { subagent_trajectory_ref: [{ trajectory_id: id }] }),
    extra: { status, ...known({ exit_code }) },
  };
}

function metricsOf({ token_usage, cost_usd, duration_ms }: TranscriptFacts, steps: number): object {
  const { input, output, cache_read, cache_write, reasoning } = token_usage;
  return {
    total_prompt_tokens: input === null ? null : input + (cache_read ?? 0) + (cache_write ?? 0),
    total_completion_tokens: output,
    total_cached_tokens: cache_read,
    total_cost_usd: cost_usd,
    total_steps: steps,
    extra: known({ reasoning_tokens: reasoning, cache_write_tokens: cache_write, duration_ms }),
  };
}

function extraOf(facts: TranscriptFacts): object {
  const { run_id, success, exit_reason, completeness, cost_source, source } = facts;
  return { run_id, success, exit_reason, completeness, cost_source, source };
}
