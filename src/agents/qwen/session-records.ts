/**
 * Session files: messages in the model API's own shape, and a telemetry record for every model request and call.
 * There is no end record: how the run ended is inferred from its last records.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { Decoder, SessionPart } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import type { DataOf } from '../../model/event.ts';
import { Calls } from './calls.ts';
import type { Session } from './generated/native.ts';
import {
  type Claim,
  contentText,
  type Inside,
  idOf,
  isList,
  isNative,
  listOf,
  type Merged,
  nameOf,
  nativeOf,
  problem,
  type Telemetry,
  textOf,
  timeOf,
  trim,
} from './native.ts';
import { SESSION_IGNORED, SESSION_NOTICES } from './records.ts';
import { agentOf, Requests } from './session-requests.ts';
import { answersOf, listedCalls, type Told, toldOf } from './session-results.ts';

export function sessionDecoder(since_ms: number | null): Decoder {
  return new SessionRecords(since_ms);
}

type Any = Merged<Session>;
type User = Merged<Session, 'user' | 'user/notification'>;
type Part = Inside<Inside<Session['assistant']['message']>['parts']>;
type System = Merged<Session, `system/${string}`>;
type End = Omit<DataOf<'agent_ended'>, 'evidence'>;

/** Who speaks in a record. */
interface Speaker {
  readonly at_ms: number | undefined;
  readonly parent: string | null;
  readonly root: boolean;
}

/** A call that only telemetry has told of so far. */
interface Rumour {
  readonly event: Telemetry;
  readonly parent: string;
  readonly at_ms: number | undefined;
}

const OK: End = { exit_reason: 'ok', error: null };
const ALLOWED: ReadonlySet<unknown> = new Set(['accept', 'auto_accept', 'modify']);
/** The agents that the CLI runs for itself, such as the one that keeps its memory. */
const OWN_AGENT = 'managed-';
const TASK_NOTIFICATION = '<task-notification>';

class SessionRecords implements Decoder {
  readonly #since_ms: number | null;
  readonly #calls = new Calls();
  readonly #told = new Map<string, Told>();
  readonly #rumours = new Map<string, Rumour>();
  /** Sub-agents' calls by the sub-agent's id, where they had to be found. */
  readonly #parents = new Map<string, string>();
  readonly #requests = new Requests();
  /** Null: nothing tells how the run ended. */
  #end: End | null = null;
  /** The root agent's turn has begun, but so far its requests only failed. */
  #trying = false;
  #introduced = false;
  #intro: Any | null = null;
  #now_ms: number | undefined;

  constructor(since_ms: number | null) {
    this.#since_ms = since_ms;
  }

  record(value: unknown, out: Draft[], part?: SessionPart): void {
    if (!isNative(value)) {
      out.push(problem('bad_record', 'record is no object'));
      return;
    }
    const at_ms = timeOf(value);
    this.#now_ms = at_ms ?? this.#now_ms;
    const known = part?.parent_call_id ?? null;
    const sub = known !== null || value.isSidechain === true || idOf(value.agentId) !== null;
    if (!sub && idOf(value.sessionId) !== null) this.#intro ??= value;
    if (this.#since_ms !== null && (this.#now_ms ?? 0) < this.#since_ms) return;
    const parent = sub && known === null ? this.#parentOf(value) : known;
    this.#one(value, { at_ms, parent, root: !sub }, out);
  }

  /** Where no file names the call that started a sub-agent, its prompt does. */
  #parentOf(record: User): string | null {
    const agent = idOf(record.agentId) ?? '';
    const text = record.type === 'user' ? partsText(record) : null;
    const claimed = text === null ? null : this.#calls.claim(text);
    if (claimed !== null && this.#parents.size < LIMITS.open_calls_max) {
      this.#parents.set(agent, claimed);
    }
    return this.#parents.get(agent) ?? null;
  }

  end(out: Draft[]): void {
    for (const [call_id, rumour] of this.#rumours) this.#believe(call_id, rumour, out);
    this.#rumours.clear();
    this.#requests.giveUp(out);
    if (this.#intro) this.#introduce(null, undefined, out);
    const usage = this.#requests.total();
    if (usage) {
      const data = { mode: 'total' as const, usage, cost_usd: null, model: null };
      out.push({ kind: 'usage_reported', data });
    }
    if (this.#end) out.push({ kind: 'agent_ended', data: { ...this.#end, evidence: 'inferred' } });
  }

  #one(record: Any, speaker: Speaker, out: Draft[]): void {
    switch (record.type) {
      case 'assistant':
        this.#assistant(record, speaker, out);
        break;
      case 'user':
        this.#user(record, speaker, out);
        break;
      case 'tool_result':
        this.#results(record, speaker, out);
        break;
      case 'system':
        this.#system(record, speaker, out);
        break;
      default:
        out.push(
          problem(record.type === undefined ? 'bad_record' : 'unknown_record', nameOf(record)),
        );
    }
  }

  #introduce(model: string | null, at_ms: number | undefined, out: Draft[]): void {
    if (this.#introduced) return;
    this.#introduced = true;
    out.push({
      kind: 'session_started',
      at_ms,
      data: {
        session_id: idOf(this.#intro?.sessionId),
        model,
        agent_version: textOf(this.#intro?.version),
        cwd: textOf(this.#intro?.cwd),
        tools: null,
        permission_mode: null,
      },
    });
  }

  #beginStep(step_id: string | null, at_ms: number | undefined, out: Draft[]): void {
    const data = { step_id, allowed_tools: null, enforcement_mode: null };
    out.push({ kind: 'step_started', at_ms, data });
  }

  #assistant(record: Session['assistant'], speaker: Speaker, out: Draft[]): void {
    const parts = nativeOf(record.message)?.parts;
    if (!isList(parts)) {
      out.push(problem('bad_record', 'assistant without parts'));
      return;
    }
    const message_id = idOf(record.uuid);
    const usage = nativeOf(record.usageMetadata);
    if (usage) this.#requests.message(usage);
    if (speaker.root) {
      this.#introduce(textOf(record.model), speaker.at_ms, out);
      this.#requests.retried(out);
      if (!this.#trying) this.#beginStep(message_id, speaker.at_ms, out);
      this.#trying = false;
      this.#end = OK;
    }
    for (const part of parts) this.#part(part, message_id, speaker, out);
  }

  #part(part: Claim<Part>, message_id: string | null, speaker: Speaker, out: Draft[]): void {
    const { at_ms, parent, root } = speaker;
    const call = isNative(part) ? nativeOf(part.functionCall) : null;
    if (!isNative(part)) {
      out.push(problem('bad_record', 'assistant part is no object'));
    } else if (call) {
      if (root) this.#end = null;
      this.#calls.request({ id: call.id, name: call.name, input: call.args }, parent, at_ms, out);
      this.#rumours.delete(idOf(call.id) ?? '');
    } else if (typeof part.text === 'string') {
      // Text of a sub-agent whose call is not known must not pass for the root agent's.
      if (!root && parent === null) return;
      const data = { message_id, parent_call_id: parent, text: part.text };
      if (part.thought === true) out.push({ kind: 'thinking_finished', at_ms, data });
      else {
        const more = { role: 'assistant' as const, synthetic: false, partial: false };
        out.push({ kind: 'message_finished', at_ms, data: { ...data, ...more } });
      }
    } else if (part.inlineData === undefined && part.fileData === undefined) {
      const names = Object.keys(part).join(' ');
      out.push(problem('unknown_record', `assistant part ${names}`));
    }
  }

  #user(record: User, speaker: Speaker, out: Draft[]): void {
    const text = partsText(record);
    const { at_ms, parent, root } = speaker;
    if (root) {
      this.#requests.giveUp(out);
      this.#trying = false;
      this.#end = null;
      this.#notified(record, at_ms, out);
    }
    if (text === null || (!root && parent === null)) return;
    const own = record.provenance === undefined || record.provenance === 'real_user';
    const synthetic = root && (!own || record.subtype !== undefined);
    const data = { message_id: idOf(record.uuid), parent_call_id: parent, text, synthetic };
    out.push({ kind: 'message_finished', at_ms, data: { ...data, role: 'user', partial: false } });
  }

  #results(record: Session['tool_result'], { at_ms, parent, root }: Speaker, out: Draft[]): void {
    const answers = answersOf(record, (call_id) => this.#told.get(call_id));
    if (answers.length === 0) out.push(problem('bad_record', 'tool_result without a call id'));
    if (root) this.#end = null;
    for (const answer of answers) {
      if (answers.length === 1) this.#listed(record, answer.call_id, at_ms, out);
      this.#calls.finish(answer, at_ms, out);
      this.#told.delete(answer.call_id);
      if (parent !== null) this.#rumours.delete(answer.call_id);
    }
  }

  #listed(
    record: Session['tool_result'],
    parent: string,
    at_ms: number | undefined,
    out: Draft[],
  ): void {
    for (const { id, name, input, answer } of listedCalls(record)) {
      this.#rumours.delete(id);
      if (this.#calls.wasSeen(id)) continue;
      this.#calls.request({ id, name, input }, parent, at_ms, out);
      if (answer) this.#calls.finish({ ...answer, ...this.#told.get(id) }, at_ms, out);
    }
  }

  #system(record: System, speaker: Speaker, out: Draft[]): void {
    const subtype = textOf(record.subtype);
    if (subtype === 'ui_telemetry') {
      this.#telemetry(nativeOf(nativeOf(record.systemPayload)?.uiEvent), speaker, out);
    } else if (subtype !== null && SESSION_NOTICES.has(subtype)) {
      this.#notified(record, speaker.at_ms, out);
      const text = textOf(nativeOf(record.systemPayload)?.displayText);
      out.push({ kind: 'notice', at_ms: speaker.at_ms, data: { code: subtype, text } });
    } else if (subtype === null || !SESSION_IGNORED.has(subtype)) {
      out.push(problem(subtype === null ? 'bad_record' : 'unknown_record', nameOf(record)));
    }
  }

  /** A background task's end, told to the model in the user's place. */
  #notified(record: User, at_ms: number | undefined, out: Draft[]): void {
    const task = nativeOf(nativeOf(record.systemPayload)?.backgroundTask);
    if (task) this.#calls.notify(idOf(task.toolUseId), textOf(task.status), at_ms, out);
    const text = record.subtype === 'notification' ? partsText(record) : null;
    if (task || !text?.startsWith(TASK_NOTIFICATION)) return;
    this.#calls.notify(element('tool-use-id', text), element('status', text), at_ms, out);
  }

  #telemetry(event: Telemetry | null, speaker: Speaker, out: Draft[]): void {
    const name = textOf(event?.['event.name']);
    if (!event || name === null) {
      out.push(problem('bad_record', 'ui_telemetry without event'));
    } else if (name === 'qwen-code.tool_call') this.#toolCall(event, speaker.at_ms, out);
    else if (name === 'qwen-code.api_response') this.#answered(event, speaker, out);
    else if (name === 'qwen-code.api_error') this.#unanswered(event, speaker, out);
    else out.push(problem('unknown_record', `ui_telemetry/${name}`));
  }

  #answered(event: Telemetry, { root, at_ms }: Speaker, out: Draft[]): void {
    this.#requests.answered(event);
    if (root && agentOf(event) === null) this.#introduce(textOf(event.model), at_ms, out);
  }

  /** Each failed request is told; that another follows it in the same turn makes it a retry. */
  #unanswered(event: Telemetry, { root, at_ms }: Speaker, out: Draft[]): void {
    this.#requests.unanswered();
    if (!root || agentOf(event) !== null) return;
    this.#introduce(textOf(event.model), at_ms, out);
    this.#requests.retried(out);
    if (!this.#trying) this.#beginStep(null, at_ms, out);
    this.#trying = true;
    const failed = this.#requests.fail(event, at_ms);
    const exit_reason = failed ? 'provider_error' : 'cancelled';
    this.#end = { exit_reason, error: textOf(event.error_message) };
  }

  #toolCall(event: Telemetry, at_ms: number | undefined, out: Draft[]): void {
    const call_id = idOf(event.call_id);
    if (call_id === null) {
      out.push(problem('bad_record', 'tool_call without call_id'));
      return;
    }
    this.#told.set(call_id, toldOf(event));
    trim(this.#told);
    if (this.#calls.isOpen(call_id)) {
      if (!ALLOWED.has(event.decision)) return;
      const source = textOf(event.decision);
      const data = { call_id, decision: 'allow' as const, reason: null, source };
      out.push({ kind: 'call_decided', at_ms, data });
      return;
    }
    const agent = agentOf(event);
    const parent = this.#calls.sub_agent;
    if (agent === null || agent.startsWith(OWN_AGENT) || parent === null) return;
    if (this.#calls.wasSeen(call_id)) return;
    this.#rumours.set(call_id, { event, parent, at_ms });
    trim(this.#rumours);
  }

  /** No file and no list told of it after all: telemetry is the only word on this sub-agent's call. */
  #believe(call_id: string, { event, parent, at_ms }: Rumour, out: Draft[]): void {
    const input = event.function_args ?? {};
    this.#calls.request({ id: call_id, name: event.function_name, input }, parent, at_ms, out);
    if (!this.#calls.isOpen(call_id)) return;
    const output = textOf(event.error);
    const rest = { report: output, exit_code: null, diff: null, native_tool: null };
    const answer = { call_id, output, ...toldOf(event), ...rest };
    this.#calls.finish(answer, at_ms, out);
  }
}

function element(name: string, text: string): string | null {
  const [, from] = text.split(`<${name}>`, 2);
  return idOf(from?.split(`</${name}>`, 1)[0]);
}

function partsText(record: User): string | null {
  return contentText(listOf(nativeOf(record.message)?.parts));
}
