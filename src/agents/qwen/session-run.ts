/** One run of a session: speakers, calls and end. */
import { RecentMap } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { SessionPart } from '../../model/agent.ts';
import { type End, OK, type Time, Writer } from '../kit/drafts.ts';
import { type Inside, idOf, isList, type Merged, nativeOf, textOf } from '../kit/native.ts';
import { between, contentText } from '../kit/text.ts';
import { Calls } from './calls.ts';
import type { Session } from './generated/native.ts';
import { answersOf, listedCalls, type TelemetryFacts, telemetryFacts } from './session-results.ts';
import { agentOf, Requests, type Telemetry } from './usage.ts';

type Any = Merged<Session>;
type User = Merged<Session, 'user' | 'user/notification'>;
type Part = Inside<Inside<Session['assistant']['message']>['parts']>;
type System = Merged<Session, `system/${string}`>;

/** A call known only from telemetry so far. */
interface Unconfirmed {
  readonly event: Telemetry;
  readonly parent: string;
  readonly at_ms: Time;
}

const ALLOWED: ReadonlySet<unknown> = new Set(['accept', 'auto_accept', 'modify']);
/** Agents that the CLI runs for itself, such as the one for its memory. */
const OWN_AGENT = 'managed-';

export class SessionRun extends Writer {
  readonly #calls = new Calls(this.to);
  readonly #requests = new Requests(this.to);
  readonly #telemetry = new RecentMap<string, TelemetryFacts>(LIMITS.open_calls_max);
  readonly #unconfirmed = new RecentMap<string, Unconfirmed>(LIMITS.open_calls_max);
  /** Null: no record shows how the run ended. */
  #end: End | null = null;
  /** The root agent's turn has begun, but all its requests have failed so far. */
  #trying = false;
  #intro: Any | null = null;

  before(record: Any, part: SessionPart | undefined, earlier: boolean): void {
    const known = part?.parent_call_id ?? null;
    const agent = idOf(record.agentId);
    const root = known === null && record.isSidechain !== true && agent === null;
    if (root && idOf(record.sessionId) !== null) this.#intro ??= record;
    if (earlier) return;
    // If no file names the call that started a sub-agent, the prompt identifies it.
    const prompt = record.type === 'user' ? partsText(record) : null;
    const found = root ? null : (known ?? this.#calls.sub_agents.parentOf(agent ?? '', prompt));
    this.to.speak(found, root);
  }

  end(): void {
    for (const [call_id, call] of this.#unconfirmed) {
      this.#accept(call_id, call);
      // A file may still confirm it.
      this.#calls.forget(call_id);
    }
    this.to.at_ms = undefined;
    this.to.speak(null);
    this.#requests.putFailure();
    if (this.#intro) this.#introduce(null);
    const spent = this.#requests.total();
    if (spent) this.to.usage('total', spent);
    if (this.#end) this.to.ended(this.#end, 'inferred');
  }

  #introduce(model: string | null): void {
    this.to.introduce({
      session_id: idOf(this.#intro?.sessionId),
      model,
      agent_version: textOf(this.#intro?.version),
      cwd: textOf(this.#intro?.cwd),
    });
  }

  assistant(record: Session['assistant']): void {
    const parts = nativeOf(record.message)?.parts;
    if (!isList(parts)) {
      this.to.bad('assistant without parts');
      return;
    }
    const message_id = idOf(record.uuid);
    const usage = nativeOf(record.usageMetadata);
    if (usage) this.#requests.message(usage);
    if (this.to.root) {
      this.#introduce(textOf(record.model));
      this.#requests.retried();
      if (!this.#trying) this.to.step(message_id);
      this.#trying = false;
      this.#end = OK;
    }
    for (const part of parts) this.#part(nativeOf(part), message_id);
  }

  #part(part: Part | null, message_id: string | null): void {
    const call = nativeOf(part?.functionCall);
    if (part === null) {
      this.to.bad('assistant part is not an object');
    } else if (call) {
      if (this.to.root) this.#end = null;
      this.#calls.request({ id: call.id, name: call.name, input: call.args });
      this.#confirm(idOf(call.id) ?? '');
    } else if (typeof part.text === 'string') {
      if (part.thought === true) this.to.thinking(part.text, message_id);
      else this.to.message('assistant', part.text, { message_id });
    } else if (part.inlineData === undefined && part.fileData === undefined) {
      this.to.problem('unknown_record', `assistant part ${Object.keys(part).join(' ')}`);
    }
  }

  user(record: User): void {
    const text = partsText(record);
    const { root } = this.to;
    if (root) {
      this.#requests.giveUp();
      this.#trying = false;
      this.#end = null;
      this.#notified(record);
    }
    if (text === null) return;
    const own = record.provenance === undefined || record.provenance === 'real_user';
    const synthetic = root && (!own || record.subtype !== undefined);
    this.to.message('user', text, { message_id: idOf(record.uuid), synthetic });
  }

  results(record: Session['tool_result']): void {
    const { root, parent } = this.to;
    const answers = answersOf(record, this.#telemetry);
    if (answers.length === 0) this.to.bad('tool_result without a call id');
    if (root) this.#end = null;
    for (const answer of answers) {
      if (answers.length === 1) this.#listed(record, answer.call_id);
      this.#calls.finish(answer);
      this.#telemetry.delete(answer.call_id);
      if (parent !== null) this.#unconfirmed.delete(answer.call_id);
    }
  }

  /** The sub-agent's file was written after the main file's telemetry. */
  #confirm(call_id: string): void {
    const held = this.#unconfirmed.get(call_id);
    this.#unconfirmed.delete(call_id);
    if (held !== undefined && this.#calls.open.has(call_id)) this.#decided(call_id, held.event);
  }

  #decided(call_id: string, { decision }: Telemetry): void {
    const source = textOf(decision);
    if (ALLOWED.has(source)) this.to.decided(call_id, 'allow', null, source);
  }

  #listed(record: Session['tool_result'], call_id: string): void {
    const { parent, root } = this.to;
    this.to.speak(call_id);
    for (const { id, name, input, answer } of listedCalls(record)) {
      this.#unconfirmed.delete(id);
      if (this.#calls.seen.has(id)) continue;
      this.#calls.request({ id, name, input });
      if (answer) this.#calls.finish({ ...answer, ...this.#telemetry.get(id) });
    }
    this.to.speak(parent, root);
  }

  notice(code: string, record: System): void {
    this.#notified(record);
    this.to.notice(code, textOf(nativeOf(record.systemPayload)?.displayText));
  }

  /** The end of a background task, passed to the model as a user message. */
  #notified(record: User | System): void {
    const payload: Inside<System['systemPayload']> | null = nativeOf(record.systemPayload);
    const task = nativeOf(payload?.backgroundTask);
    if (task) this.#calls.notify(idOf(task.toolUseId), textOf(task.status));
    const text = record.subtype === 'notification' ? partsText(record) : null;
    if (task || !text?.startsWith('<task-notification>')) return;
    const call_id = between(text, '<tool-use-id>', '</tool-use-id>');
    this.#calls.notify(idOf(call_id), between(text, '<status>', '</status>'));
  }

  telemetry(event: Telemetry | null): void {
    const name = textOf(event?.['event.name']);
    if (!event || name === null) this.to.bad('ui_telemetry without event');
    else if (name === 'qwen-code.tool_call') this.#toolCall(event);
    else if (name === 'qwen-code.api_response') this.#answered(event);
    else if (name === 'qwen-code.api_error') this.#unanswered(event);
    else this.to.problem('unknown_record', `ui_telemetry/${name}`);
  }

  #answered(event: Telemetry): void {
    this.#requests.answered(event);
    if (this.to.root && agentOf(event) === null) this.#introduce(textOf(event.model));
  }

  /** Each failed request has a record. If another request follows in the same turn, it was retried. */
  #unanswered(event: Telemetry): void {
    this.#requests.unanswered();
    if (!this.to.root || agentOf(event) !== null) return;
    this.#introduce(textOf(event.model));
    this.#requests.retried();
    if (!this.#trying) this.to.step(null);
    this.#trying = true;
    const exit_reason = this.#requests.fail(event) ? 'provider_error' : 'cancelled';
    this.#end = { exit_reason, error: textOf(event.error_message) };
  }

  #toolCall(event: Telemetry): void {
    const call_id = this.to.need(idOf(event.call_id), 'tool_call without call_id');
    if (call_id === null) return;
    this.#telemetry.set(call_id, telemetryFacts(event));
    if (this.#calls.seen.has(call_id)) {
      this.#decided(call_id, event);
      return;
    }
    const agent = agentOf(event);
    const parent = this.#calls.sub_agent;
    if (agent === null || agent.startsWith(OWN_AGENT) || parent === null) return;
    this.#unconfirmed.set(call_id, { event, parent, at_ms: this.to.at_ms });
  }

  /** No file and no list has this sub-agent's call. Telemetry is the only source. */
  #accept(call_id: string, { event, parent, at_ms }: Unconfirmed): void {
    this.to.at_ms = at_ms;
    this.to.speak(parent);
    this.#calls.request({ id: call_id, name: event.function_name, input: event.function_args });
    if (!this.#calls.open.has(call_id)) return;
    const output = textOf(event.error);
    this.#calls.finish({ call_id, output, report: output, ...telemetryFacts(event) });
  }
}

function partsText(record: { readonly message?: unknown }): string | null {
  return contentText(nativeOf(record.message)?.parts);
}
