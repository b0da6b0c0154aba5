/** Events of the server's bus, with their current and earlier names. */

import { RecentMap } from '../../../lib/bounded.ts';
import { LIMITS } from '../../../lib/limits.ts';
import { trimmed } from '../../../lib/white-space.ts';
import type { FileOperation } from '../../../model/words.ts';
import type { Table } from '../decoder.ts';
import { type Drafts, Writer } from '../drafts.ts';
import {
  codeOf,
  countOf,
  filledOf,
  type Inside,
  idOf,
  type Merged,
  momentOf,
  namesOf,
  nativeOf,
  textOf,
} from '../native.ts';
import { words } from '../text.ts';
import type { Stdout } from './generated/native.ts';
import type { Conversation } from './messages.ts';
import type { Message, Part, SessionInfo } from './native.ts';

/** Bookkeeping of the server, and events that others report in more detail. */
export const BUS_IGNORED = words(`
  catalog.updated ide.installed installation.update-available installation.updated
  integration.updated lsp.client.diagnostics lsp.updated mcp.browser.open.failed
  mcp.tools.changed message.part.removed message.removed models-dev.refreshed plugin.added
  project.updated pty.created pty.deleted pty.exited pty.updated question.asked
  question.rejected question.replied reference.updated server.connected server.heartbeat
  server.instance.disposed session.deleted session.diff todo.updated tui.command.execute
  tui.prompt.append tui.session.select tui.toast.show vcs.branch.updated worktree.failed
  worktree.ready
`);

type Event = Inside<Merged<Stdout>['properties']>;

/** A row that receives an event's properties. */
const of = (row: (event: Event) => void) => (record: { readonly properties?: unknown }) =>
  row(nativeOf(record.properties) ?? {});

export class Bus extends Writer {
  readonly #talk: Conversation;
  readonly #asked = new RecentMap<string, { call_id: string | null; tool: string | null }>(
    LIMITS.open_calls_max,
  );
  /** Edited files reported by the server and not yet by a call. */
  readonly #edited = new Map<string, FileOperation>();

  constructor(to: Drafts, talk: Conversation) {
    super(to);
    this.#talk = talk;
  }

  readonly records: Table<Stdout>['records'] = {
    'session.created': of((event) => this.#session(event)),
    'session.updated': of((event) => this.#session(event)),
    'session.status': of((event) => this.#status(event)),
    'session.idle': of(({ sessionID }) => this.#talk.idle(idOf(sessionID))),
    'session.error': of(({ error, sessionID }) => this.#talk.failed(error, idOf(sessionID))),
    'message.updated': of(({ info, sessionID }) => {
      const message = nativeOf(info) as Message | null;
      if (message) this.#talk.message(inSession(message, sessionID), 'bus');
      else this.to.bad('message.updated without info');
    }),
    'message.part.updated': of(({ part: native, sessionID }) => {
      const part = nativeOf(native) as Part | null;
      if (part) this.#talk.part(inSession(part, sessionID), 'bus');
      else this.to.bad('message.part.updated without part');
    }),
    'message.part.delta': of(({ partID, field, delta }) => {
      const part_id = idOf(partID);
      const text = textOf(delta);
      if (part_id === null || text === null) {
        this.to.bad('message.part.delta without partID or delta');
      } else if (field === 'text') this.#talk.texts.delta(part_id, text);
    }),
    /** Now `{file}`; earlier `{path, diff: {before, after}}`. The call that edited the file says more. */
    'file.edited': of(({ file, path: earlier, diff }) => {
      const path = filledOf(file) ?? filledOf(earlier);
      if (path === null || this.#edited.size >= LIMITS.artifacts_max) return;
      const made = nativeOf(diff)?.before === '';
      if (!this.#edited.has(path)) this.#edited.set(path, made ? 'created' : 'modified');
    }),
    'file.watcher.updated': of(({ file, event }) => {
      const path = filledOf(file);
      if (path === null || event !== 'add' || !this.#edited.has(path)) return;
      this.#edited.set(path, 'created');
    }),
    /** Now a slash command; in earlier versions the end of a shell call. */
    'command.executed': of((event) => {
      const name = idOf(event.name);
      const command = textOf(event.command);
      const exit_code = codeOf(event.exitCode);
      const typed = trimmed(`/${name} ${textOf(event.arguments) ?? ''}`);
      if (name !== null) this.to.notice('command_executed', typed);
      else if (command === null) this.to.bad('command.executed without name or command');
      else if (exit_code !== null) this.#talk.calls.executed(command, exit_code);
    }),
    'permission.asked': of((event) => this.#ask(event)),
    'permission.updated': of((event) => this.#ask(event)),
    'permission.replied': of((event) => {
      const request_id = idOf(event.requestID) ?? idOf(event.permissionID);
      const asked = this.#asked.get(request_id ?? '') ?? { call_id: null, tool: null };
      const allowed = (textOf(event.reply) ?? textOf(event.response)) !== 'reject';
      const decision = allowed ? 'allow' : 'deny';
      this.#asked.delete(request_id ?? '');
      this.to.put('permission_answered', { request_id, ...asked, decision, source: 'user' });
      if (asked.call_id !== null) this.#talk.calls.decide(asked.call_id, allowed);
    }),
  };

  /** Reports edits that no call has reported. */
  end(): void {
    for (const [path, operation] of this.#edited) {
      if (this.#talk.calls.changed_paths.has(path)) continue;
      const rest = { call_id: null, source: 'tool', diff: null, size: null } as const;
      this.to.put('file_changed', { path, operation, ...rest });
    }
    this.#edited.clear();
  }

  #session({ info: native }: Event): void {
    const info = nativeOf(native) as SessionInfo | null;
    if (info) this.#talk.sessions.take(info);
    else this.to.bad('a session event without info');
  }

  #status({ status: native, sessionID }: Event): void {
    const status = nativeOf(native);
    const session_id = idOf(sessionID);
    const type = status?.type;
    if (type === 'idle') this.#talk.idle(session_id);
    else if (type === 'busy' || type === 'retry') this.#talk.busy(session_id);
    else if (typeof type === 'string') this.to.problem('unknown_record', 'session.status');
    else this.to.bad('session.status');
    if (type !== 'retry') return;
    const { at_ms } = this.to;
    const next_ms = momentOf(status?.next);
    const timed = next_ms !== undefined && at_ms !== undefined;
    const backoff_ms = timed ? Math.max(0, next_ms - at_ms) : null;
    const native_kind = textOf(status?.message);
    const failure = { native_kind, message: native_kind ?? '' };
    this.to.retried({ attempt: countOf(status?.attempt), backoff_ms }, failure);
  }

  /** An earlier version repeats a request when it changes. */
  #ask(event: Event): void {
    const { title, pattern, patterns = pattern } = event;
    const request_id = idOf(event.id);
    const call_id = idOf(nativeOf(event.tool)?.callID) ?? idOf(event.callID);
    const tool = idOf(event.permission) ?? idOf(event.type);
    const reason = textOf(title) ?? textOf(pattern) ?? namesOf(patterns)?.join(' ');
    if (this.#asked.has(request_id ?? '')) return;
    if (request_id !== null) this.#asked.set(request_id, { call_id, tool });
    this.to.put('permission_asked', { request_id, call_id, tool, reason: filledOf(reason) });
  }
}

/** If a message or part does not name its session, its event does. */
function inSession<T extends { readonly sessionID?: unknown }>(inner: T, sessionID: unknown): T {
  return inner.sessionID === undefined ? { ...inner, sessionID } : inner;
}
