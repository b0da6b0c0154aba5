/** Events of the server's bus, by their names in this and in earlier versions. */
import { RecentMap } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { FileOperation } from '../../model/words.ts';
import type { Table } from '../kit/decoder.ts';
import type { Drafts } from '../kit/drafts.ts';
import {
  type Claim,
  codeOf,
  countOf,
  filledOf,
  idOf,
  momentOf,
  namesOf,
  nativeOf,
  textOf,
} from '../kit/native.ts';
import type { SessionInfo } from './forms.ts';
import type { Stdout } from './generated/native.ts';
import type { Conversation } from './messages.ts';

/** Bookkeeping of the server, and events that others say better. */
export const BUS_IGNORED = [
  'catalog.updated',
  'ide.installed',
  'installation.update-available',
  'installation.updated',
  'integration.updated',
  'lsp.client.diagnostics',
  'lsp.updated',
  'mcp.browser.open.failed',
  'mcp.tools.changed',
  'message.part.removed',
  'message.removed',
  'models-dev.refreshed',
  'plugin.added',
  'project.updated',
  'pty.created',
  'pty.deleted',
  'pty.exited',
  'pty.updated',
  'question.asked',
  'question.rejected',
  'question.replied',
  'reference.updated',
  'server.connected',
  'server.heartbeat',
  'server.instance.disposed',
  'session.deleted',
  'session.diff',
  'todo.updated',
  'tui.command.execute',
  'tui.prompt.append',
  'tui.session.select',
  'tui.toast.show',
  'vcs.branch.updated',
  'worktree.failed',
  'worktree.ready',
];

type Rows = Table<Stdout>['records'];
type Asking = Stdout['permission.asked'] & Stdout['permission.updated'];

export class Bus {
  readonly #to: Drafts;
  readonly #talk: Conversation;
  readonly #asked = new RecentMap<string, { call_id: string | null; tool: string | null }>(
    LIMITS.open_calls_max,
  );
  /** Files that the server says were edited, until a call says so. */
  readonly #edited = new Map<string, FileOperation>();

  constructor(to: Drafts, talk: Conversation) {
    this.#to = to;
    this.#talk = talk;
  }

  readonly records: Rows = {
    'session.created': (record) => this.#session(nativeOf(record.properties)?.info),
    'session.updated': (record) => this.#session(nativeOf(record.properties)?.info),
    'session.status': (record) => this.#status(record),
    'session.idle': (record) => this.#talk.idle(idOf(nativeOf(record.properties)?.sessionID)),
    'session.error': (record) => {
      const { error, sessionID } = nativeOf(record.properties) ?? {};
      this.#talk.failed(error, idOf(sessionID));
    },
    'message.updated': (record) => {
      const { info, sessionID } = nativeOf(record.properties) ?? {};
      const message = nativeOf(info);
      if (message) this.#talk.message(inSession(message, sessionID), 'bus');
      else this.#to.bad('message.updated without info');
    },
    'message.part.updated': (record) => {
      const { part: native, sessionID } = nativeOf(record.properties) ?? {};
      const part = nativeOf(native);
      if (part) this.#talk.part(inSession(part, sessionID), 'bus');
      else this.#to.bad('message.part.updated without part');
    },
    'message.part.delta': (record) => {
      const { partID, field, delta } = nativeOf(record.properties) ?? {};
      const part_id = idOf(partID);
      const text = textOf(delta);
      if (part_id === null || text === null) {
        this.#to.bad('message.part.delta without partID or delta');
      } else if (field === 'text') this.#talk.texts.delta(part_id, text);
    },
    'file.edited': (record) => this.#fileEdited(record),
    'file.watcher.updated': (record) => {
      const { file, event } = nativeOf(record.properties) ?? {};
      const path = filledOf(file);
      if (path === null || event !== 'add' || !this.#edited.has(path)) return;
      this.#edited.set(path, 'created');
    },
    'command.executed': (record) => this.#command(record),
    'permission.asked': (record) => this.#ask(record),
    'permission.updated': (record) => this.#ask(record),
    'permission.replied': (record) => this.#reply(record),
  };

  /** Reports edits that no call has reported. */
  end(): void {
    for (const [path, operation] of this.#edited) {
      if (this.#talk.calls.changed_paths.has(path)) continue;
      const rest = { call_id: null, source: 'tool', diff: null, size: null } as const;
      this.#to.put('file_changed', { path, operation, ...rest });
    }
    this.#edited.clear();
  }

  #session(native: Claim<SessionInfo> | undefined): void {
    const info = nativeOf(native);
    if (info) this.#talk.session(info);
    else this.#to.bad('a session event without info');
  }

  #status(record: Stdout['session.status']): void {
    const { status: native, sessionID } = nativeOf(record.properties) ?? {};
    const status = nativeOf(native);
    const session_id = idOf(sessionID);
    const type = status?.type;
    if (type === 'idle') this.#talk.idle(session_id);
    else if (type === 'busy' || type === 'retry') this.#talk.busy(session_id);
    else {
      const code = typeof type === 'string' ? 'unknown_record' : 'bad_record';
      this.#to.problem(code, 'session.status');
    }
    if (type !== 'retry') return;
    const { at_ms } = this.#to;
    const next_ms = momentOf(status?.next);
    const timed = next_ms !== undefined && at_ms !== undefined;
    const backoff_ms = timed ? Math.max(0, next_ms - at_ms) : null;
    const native_kind = textOf(status?.message);
    const failure = { native_kind, message: native_kind ?? '' };
    this.#to.retried({ attempt: countOf(status?.attempt), backoff_ms }, failure);
  }

  /** Today `{file}`; earlier `{path, diff: {before, after}}`. The call that edited the file says more. */
  #fileEdited(record: Stdout['file.edited']): void {
    const { file, path: earlier, diff } = nativeOf(record.properties) ?? {};
    const path = filledOf(file) ?? filledOf(earlier);
    if (path === null || this.#edited.size >= LIMITS.artifacts_max) return;
    const made = nativeOf(diff)?.before === '';
    if (!this.#edited.has(path)) this.#edited.set(path, made ? 'created' : 'modified');
  }

  /** Today a slash command; in earlier versions the end of a shell call. */
  #command(record: Stdout['command.executed']): void {
    const properties = nativeOf(record.properties) ?? {};
    const name = idOf(properties.name);
    const command = textOf(properties.command);
    const exit_code = codeOf(properties.exitCode);
    if (name !== null) {
      const text = `/${name} ${textOf(properties.arguments) ?? ''}`.trim();
      this.#to.notice('command_executed', text);
    } else if (command === null) this.#to.bad('command.executed without name or command');
    else if (exit_code !== null) this.#talk.calls.executed(command, exit_code);
  }

  #ask(record: Asking): void {
    const properties = nativeOf(record.properties) ?? {};
    const { title, pattern, patterns = pattern } = properties;
    const request_id = idOf(properties.id);
    const call_id = idOf(nativeOf(properties.tool)?.callID) ?? idOf(properties.callID);
    const tool = idOf(properties.permission) ?? idOf(properties.type);
    const reason = textOf(title) ?? textOf(pattern) ?? namesOf(patterns)?.join(' ');
    if (request_id !== null) {
      // An earlier version repeats a request when it changes.
      if (this.#asked.has(request_id)) return;
      this.#asked.set(request_id, { call_id, tool });
    }
    this.#to.put('permission_asked', { request_id, call_id, tool, reason: filledOf(reason) });
  }

  #reply(record: Stdout['permission.replied']): void {
    const properties = nativeOf(record.properties) ?? {};
    const request_id = idOf(properties.requestID) ?? idOf(properties.permissionID);
    const asked = this.#asked.get(request_id ?? '') ?? { call_id: null, tool: null };
    const allowed = (textOf(properties.reply) ?? textOf(properties.response)) !== 'reject';
    const decision = allowed ? 'allow' : 'deny';
    this.#asked.delete(request_id ?? '');
    this.#to.put('permission_answered', { request_id, ...asked, decision, source: 'user' });
    if (asked.call_id !== null) this.#talk.calls.decide(asked.call_id, allowed);
  }
}

/** Where a message or part does not name its session, its event does. */
function inSession<T extends { readonly sessionID?: unknown }>(inner: T, sessionID: unknown): T {
  return inner.sessionID === undefined ? { ...inner, sessionID } : inner;
}
