/**
 * Session files: the same messages as on stdout, with final usage, but without begin, end and denial records.
 * How the run ended is inferred from its last records.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { Decoder, SessionPart } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import type { DataOf } from '../../model/event.ts';
import { type ResultFacts, skillOf } from './calls.ts';
import { between, Conversation, notice, type Speaker, taskNotification } from './messages.ts';
import {
  codeOf,
  contentText,
  countOf,
  durationOf,
  idOf,
  isNative,
  type Native,
  nameOf,
  nativeOf,
  problem,
  statusOf,
  textOf,
  timeOf,
} from './native.ts';
import { HOOK_ATTACHMENTS, SESSION_IGNORED, SESSION_NOTICES } from './records.ts';
import { ROOT, SessionSpending } from './session-spending.ts';

export function sessionDecoder(since_ms: number | null): Decoder {
  return new SessionRecords(since_ms);
}

type End = Omit<DataOf<'agent_ended'>, 'evidence'>;

const OK: End = { exit_reason: 'ok', error: null };
/** stdout's words for the statuses that are tried again. */
const RETRY_KINDS: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_failed'],
  [429, 'rate_limit'],
  [529, 'overloaded'],
]);

class SessionRecords implements Decoder {
  readonly #since_ms: number | null;
  readonly #talk = new Conversation();
  readonly #spending = new SessionSpending();
  /** Null: nothing tells how the run ended. */
  #end: End | null = null;
  #now_ms: number | undefined;
  /** When this session's file begins. A fork's copied records are older, and stand behind its own first ones. */
  #begun_ms: number | undefined;
  #introduced = false;
  #intro: Native | null = null;
  #session_id: string | null = null;
  #permission_mode: string | null = null;
  /** Sub-agents' calls by the sub-agent's id, where they had to be found. */
  readonly #parents = new Map<string, string>();
  /** A slash command whose skill body may follow. */
  #command: string | null = null;

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
    if (!sub) this.#session_id ??= idOf(value.sessionId);
    if (!sub) this.#begun_ms ??= at_ms;
    if (value.type === 'assistant' && this.#isCopy(at_ms)) this.#spending.inherited();
    if (this.#since_ms !== null && (this.#now_ms ?? 0) < this.#since_ms) {
      // An earlier run: only what it had cost matters.
      if (value.type === 'cost-state') this.#spending.costState(value, true);
      return;
    }
    const parent = sub && known === null ? this.#parentOf(value) : known;
    const speaker = { at_ms, parent, root: !sub };
    this.#one(value, speaker, part?.path ?? '', out);
  }

  #isCopy(at_ms: number | undefined): boolean {
    return at_ms !== undefined && this.#begun_ms !== undefined && at_ms < this.#begun_ms;
  }

  /** Where no file names the call that started a sub-agent, its prompt does. */
  #parentOf(record: Native): string | null {
    const agent = idOf(record.agentId) ?? '';
    const text = record.type === 'user' ? textOf(nativeOf(record.message)?.content) : null;
    const claimed = text === null ? null : this.#talk.calls.claim(text);
    if (claimed !== null && this.#parents.size < LIMITS.open_calls_max) {
      this.#parents.set(agent, claimed);
    }
    return this.#parents.get(agent) ?? null;
  }

  end(out: Draft[]): void {
    if (this.#session_id !== null) this.#introduce(null, undefined, out);
    const spent = this.#spending.total();
    if (spent) {
      out.push({ kind: 'usage_reported', data: { mode: 'total', ...spent, model: null } });
    }
    if (this.#end) out.push({ kind: 'agent_ended', data: { ...this.#end, evidence: 'inferred' } });
  }

  #one(record: Native, speaker: Speaker, file: string, out: Draft[]): void {
    switch (record.type) {
      case 'assistant':
        this.#assistant(record, speaker, file, out);
        break;
      case 'user':
        this.#user(record, speaker, out);
        break;
      case 'attachment':
        this.#attachment(record, speaker, out);
        break;
      case 'queue-operation':
        this.#notification(textOf(record.content), speaker, out);
        break;
      case 'cost-state':
        this.#spending.costState(record, false);
        break;
      case 'api-request':
        if (speaker.root) {
          this.#introduce(textOf(nativeOf(record.params)?.model), speaker.at_ms, out);
        }
        break;
      default:
        this.#other(record, out);
    }
  }

  #other(record: Native, out: Draft[]): void {
    const name = nameOf(record);
    const attempt = name === 'system/api_error' ? countOf(record.retryAttempt) : null;
    if (attempt !== null) {
      const status = statusOf(nativeOf(record.error)?.status);
      const kind = status === null ? null : (RETRY_KINDS.get(status) ?? kindOf(status));
      const backoff_ms = durationOf(record.retryInMs);
      const max_attempts = countOf(record.maxRetries);
      const data = { attempt, max_attempts, kind, status, backoff_ms };
      out.push({ kind: 'provider_retried', at_ms: timeOf(record), data });
    } else if (SESSION_NOTICES.has(name) || name === 'system/api_error') {
      notice(record, out);
    } else if (!SESSION_IGNORED.has(name)) {
      out.push(problem(record.type === undefined ? 'bad_record' : 'unknown_record', name));
    }
  }

  #introduce(model: string | null, at_ms: number | undefined, out: Draft[]): void {
    if (this.#introduced) return;
    this.#introduced = true;
    out.push({
      kind: 'session_started',
      at_ms,
      data: {
        session_id: this.#session_id,
        model,
        agent_version: textOf(this.#intro?.version),
        cwd: textOf(this.#intro?.cwd),
        tools: null,
        permission_mode: this.#permission_mode,
      },
    });
  }

  #assistant(record: Native, speaker: Speaker, file: string, out: Draft[]): void {
    const message = nativeOf(record.message);
    const failure = record.isApiErrorMessage === true;
    const own = message?.model !== '<synthetic>';
    if (speaker.root) {
      this.#intro ??= record;
      this.#introduce(own ? textOf(message?.model) : null, speaker.at_ms, out);
    }
    // Message ids may come again in a resumed session; the reference to the request does not.
    const request = idOf(record.requestRef) ?? idOf(record.requestId) ?? '';
    const key = `${idOf(message?.id) ?? ''} ${request}`;
    this.#talk.assistant(record, key, speaker, out);
    if (!message) return;
    const usage = nativeOf(message.usage);
    if (usage && own && record.isAbortedMidStream !== true && !this.#isCopy(speaker.at_ms)) {
      this.#spending.message(speaker.root ? ROOT : file, key, usage, message.stop_reason);
    }
    if (!speaker.root) return;
    if (failure) {
      this.#end = { exit_reason: 'provider_error', error: contentText(message.content) };
    } else if (own) this.#end = isFinal(message.stop_reason) ? OK : null;
  }

  #user(record: Native, speaker: Speaker, out: Draft[]): void {
    if (speaker.root) {
      this.#intro ??= record;
      this.#permission_mode ??= textOf(record.permissionMode);
    }
    const text = contentText(nativeOf(record.message)?.content);
    if (speaker.root && text !== null) this.#skill(record, text, speaker.at_ms, out);
    const was = this.#talk.user(record, speaker, factsOf, out);
    if (!speaker.root) return;
    if (was === 'interruption') {
      this.#end = { exit_reason: 'cancelled', error: text };
      this.#spending.interrupted();
    } else if (was === 'results') {
      this.#end = record.toolEndsTurn === true ? OK : null;
    } else if (was === 'prompt') {
      this.#end = null;
      this.#spending.prompted();
      this.#notification(text, speaker, out);
    }
  }

  /** A skill that was typed as a slash command: its body follows the command, and no call stands between. */
  #skill(record: Native, text: string, at_ms: number | undefined, out: Draft[]): void {
    const name = between(text.slice(0, 1024), '<command-name>/', '</command-name>');
    const folder = record.isMeta === true ? skillOf(text) : null;
    if (name !== null) {
      this.#command = name;
    } else if (folder !== null) {
      if (idOf(record.sourceToolUseID) !== null) return;
      const skill = this.#command ?? folder;
      out.push({ kind: 'skill_used', at_ms, data: { skill, call_id: null } });
      this.#command = null;
    } else if (record.isMeta !== true) this.#command = null;
  }

  #attachment(record: Native, speaker: Speaker, out: Draft[]): void {
    const attachment = nativeOf(record.attachment);
    const type = textOf(attachment?.type);
    if (!attachment || type === null) {
      out.push(problem('bad_record', 'attachment without type'));
      return;
    }
    if (speaker.root) this.#intro ??= record;
    const outcome = HOOK_ATTACHMENTS.get(type);
    if (outcome !== undefined) {
      out.push({
        kind: 'hook_finished',
        at_ms: speaker.at_ms,
        data: {
          name: textOf(attachment.hookName) ?? '',
          event: textOf(attachment.hookEvent),
          exit_code: codeOf(attachment.exitCode),
          outcome,
          output: textOf(attachment.stdout) ?? textOf(attachment.content),
        },
      });
    } else if (type === 'max_turns_reached' && speaker.root) {
      const turns = countOf(attachment.maxTurns);
      const error = `Reached maximum number of turns${turns === null ? '' : ` (${turns})`}`;
      this.#end = { exit_reason: 'max_steps', error };
    } else if (type === 'hook_stopped_continuation' && speaker.root) {
      this.#end = OK;
    } else if (type === 'queued_command') {
      this.#notification(textOf(attachment.prompt), speaker, out);
    }
  }

  #notification(text: string | null, speaker: Speaker, out: Draft[]): void {
    const task = text === null ? null : taskNotification(text);
    if (task) this.#talk.calls.notify(task, speaker.at_ms, out);
  }
}

/** The model waits for nothing, whatever made it stop. Where the CLI makes it go on after all, more records follow. */
function isFinal(stop_reason: unknown): boolean {
  return typeof stop_reason === 'string' && stop_reason !== 'tool_use';
}

function kindOf(status: number): string | null {
  return status >= 500 ? 'server_error' : null;
}

function factsOf(record: Native, alone: boolean): () => ResultFacts {
  return () => ({
    at_ms: timeOf(record),
    detail: alone ? record.toolUseResult : null,
    kind: alone ? textOf(record.toolDenialKind) : null,
    decision: alone ? nativeOf(record.permissionDecision) : null,
  });
}
