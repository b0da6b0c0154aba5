/** The state of one trajectory while its pieces are read. Sub-agents are trajectories within it. */
import { RecentMap } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import {
  CALL_STATUSES,
  type CallStatus,
  EXIT_REASONS,
  type ExitReason,
} from '../../model/words.ts';
import { type End, endFor, OK, Writer } from '../kit/drafts.ts';
import {
  codeOf,
  costOf,
  type Inside,
  idOf,
  listOf,
  momentOf,
  nativeOf,
  textOf,
  tokensOf,
  wordOf,
} from '../kit/native.ts';
import { contentText } from '../kit/text.ts';
import { isEmpty, type Spent, spent, without } from '../kit/usage.ts';
import type { Session } from './generated/native.ts';

type Document = Session['trajectory'];
type Step = Inside<Document['steps']>;
type Result = Inside<Inside<Step['observation']>['results']>;
type Metrics = Inside<Step['metrics']>;

/** The pieces of a document, by the key of each. */
export interface Pieces {
  field: { field?: unknown };
  agent: { agent?: Document['agent'] };
  step: { step?: Document['steps'] };
  sub: { sub?: unknown };
  final_metrics: { final_metrics?: Document['final_metrics'] };
  extra: { extra?: unknown };
}

const STATUSES: ReadonlySet<string> = new Set(CALL_STATUSES);
const REASONS: ReadonlySet<string> = new Set(EXIT_REASONS);
/** Sub-agents within sub-agents. */
const DEPTH_MAX = 8;

function spentOf(prompt: unknown, completion: unknown, cached: unknown, written: unknown): Spent {
  const [cache_read, cache_write] = [tokensOf(cached), tokensOf(written)];
  // The prompt's tokens include those from the cache.
  const input = without(tokensOf(prompt), cache_read, cache_write);
  return spent({ input, output: tokensOf(completion), cache_read, cache_write });
}

export class Trajectory extends Writer {
  #session_id: string | null = null;
  #agent: string | null = null;
  #model: string | null = null;
  #introduced = false;
  /** The calls that started sub-agents, by the id of the sub-agent's trajectory. */
  readonly #parents = new RecentMap<string, string>(LIMITS.open_calls_max);
  /** The exporter's own record of the end, if it has one. */
  #stated: End | null = null;
  /** The last step of the agent is a text without calls. */
  #answered = false;

  field(field: unknown): void {
    const [[key, value] = ['', null]] = Object.entries(nativeOf(field) ?? {});
    const text = textOf(value);
    if (key === 'session_id') this.#session_id = idOf(value);
    else if (key === 'schema_version') {
      if (text?.startsWith('ATIF-v1.') !== true)
        this.to.problem('unknown_record', `schema_version ${text ?? 'missing'}`);
    } else if (text !== null) this.to.notice(key, text);
  }

  agent(given: Document['agent']): void {
    const agent = nativeOf(given);
    const names = [idOf(agent?.name), idOf(agent?.version)].filter((name) => name !== null);
    this.#agent = names.length === 0 ? null : names.join(' ');
    this.#model = idOf(agent?.model_name);
  }

  #introduce(): void {
    if (this.#introduced) return;
    this.#introduced = true;
    const { to } = this;
    to.session({
      session_id: this.#session_id,
      model: this.#model,
      agent_version: this.#agent,
    });
  }

  step(given: Document['steps']): void {
    const step = nativeOf(given);
    if (step === null) this.to.bad('step is not an object');
    else this.#step(step);
  }

  #step(step: Step): void {
    // Copied from an earlier trajectory, where it is counted.
    if (step.is_copied_context === true) return;
    this.to.at_ms = momentOf(step.timestamp);
    if (this.to.root) this.#introduce();
    const text = contentText(step.message);
    if (step.source === 'agent') this.#agentStep(step, text);
    else if (step.source === 'user') {
      if (this.to.root) this.to.message('user', text ?? '');
    } else if (step.source === 'system') this.to.notice('system', text);
    else this.to.problem('unknown_record', `source ${wordOf(step.source) || 'missing'}`);
    if (this.to.root && step.source !== 'system') {
      const quiet = listOf(step.tool_calls).length === 0;
      this.#answered = step.source === 'agent' && quiet && text !== null && text !== '';
    }
  }

  #agentStep(step: Step, text: string | null): void {
    if (this.to.root) this.to.step(null);
    const thinking = textOf(step.reasoning_content);
    if (thinking !== null && thinking !== '') this.to.thinking(thinking, null);
    if (text !== null && text !== '') this.to.message('assistant', text);
    const open = this.#calls(step);
    for (const item of listOf(nativeOf(step.observation)?.results)) {
      const result = nativeOf(item);
      if (result !== null) this.#result(result, open);
    }
    for (const call_id of open) {
      this.to.finished({ call_id, status: 'unknown', exit_code: null, output: null });
    }
    this.#used(nativeOf(step.metrics), idOf(step.model_name));
  }

  /** Requests the calls of a step, and returns their ids. */
  #calls({ tool_calls }: Step): Set<string> {
    const open = new Set<string>();
    for (const item of listOf(tool_calls)) {
      const call = nativeOf(item);
      const named = this.to.callIn(
        call?.tool_call_id,
        call?.function_name,
        'tool call without id or name',
      );
      if (named === null) continue;
      const native = idOf(nativeOf(call?.extra)?.native_name);
      const { call_id, native_tool } = named;
      const looked_up = native !== null && { looked_up_as: native_tool };
      this.to.requested(call_id, native ?? native_tool, call?.arguments ?? null, looked_up || null);
      open.add(call_id);
    }
    return open;
  }

  #result(result: Result, open: Set<string>): void {
    const call_id = idOf(result.source_call_id);
    const output = contentText(result.content);
    if (call_id === null) {
      this.to.notice('observation', output);
      return;
    }
    for (const item of listOf(result.subagent_trajectory_ref)) {
      const trajectory = idOf(nativeOf(item)?.trajectory_id);
      if (trajectory !== null) this.#parents.set(trajectory, call_id);
    }
    const extra = nativeOf(result.extra);
    const word = wordOf(extra?.status);
    const status = STATUSES.has(word) ? (word as CallStatus) : 'unknown';
    this.to.finished({ call_id, status, exit_code: codeOf(extra?.exit_code), output });
    open.delete(call_id);
  }

  #used(metrics: Metrics | null, model: string | null): void {
    if (metrics === null) return;
    const { prompt_tokens, completion_tokens, cached_tokens, cost_usd } = metrics;
    const used = spentOf(prompt_tokens, completion_tokens, cached_tokens, null);
    used.cost_usd = costOf(cost_usd);
    if (!isEmpty(used)) this.to.usage('add', used, model);
  }

  sub(given: unknown, depth = 1): void {
    const sub = nativeOf(given) as Document | null;
    const steps = sub?.steps;
    if (sub === null || !Array.isArray(steps) || depth > DEPTH_MAX) {
      this.to.bad('a sub-agent without steps');
      return;
    }
    const parent = this.#parents.get(idOf(sub.trajectory_id) ?? '') ?? null;
    for (const step of listOf(sub.steps)) {
      this.to.speak(parent, false);
      this.step(step as Document['steps']);
    }
    for (const inner of listOf(sub.subagent_trajectories)) this.sub(inner, depth + 1);
  }

  /** Totals of the whole trajectory, in place of the sum over its steps. */
  metrics(given: Document['final_metrics']): void {
    const total = nativeOf(given);
    if (total === null) return;
    const extra = nativeOf(total.extra);
    const { total_prompt_tokens, total_completion_tokens, total_cached_tokens } = total;
    const used = spentOf(
      total_prompt_tokens,
      total_completion_tokens,
      total_cached_tokens,
      extra?.cache_write_tokens,
    );
    used.usage.reasoning = tokensOf(extra?.reasoning_tokens);
    used.cost_usd = costOf(total.total_cost_usd);
    if (!isEmpty(used)) this.to.usage('total', used);
  }

  /** tacho's own exports state how the run ended. */
  extra(given: unknown): void {
    const reason = wordOf(nativeOf(given)?.exit_reason);
    if (REASONS.has(reason)) this.#stated = endFor(reason as ExitReason, null);
  }

  end(): void {
    if (this.#session_id !== null) this.#introduce();
    if (this.#stated) this.to.ended(this.#stated);
    else if (this.#answered) this.to.ended(OK, 'inferred');
  }
}
