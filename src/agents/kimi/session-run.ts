/** The state of one session while its records are read: of the root agent, and of its sub-agents. */
import { basename, dirname } from 'node:path';
import { RecentMap } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { SessionPart } from '../../model/agent.ts';
import { type Drafts, type End, endFor, OK, Writer } from '../kit/drafts.ts';
import { retryOf } from '../kit/failures.ts';
import {
  codeOf,
  type Inside,
  idOf,
  nativeOf,
  type Open,
  statusOf,
  textOf,
  tokensOf,
  wordOf,
} from '../kit/native.ts';
import { contentText } from '../kit/text.ts';
import { spent } from '../kit/usage.ts';
import { Calls } from './calls.ts';
import type { Session } from './generated/native.ts';

const LOOP = 'context.append_loop_event';
const ROOT = 'main';

/** Events of the agent's loop by their own type. */
export function kindOf({ type, event }: Open): string | null {
  if (type !== LOOP) return textOf(type);
  return `${LOOP}/${textOf(nativeOf(event)?.type) ?? 'no type'}`;
}

interface Place {
  session_id: string | null;
  cwd: string | null;
}
type Loop<Kind extends string> = Session[`${typeof LOOP}/${Kind}` & keyof Session]['event'];
type Ended = Inside<Session['turn.ended']['error']>;

export class SessionRun extends Writer {
  readonly #place: Place;
  readonly #calls: Calls;
  /** The calls that started sub-agents, by the agent's id. */
  readonly #parents = new RecentMap<string, string>(LIMITS.open_calls_max);
  #model: string | null = null;
  /** Facts introduced so far: none, the session, or the model too. */
  #introduced = 0;
  /** How the last turn ended; null while one is open. */
  #end: End | null = null;

  constructor(to: Drafts, place: Place) {
    super(to);
    this.#place = place;
    this.#calls = new Calls(to);
  }

  /** A record names its agent. The file shows it for records that do not. */
  speak({ agentId }: Open, part: SessionPart | undefined): void {
    const agent = textOf(agentId) ?? (part ? basename(dirname(part.path)) : ROOT);
    this.to.speak(this.#parents.get(agent) ?? null, agent === ROOT);
  }

  /** Facts of an earlier run that later records need. */
  recall(record: Open): void {
    if (record.type === 'subagent.spawned') this.spawned(record);
    if (record.type === 'llm.request' && this.to.root) this.#model = idOf(record.model);
  }

  introduce(): void {
    const facts = this.#model === null ? 1 : 2;
    if (!this.to.root || this.#introduced >= facts) return;
    this.#introduced = facts;
    this.to.session({ ...this.#place, model: this.#model });
  }

  prompt({ input, origin }: { input?: unknown; origin?: unknown }): void {
    if (!this.to.root) return;
    this.introduce();
    this.#end = null;
    this.#calls.cancelled = false;
    // Everything except a person's input is written by the CLI: notifications, reminders, triggers.
    const synthetic = nativeOf(origin)?.kind !== 'user';
    const text = contentText(input);
    if (text !== null) this.to.message('user', text, { synthetic });
  }

  request({ model }: Session['llm.request']): void {
    if (this.to.root) this.#model ??= idOf(model);
    this.introduce();
  }

  spent({ usage, model }: Session['usage.record']): void {
    const tokens = nativeOf(usage);
    const figures = {
      input: tokensOf(tokens?.inputOther),
      output: tokensOf(tokens?.output),
      cache_read: tokensOf(tokens?.inputCacheRead),
      cache_write: tokensOf(tokens?.inputCacheCreation),
    };
    this.to.usage('add', spent(figures), idOf(model));
  }

  step(): void {
    if (this.to.root) this.to.step(null);
  }

  part(event: Loop<'content.part'>): void {
    const loop = nativeOf(event);
    const part = nativeOf(loop?.part);
    const message_id = idOf(loop?.stepUuid);
    if (typeof part?.think === 'string') this.to.thinking(part.think, message_id);
    else if (typeof part?.text === 'string')
      this.to.message('assistant', part.text, { message_id });
    else this.to.problem('unknown_record', `content.part/${wordOf(part?.type) || 'no type'}`);
  }

  call(event: Loop<'tool.call'>): void {
    const call = nativeOf(event);
    const named = this.to.callIn(call?.toolCallId, call?.name, 'tool.call without id or name');
    if (named !== null) this.#calls.request(named.call_id, named.native_tool, call?.args);
  }

  result(event: Loop<'tool.result'>): void {
    const answer = nativeOf(event);
    const call_id = this.to.need(idOf(answer?.toolCallId), 'tool.result without id');
    const result = nativeOf(answer?.result);
    if (call_id === null) return;
    if (result === null) this.to.bad('tool.result without result');
    else this.#calls.finish(call_id, result);
  }

  /** A person is asked for permission. */
  asked({ kind, request }: Session['interaction.request']): void {
    const asked = nativeOf(request);
    if (kind === 'approval') this.#calls.ask(asked ?? {}, textOf(asked?.action));
  }

  decided({ toolCallId, result }: Session['permission.record_approval_result']): void {
    const call_id = this.to.need(idOf(toolCallId), 'approval without id of a call');
    const answer = nativeOf(result);
    const decision = answer?.decision === 'approved' ? 'allow' : 'deny';
    if (call_id !== null) this.#calls.decide(call_id, decision, textOf(answer?.selectedLabel));
  }

  spawned({ subagentId, parentToolCallId }: Open): void {
    const [agent, call_id] = [idOf(subagentId), idOf(parentToolCallId)];
    if (agent !== null && call_id !== null) this.#parents.set(agent, call_id);
    else this.to.bad('subagent.spawned without agent or call');
  }

  /** The end of a command that ran in the background. */
  task({ info }: Session['task.terminated']): void {
    const task = nativeOf(info);
    const [call_id, code] = [idOf(task?.parentToolCallId), codeOf(task?.exitCode)];
    if (task?.kind !== 'process' || task.detached !== true || call_id === null) return;
    const status = code === 0 ? null : code === null ? 'cancelled' : 'error';
    this.to.updated(call_id, status, code);
  }

  tracked({ path, entry }: Session['file_history.tracked']): void {
    const name = textOf(path);
    if (name !== null) this.#calls.tracked(name, nativeOf(entry)?.key === null);
  }

  retried(record: Session['turn.step.retrying']): void {
    const { nextAttempt, maxAttempts, delayMs, errorName, errorMessage, statusCode } = record;
    const failure = {
      native_kind: idOf(errorName),
      status: statusOf(statusCode),
      message: textOf(errorMessage) ?? '',
    };
    this.to.retried(retryOf(nextAttempt, maxAttempts, delayMs), failure);
  }

  cancel(): void {
    this.#calls.cancelled = true;
  }

  turnEnded({ reason, error }: Session['turn.ended']): void {
    if (!this.to.root) return;
    const failure = nativeOf(error);
    if (reason === 'completed') this.#end = OK;
    else if (reason === 'cancelled') this.#end = endFor('cancelled', null);
    else this.#end = this.#failed(failure, wordOf(reason));
  }

  #failed(failure: Ended | null, reason: string): End {
    const [code, message] = [idOf(failure?.code), textOf(failure?.message)];
    if (code?.startsWith('provider.') !== true) return endFor('agent_error', message ?? reason);
    const status = statusOf(nativeOf(failure?.details)?.statusCode);
    const retryable = typeof failure?.retryable === 'boolean' ? failure.retryable : null;
    this.to.failed({ native_kind: code, status, message: message ?? '', retryable });
    return endFor('provider_error', message);
  }

  end(): void {
    this.#calls.end();
    if (this.#end) this.to.ended(this.#end);
  }
}
