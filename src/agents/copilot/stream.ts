/**
 * stdout of `--output-format json`, and the session file: the same records, each channel with some of its own.
 * Envelope: `{type, data, id, timestamp, parentId, ephemeral?, agentId?}`; `agentId` names the sub-agent that speaks.
 */
import type { Decoder } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import { Calls } from './calls.ts';
import { Ending } from './ending.ts';
import {
  countOf,
  filledOf,
  idOf,
  isNative,
  listOf,
  type Native,
  nativeOf,
  problem,
  statusOf,
  textOf,
  timeOf,
  trim,
} from './native.ts';
import { IGNORED, INFOS_IGNORED, NOTICES } from './records.ts';
import { delta, type Speaker, Talk } from './talk.ts';
import { Spending } from './usage.ts';

export function stream(): Decoder {
  return new Records(null);
}

const NO_DATA: Native = {};

export class Records implements Decoder {
  readonly #since_ms: number | null;
  #earlier: boolean;
  readonly #calls = new Calls();
  readonly #talk = new Talk(this.#calls);
  readonly #ending = new Ending();
  readonly #spending = new Spending();
  /** Sub-agents by id: the call that started each. */
  readonly #agents = new Map<string, string>();
  #failed_call: Native | null = null;

  /** `since_ms`: earlier records only tell whose session it is. */
  constructor(since_ms: number | null) {
    this.#since_ms = since_ms;
    this.#earlier = since_ms !== null;
  }

  record(value: unknown, out: Draft[]): void {
    if (!isNative(value)) {
      out.push(problem('bad_record', 'record is no object'));
      return;
    }
    const { type } = value;
    if (typeof type !== 'string') {
      this.#wrapped(value, out);
      return;
    }
    if (IGNORED.has(type)) return;
    const at_ms = timeOf(value);
    if (this.#since_ms !== null && at_ms !== undefined) this.#earlier = at_ms < this.#since_ms;
    if (type === 'result') {
      this.#talk.introduce({ session_id: idOf(value.sessionId) }, at_ms, out);
      this.#talk.settleTurn(at_ms, out);
      this.#ending.result(value, at_ms, out);
      return;
    }
    const data = nativeOf(value.data) ?? NO_DATA;
    const speaker = this.#speaker(value, data, at_ms);
    if (this.#earlier) {
      this.#spending.earlierRun();
      if (type === 'session.start') this.#start(data, speaker, out);
      return;
    }
    const before = out.length;
    this.#event(type, data, speaker, out);
    if (data === NO_DATA && out.length === before) {
      out.push(problem('bad_record', `${type} without data`));
    }
  }

  end(out: Draft[]): void {
    this.#talk.settleTurn(undefined, out);
    this.#ending.close(out);
  }

  /** A host's log of what the CLI's SDK told it: `{dir, t, msg}`. */
  #wrapped(record: Native, out: Draft[]): void {
    const { dir, msg } = record;
    if (typeof dir !== 'string' || !isNative(msg)) out.push(problem('bad_record', 'no type'));
    else if (dir === 'event' && typeof msg.type === 'string') this.record(msg, out);
    else if (msg.jsonrpc !== undefined) out.push(problem('unknown_record', 'a JSON-RPC message'));
  }

  #speaker(record: Native, data: Native, at_ms: number | undefined): Speaker {
    const agent = idOf(record.agentId);
    const named = idOf(data.parentToolCallId);
    const root = agent === null && named === null;
    const parent = named ?? (agent === null ? null : (this.#agents.get(agent) ?? null));
    return { at_ms, root, agent, parent, voice: parent ?? agent };
  }

  #event(type: string, data: Native, speaker: Speaker, out: Draft[]): void {
    const { at_ms, root } = speaker;
    switch (type) {
      case 'assistant.message_delta':
        delta('message_delta', { id: data.messageId, text: data.deltaContent }, speaker, out);
        break;
      case 'assistant.reasoning_delta':
        delta('thinking_delta', { id: data.reasoningId, text: data.deltaContent }, speaker, out);
        break;
      case 'assistant.message':
        this.#talk.message(data, speaker, out);
        break;
      case 'assistant.reasoning':
        this.#talk.thought(idOf(data.reasoningId), data.content, speaker, out);
        break;
      case 'assistant.turn_start':
        if (!root) break;
        this.#ending.goesOn();
        this.#talk.turn(data, at_ms, out);
        break;
      case 'assistant.turn_end':
        if (root) this.#talk.settleTurn(at_ms, out);
        break;
      case 'user.message':
        if (root) this.#ending.goesOn();
        this.#talk.user(data, speaker, out);
        break;
      default:
        if (this.#toolEvent(type, data, speaker, out)) break;
        this.#sessionEvent(type, data, speaker, out);
    }
  }

  #toolEvent(type: string, data: Native, speaker: Speaker, out: Draft[]): boolean {
    const { at_ms } = speaker;
    const call_id = idOf(data.toolCallId);
    switch (type) {
      case 'tool.execution_start':
      case 'tool.execution_complete':
        if (call_id === null) out.push(problem('bad_record', `${type} without toolCallId`));
        else if (type === 'tool.execution_start') this.#taken(call_id, data, speaker, out);
        else this.#calls.finish(call_id, data, at_ms, out);
        return true;
      case 'tool.shell_output':
      case 'tool.execution_progress':
        if (call_id !== null) this.#calls.progress(call_id, data, at_ms, out);
        return true;
      case 'tool.execution_partial_result':
        // Its text repeats that of the shell output.
        if (call_id !== null) this.#calls.runs(call_id, at_ms, out);
        return true;
      case 'tool.user_requested':
        this.#calls.foreign(data, at_ms, out);
        return true;
      case 'subagent.started':
        this.#subAgent(call_id, speaker, out);
        return true;
      case 'subagent.failed':
        this.#calls.background.agentFailed(call_id, at_ms, out);
        notice(type, data, at_ms, out);
        return true;
      case 'agent.interrupted':
        for (const id of listOf(data.toolCallIds)) {
          if (typeof id === 'string') this.#calls.runs(id, at_ms, out);
        }
        return true;
      case 'permission.requested':
        this.#calls.asked(data, at_ms, out);
        return true;
      case 'permission.completed':
        this.#calls.answered(data, at_ms, out);
        return true;
      case 'skill.invoked':
        this.#calls.skillInvoked(idOf(data.name), at_ms, out);
        return true;
      default:
        return false;
    }
  }

  #sessionEvent(type: string, data: Native, speaker: Speaker, out: Draft[]): void {
    const { at_ms, root } = speaker;
    switch (type) {
      case 'session.start':
        this.#start(data, speaker, out);
        break;
      case 'session.resume':
        this.#resume(data, speaker, out);
        break;
      case 'session.tools_updated':
      case 'model.call_start':
        if (root) this.#talk.introduce({ model: idOf(data.model) }, at_ms, out);
        break;
      case 'session.model_change':
        if (root) this.#talk.introduce({ model: idOf(data.newModel) }, at_ms, out);
        break;
      case 'model.call_failure':
        this.#failed_call = data;
        break;
      case 'assistant.turn_retry':
        this.#retry(data, at_ms, out);
        break;
      case 'abort':
        if (root) this.#ending.abort(data, this.#talk.finished && !this.#calls.hasOpen());
        break;
      case 'session.error':
        this.#ending.error(data, root, at_ms, out);
        break;
      case 'session.usage_record':
      case 'assistant.usage':
        this.#spending.call(type, data, at_ms, out);
        break;
      case 'session.shutdown':
        if (!root) break;
        this.#spending.total(data, at_ms, out);
        this.#talk.settleTurn(at_ms, out);
        this.#ending.shutdown(data, at_ms, out);
        break;
      case 'hook.end':
        hook(data, at_ms, out);
        break;
      case 'system.notification':
        this.#calls.background.notified(nativeOf(data.kind), at_ms, out);
        notice(type, data, at_ms, out);
        break;
      default:
        notice(type, data, at_ms, out);
    }
  }

  #start(data: Native, { root, at_ms }: Speaker, out: Draft[]): void {
    if (!root) return;
    const news = {
      session_id: idOf(data.sessionId),
      model: idOf(data.selectedModel),
      agent_version: idOf(data.copilotVersion),
      cwd: filledOf(nativeOf(data.context)?.cwd),
    };
    this.#talk.introduce(news, at_ms, out);
  }

  /** Another process goes on with the session. What came before stays visible, but is not what this run spent. */
  #resume(data: Native, speaker: Speaker, out: Draft[]): void {
    if (!speaker.root) return;
    const { at_ms } = speaker;
    this.#start(data, speaker, out);
    this.#talk.settleTurn(at_ms, out);
    this.#calls.abandon(at_ms, out);
    this.#ending.goesOn();
    this.#spending.startOver(at_ms, out);
  }

  #taken(call_id: string, data: Native, { parent, at_ms }: Speaker, out: Draft[]): void {
    if (!this.#calls.isOpen(call_id)) {
      if (this.#calls.isForeign(call_id)) return;
      if (this.#talk.isCliOwn(data)) {
        this.#calls.foreign(data, at_ms, out);
        return;
      }
      this.#calls.request(data, parent, at_ms, out);
    }
    this.#calls.take(call_id, at_ms);
  }

  #subAgent(call_id: string | null, { agent, at_ms }: Speaker, out: Draft[]): void {
    if (call_id === null) return;
    this.#calls.runs(call_id, at_ms, out);
    if (agent === null) return;
    this.#agents.set(agent, call_id);
    trim(this.#agents);
  }

  #retry(data: Native, at_ms: number | undefined, out: Draft[]): void {
    const failed = this.#failed_call;
    const before = countOf(failed?.retryAttempt);
    const attempt = before === null ? null : before + 1;
    const [kind, status] = [textOf(data.reason), statusOf(failed?.statusCode)];
    const retry = { attempt, max_attempts: null, kind, status, backoff_ms: null };
    out.push({ kind: 'provider_retried', at_ms, data: retry });
  }
}

function hook(data: Native, at_ms: number | undefined, out: Draft[]): void {
  const event = textOf(data.hookType);
  const outcome = data.success === true ? 'success' : data.success === false ? 'error' : null;
  const output = textOf(nativeOf(data.error)?.message);
  const ended = { name: event ?? '', event, exit_code: null, outcome, output };
  out.push({ kind: 'hook_finished', at_ms, data: ended });
}

/** Records that only tell people something; any other is not known. */
function notice(type: string, data: Native, at_ms: number | undefined, out: Draft[]): void {
  if (type === 'session.info') {
    const info = textOf(data.infoType) ?? 'session.info';
    if (INFOS_IGNORED.has(info)) return;
    out.push({ kind: 'notice', at_ms, data: { code: info, text: textOf(data.message) } });
    return;
  }
  const field = NOTICES.get(type);
  if (field === undefined) out.push(problem('unknown_record', type));
  else out.push({ kind: 'notice', at_ms, data: { code: type, text: textOf(data[field]) } });
}
