/**
 * Session files: `<config>/projects/<work folder>/<session>.jsonl`, sub-agents in a folder of that name. The same messages as on
 * stdout, with final usage, but without begin, end and denial records: how the run ended is inferred from its last records.
 */
import { basename, dirname, join } from 'node:path';
import type { SessionPart } from '../../model/agent.ts';
import { decoder } from '../kit/decoder.ts';
import { type Drafts, type End, OK } from '../kit/drafts.ts';
import {
  codeOf,
  countOf,
  durationOf,
  idOf,
  nativeOf,
  type Open,
  statusOf,
  textOf,
} from '../kit/native.ts';
import { homeOf, metaIn, pathsIn, sessionFiles } from '../kit/sessions.ts';
import { between, contentText } from '../kit/text.ts';
import { skillOf } from './calls.ts';
import type { Session } from './generated/native.ts';
import { Conversation, noticeText, SYNTHETIC_MODEL, taskNotification } from './messages.ts';
import type { Assistant, User } from './records.ts';
import { ROOT, SessionSpending } from './usage.ts';

/** What any record says of its speaker. */
type Speaking = Open &
  Pick<Session['user'], 'type' | 'agentId' | 'isSidechain' | 'sessionId' | 'message'>;

const SUB_AGENT = /^agent-[0-9a-zA-Z_-]{1,128}\.jsonl$/;

/** Attachments that say how a hook ended. Other attachments are context for the model. */
const HOOKS: ReadonlyMap<unknown, string> = new Map([
  ['hook_success', 'success'],
  ['hook_blocking_error', 'error'],
  ['hook_non_blocking_error', 'error'],
  ['hook_error_during_execution', 'error'],
  ['hook_cancelled', 'cancelled'],
]);

/** Bookkeeping of the CLI, and the vendor's prompts. */
const IGNORED = [
  'agent-color',
  'agent-name',
  'agent-setting',
  'ai-title',
  'api-request-blob',
  'api-request-shape',
  'atis-latch',
  'attribution-snapshot',
  'bridge-session',
  'content-replacement',
  'custom-title',
  'file-history-snapshot',
  'last-prompt',
  'mode',
  'permission-mode',
  'pr-link',
  'progress',
  'speculation-accept',
  'summary',
  'tag',
  'task-summary',
  'tools-used',
  'worktree-state',
  'system/away_summary',
  'system/bridge_status',
  'system/local_command',
  'system/stop_hook_summary',
  'system/turn_duration',
];

export const session = sessionFiles({
  root: (env) => join(env.CLAUDE_CONFIG_DIR || join(homeOf(env), '.claude'), 'projects'),
  id: /^[0-9a-zA-Z-]{1,64}$/,
  // Earlier versions put sub-agents' files beside the main ones.
  names: [[/./, /^(?!agent-)([0-9a-zA-Z-]{1,64})\.jsonl$/]],
  // The folder is named after the real path, and long names are cut: then it is searched.
  likely: (id, cwd) => [join(cwd.replaceAll(/[^a-zA-Z0-9]/g, '-'), `${id}.jsonl`)],
  async subAgents(path) {
    const parts: SessionPart[] = [];
    const folder = join(dirname(path), basename(path, '.jsonl'), 'subagents');
    for await (const { path: sub } of pathsIn(folder, [SUB_AGENT])) {
      // The call that started a sub-agent is in a small file beside the sub-agent's own.
      const meta = metaIn(sub.replace(/\.jsonl$/, '.meta.json'));
      parts.push({ path: sub, parent_call_id: idOf(meta?.toolUseId) });
    }
    return parts;
  },
  decoder: ({ since_ms } = {}) =>
    decoder<Session>((to) => {
      const run = new SessionRun(to);
      return {
        since_ms,
        before: (record, part, earlier) => run.before(record, part, earlier),
        records: {
          assistant: (record, part) => run.assistant(record, part?.path ?? ''),
          user: (record) => run.user(record),
          attachment: (record) => run.attachment(record),
          'queue-operation': (record) => run.notification(textOf(record.content)),
          'cost-state': (record) => run.spending.costState(record, false),
          'api-request'(record) {
            if (to.root) run.introduce(textOf(nativeOf(record.params)?.model));
          },
          'system/api_error'(record) {
            const attempt = countOf(record.retryAttempt);
            const max_attempts = countOf(record.maxRetries);
            const status = statusOf(nativeOf(record.error)?.status);
            const backoff_ms = durationOf(record.retryInMs);
            if (attempt === null) to.notice('api_error', noticeText(record));
            else to.retried({ attempt, max_attempts, status, backoff_ms });
          },
        },
        ignored: IGNORED,
        notices: [
          'system/compact_boundary',
          'system/informational',
          'system/microcompact_boundary',
        ],
        noticeText,
        end: () => run.end(),
      };
    }),
});

/** One run of a session: who speaks, what it cost, how it ended. */
class SessionRun {
  readonly spending = new SessionSpending();
  readonly #to: Drafts;
  readonly #talk: Conversation;
  /** Null: nothing says how the run ended. */
  #end: End | null = null;
  /** When this session's file begins. A fork's copied records are older, and follow its own first ones. */
  #begun_ms: number | undefined;
  #intro: { version?: unknown; cwd?: unknown } | null = null;
  #session_id: string | null = null;
  #permission_mode: string | null = null;
  /** A slash command; the body of its skill may follow. */
  #command: string | null = null;

  constructor(to: Drafts) {
    this.#to = to;
    this.#talk = new Conversation(to);
  }

  before(record: Speaking, part: SessionPart | undefined, earlier: boolean): void {
    const to = this.#to;
    const known = part?.parent_call_id ?? null;
    const agent = idOf(record.agentId);
    const root = known === null && record.isSidechain !== true && agent === null;
    if (root) this.#session_id ??= idOf(record.sessionId);
    if (root) this.#begun_ms ??= to.at_ms;
    if (record.type === 'assistant' && this.#isCopy()) this.spending.inherited();
    if (!earlier) to.speak(known ?? (root ? null : this.#parentOf(agent, record)), root);
    // Of an earlier run only the cost matters.
    else if (record.type === 'cost-state') this.spending.costState(record, true);
  }

  /** Where no file names the call that started a sub-agent, its prompt does. */
  #parentOf(agent: string | null, record: Speaking): string | null {
    const text = record.type === 'user' ? textOf(nativeOf(record.message)?.content) : null;
    return this.#talk.calls.parentOf(agent ?? '', text);
  }

  #isCopy(): boolean {
    const { at_ms } = this.#to;
    return at_ms !== undefined && this.#begun_ms !== undefined && at_ms < this.#begun_ms;
  }

  end(): void {
    if (this.#session_id !== null) this.introduce(null);
    const spent = this.spending.total();
    if (spent) this.#to.usage('total', spent);
    if (this.#end) this.#to.ended(this.#end, 'inferred');
  }

  introduce(model: string | null): void {
    this.#to.introduce({
      session_id: this.#session_id,
      model,
      agent_version: textOf(this.#intro?.version),
      cwd: textOf(this.#intro?.cwd),
      permission_mode: this.#permission_mode,
    });
  }

  assistant(record: Session['assistant'], file: string): void {
    const { root } = this.#to;
    const message = nativeOf(record.message);
    const own = message?.model !== SYNTHETIC_MODEL;
    if (root) {
      this.#intro ??= record;
      this.introduce(own ? textOf(message?.model) : null);
    }
    // Message ids may come again in a resumed session; the reference to the request does not.
    const request = idOf(record.requestRef) ?? idOf(record.requestId) ?? '';
    const key = `${idOf(message?.id) ?? ''} ${request}`;
    this.#talk.assistant(record as Assistant, key);
    if (!message) return;
    const { stop_reason } = message;
    const usage = nativeOf(message.usage);
    if (usage && own && record.isAbortedMidStream !== true && !this.#isCopy()) {
      this.spending.message(root ? ROOT : file, { key, usage, stop_reason });
    }
    if (!root) return;
    if (record.isApiErrorMessage === true) {
      this.#end = { exit_reason: 'provider_error', error: contentText(message.content) };
    } else if (own) this.#end = isFinal(stop_reason) ? OK : null;
  }

  user(record: Session['user']): void {
    const { root } = this.#to;
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

  /** A skill that was typed as a slash command: its body follows the command, without a call between. */
  #skill(record: Session['user'], text: string): void {
    const name = between(text.slice(0, 1024), '<command-name>/', '</command-name>');
    const folder = record.isMeta === true ? skillOf(text) : null;
    if (name !== null) {
      this.#command = name;
    } else if (folder !== null) {
      if (idOf(record.sourceToolUseID) !== null) return;
      this.#to.put('skill_used', { skill: this.#command ?? folder, call_id: null });
      this.#command = null;
    } else if (record.isMeta !== true) this.#command = null;
  }

  attachment(record: Session['attachment']): void {
    const { root } = this.#to;
    const attachment = nativeOf(record.attachment);
    if (!attachment || typeof attachment.type !== 'string') {
      this.#to.bad('attachment without type');
      return;
    }
    if (root) this.#intro ??= record;
    const { type } = attachment;
    const outcome = HOOKS.get(type);
    if (outcome !== undefined) {
      this.#to.put('hook_finished', {
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

  notification(text: string | null): void {
    const task = text === null ? null : taskNotification(text);
    if (task) this.#talk.calls.notify(task);
  }
}

/** The model waits for nothing, whatever made it stop. Where the CLI makes it continue after all, more records follow. */
function isFinal(stop_reason: unknown): boolean {
  return typeof stop_reason === 'string' && stop_reason !== 'tool_use';
}
