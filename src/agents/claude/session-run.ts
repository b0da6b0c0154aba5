/** One run of a session: speaker, cost and end. */
import { headOf } from '../../lib/byte-text.ts';
import type { SessionPart } from '../../model/agent.ts';
import { type Drafts, type End, OK, Writer } from '../kit/drafts.ts';
import { codeOf, countOf, idOf, nativeOf, type Open, textOf } from '../kit/native.ts';
import { between, contentText } from '../kit/text.ts';
import { skillOf } from './calls.ts';
import type { Session } from './generated/native.ts';
import { Conversation, NOTIFICATION, SYNTHETIC_MODEL } from './messages.ts';
import type { Assistant, User } from './records.ts';
import { ROOT, SessionSpending } from './usage.ts';

/** Fields of any record that name its speaker. */
type Speaking = Open &
  Pick<Session['user'], 'type' | 'agentId' | 'isSidechain' | 'sessionId' | 'message'>;

/** Attachments with the outcome of a hook. Other attachments are context for the model. */
const HOOKS: ReadonlyMap<unknown, string> = new Map([
  ['hook_success', 'success'],
  ['hook_blocking_error', 'error'],
  ['hook_non_blocking_error', 'error'],
  ['hook_error_during_execution', 'error'],
  ['hook_cancelled', 'cancelled'],
]);

export class SessionRun extends Writer {
  readonly spending: SessionSpending;
  readonly #talk = new Conversation(this.to);
  /** Null: no record shows how the run ended. */
  #end: End | null = null;
  /** Start time of this session's file. Records copied by a fork are older, and follow its own first ones. */
  #begun_ms: number | undefined;
  #intro: { version?: unknown; cwd?: unknown } | null = null;
  #session_id: string | null = null;
  #permission_mode: string | null = null;
  /** A slash command, until the body of its skill follows. */
  #command: string | null = null;

  /** `all_runs`: the cost is that of all runs in the file, not of the last one. */
  constructor(to: Drafts, all_runs: boolean) {
    super(to);
    this.spending = new SessionSpending(to, all_runs);
  }

  before(record: Speaking, part: SessionPart | undefined, earlier: boolean): void {
    const to = this.to;
    const known = part?.parent_call_id ?? null;
    const agent = idOf(record.agentId);
    const root = known === null && record.isSidechain !== true && agent === null;
    if (root) this.#session_id ??= idOf(record.sessionId);
    if (root) this.#begun_ms ??= to.at_ms;
    if (record.type === 'assistant' && this.#isCopy()) this.spending.inherited();
    // Only the cost matters of an earlier run.
    if (earlier && record.type === 'cost-state') this.spending.costState(record, true);
    if (earlier) return;
    // If no file names the call that started a sub-agent, the prompt identifies it.
    const prompt = record.type === 'user' ? textOf(nativeOf(record.message)?.content) : null;
    const found = root ? null : (known ?? this.#talk.calls.parentOf(agent ?? '', prompt));
    to.speak(found, root);
  }

  #isCopy(): boolean {
    const { at_ms } = this.to;
    return at_ms !== undefined && this.#begun_ms !== undefined && at_ms < this.#begun_ms;
  }

  end(): void {
    if (this.#session_id !== null) this.introduce(null);
    const spent = this.spending.total();
    if (spent) this.to.usage('total', spent);
    if (this.#end) this.to.ended(this.#end, 'inferred');
  }

  introduce(model: string | null): void {
    this.to.introduce({
      session_id: this.#session_id,
      model,
      agent_version: textOf(this.#intro?.version),
      cwd: textOf(this.#intro?.cwd),
      permission_mode: this.#permission_mode,
    });
  }

  assistant(record: Session['assistant'], file: string): void {
    const { root } = this.to;
    const message = nativeOf(record.message);
    const own = message?.model !== SYNTHETIC_MODEL;
    if (root) {
      this.#intro ??= record;
      this.introduce(own ? textOf(message?.model) : null);
    }
    // Message ids may recur in a resumed session; the request reference does not.
    const request = idOf(record.requestRef) ?? idOf(record.requestId) ?? '';
    const key = `${idOf(message?.id) ?? ''} ${request}`;
    this.#talk.assistant(record as Assistant, key);
    if (!message) return;
    const { stop_reason } = message;
    const usage = nativeOf(message.usage);
    if (usage && own && record.isAbortedMidStream !== true && !this.#isCopy()) {
      const { at_ms, parent } = this.to;
      const model = textOf(message.model);
      const said = { key, usage, stop_reason, model, at_ms, parent };
      this.spending.message(root ? ROOT : file, said);
    }
    if (!root) return;
    // The model waits for nothing, whatever made it stop. If the CLI makes it continue after all, more records follow.
    const final = typeof stop_reason === 'string' && stop_reason !== 'tool_use';
    if (record.isApiErrorMessage === true) {
      this.#end = { exit_reason: 'provider_error', error: contentText(message.content) };
    } else if (own) this.#end = final ? OK : null;
  }

  user(record: Session['user']): void {
    const { root } = this.to;
    const text = contentText(nativeOf(record.message)?.content);
    if (root) {
      this.#intro ??= record;
      this.#permission_mode ??= textOf(record.permissionMode);
      if (text !== null) this.#skill(record, text);
    }
    const was = this.#talk.user(record as User, (alone) => () => ({
      detail: alone ? nativeOf(record.toolUseResult) : null,
      kind: alone ? textOf(record.toolDenialKind) : null,
      decision: alone ? nativeOf(record.permissionDecision) : null,
    }));
    if (!root) return;
    if (was === 'interruption') {
      this.#end = { exit_reason: 'cancelled', error: text };
      this.spending.interrupted();
    } else if (was === 'results') {
      this.#end = record.toolEndsTurn === true ? OK : null;
    } else if (was === 'prompt') {
      this.#end = null;
      this.spending.prompted();
      this.notification(text);
    }
  }

  /** A skill typed as a slash command: its body follows the command, without a call between them. */
  #skill(record: Session['user'], text: string): void {
    const name = between(headOf(text, 1024), '<command-name>/', '</command-name>');
    const folder = record.isMeta === true ? skillOf(text) : null;
    if (name !== null) {
      this.#command = name;
    } else if (folder !== null) {
      if (idOf(record.sourceToolUseID) !== null) return;
      this.to.put('skill_used', { skill: this.#command ?? folder, call_id: null });
      this.#command = null;
    } else if (record.isMeta !== true) this.#command = null;
  }

  attachment(record: Session['attachment']): void {
    const { root } = this.to;
    const attachment = nativeOf(record.attachment);
    if (!attachment || typeof attachment.type !== 'string') {
      this.to.bad('attachment without type');
      return;
    }
    if (root) this.#intro ??= record;
    const { type } = attachment;
    const outcome = HOOKS.get(type);
    if (outcome !== undefined) {
      this.to.put('hook_finished', {
        name: textOf(attachment.hookName) ?? '',
        event: textOf(attachment.hookEvent),
        exit_code: codeOf(attachment.exitCode),
        outcome,
        output: textOf(attachment.stdout) ?? textOf(attachment.content),
      });
    } else if (type === 'max_turns_reached' && root) {
      const turns = countOf(attachment.maxTurns);
      const error = `Reached maximum number of turns${turns === null ? '' : ` (${turns})`}`;
      this.#end = { exit_reason: 'max_steps', error };
    } else if (type === 'hook_stopped_continuation' && root) {
      this.#end = OK;
    } else if (type === 'queued_command') this.notification(textOf(attachment.prompt));
  }

  /** `<task-notification>` as text: the session file's only information on the end of a background task. */
  notification(text: string | null): void {
    if (!text?.startsWith(NOTIFICATION)) return;
    const call_id = between(text, '<tool-use-id>', '</tool-use-id>');
    const status = between(text, '<status>', '</status>');
    const summary = between(text, '<summary>', '</summary>') ?? '';
    this.#talk.calls.notify({ call_id, status, summary });
  }
}
