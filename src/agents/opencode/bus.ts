/** Events of the server's bus, by today's names and those of earlier versions. */

import { LIMITS } from '../../lib/limits.ts';
import { own } from '../../lib/own.ts';
import type { Draft } from '../../model/draft.ts';
import type { FileOperation } from '../../model/words.ts';
import {
  codeOf,
  countOf,
  filledOf,
  idOf,
  listOf,
  momentOf,
  type Native,
  nameOf,
  nativeOf,
  problem,
  textOf,
} from './native.ts';
import { BUS_IGNORED, BUS_NOTICES } from './records.ts';
import type { Talk } from './talk.ts';

interface Event {
  properties: Native;
  session_id: string | null;
  at_ms: number | undefined;
}

type Handler = (event: Event, out: Draft[]) => void;

interface Asked {
  call_id: string | null;
  tool: string | null;
}

export class Bus {
  readonly #talk: Talk;
  readonly #asked = new Map<string, Asked>();
  /** Files that the server says were edited, until a call tells of them. */
  readonly #edited = new Map<string, FileOperation>();

  constructor(talk: Talk) {
    this.#talk = talk;
  }

  event(type: unknown, properties: Native, at_ms: number | undefined, out: Draft[]): void {
    const handler = typeof type === 'string' ? own(this.#handlers, type) : undefined;
    const info = nativeOf(properties.info) ?? nativeOf(properties.part);
    const session_id = idOf(properties.sessionID) ?? idOf(info?.sessionID);
    if (handler) handler({ properties, session_id, at_ms }, out);
    else if (typeof type !== 'string') out.push(problem('bad_record', 'an event without type'));
    else if (BUS_NOTICES.has(type)) {
      out.push({ kind: 'notice', at_ms, data: { code: type, text: session_id } });
    } else if (!BUS_IGNORED.has(type)) out.push(problem('unknown_record', nameOf(type)));
    if (type === 'file.watcher.updated') this.#watched(properties);
  }

  /** Edits that no call told of. */
  end(out: Draft[]): void {
    for (const [path, operation] of this.#edited) {
      if (this.#talk.calls.told_paths.has(path)) continue;
      const rest = { call_id: null, source: 'tool' as const, diff: null, size: null };
      out.push({ kind: 'file_changed', data: { path, operation, ...rest } });
    }
    this.#edited.clear();
  }

  readonly #handlers: Readonly<Record<string, Handler>> = {
    'session.created': (event, out) => this.#session(event, out),
    'session.updated': (event, out) => this.#session(event, out),
    'session.status': (event, out) => this.#status(event, out),
    'session.idle': ({ session_id, at_ms }, out) => this.#talk.idle(session_id, at_ms, out),
    'session.error': ({ properties, session_id, at_ms }, out) =>
      this.#talk.failed(properties.error, session_id, at_ms, out),
    'message.updated': ({ properties, session_id, at_ms }, out) => {
      const info = nativeOf(properties.info);
      if (info) this.#talk.message({ sessionID: session_id, ...info }, 'bus', at_ms, out);
      else out.push(problem('bad_record', 'message.updated without info'));
    },
    'message.part.updated': ({ properties, session_id, at_ms }, out) => {
      const part = nativeOf(properties.part);
      if (part) this.#talk.part({ sessionID: session_id, ...part }, 'bus', at_ms, out);
      else out.push(problem('bad_record', 'message.part.updated without part'));
    },
    'message.part.delta': ({ properties, at_ms }, out) => {
      const part_id = idOf(properties.partID);
      const text = textOf(properties.delta);
      if (part_id === null || text === null) {
        out.push(problem('bad_record', 'message.part.delta without partID or delta'));
      } else if (properties.field === 'text') this.#talk.texts.delta(part_id, text, at_ms, out);
    },
    'file.edited': ({ properties }) => this.#fileEdited(properties),
    'command.executed': (event, out) => this.#command(event, out),
    'permission.asked': (event, out) => this.#ask(event, out),
    'permission.updated': (event, out) => this.#ask(event, out),
    'permission.replied': (event, out) => this.#reply(event, out),
  };

  #session({ properties, at_ms }: Event, out: Draft[]): void {
    const info = nativeOf(properties.info);
    if (info) this.#talk.session(info, at_ms, out);
    else out.push(problem('bad_record', 'a session event without info'));
  }

  #status({ properties, session_id, at_ms }: Event, out: Draft[]): void {
    const status = nativeOf(properties.status);
    const type = status?.type;
    if (type === 'idle') this.#talk.idle(session_id, at_ms, out);
    else if (type === 'busy') this.#talk.busy(session_id);
    else if (type === 'retry') {
      this.#talk.busy(session_id);
      const next_ms = momentOf(status?.next);
      const wait = next_ms !== undefined && at_ms !== undefined ? next_ms - at_ms : null;
      const backoff_ms = wait === null ? null : Math.max(0, wait);
      const nothing = { max_attempts: null, status: null };
      const data = { attempt: countOf(status?.attempt), kind: textOf(status?.message), backoff_ms };
      out.push({ kind: 'provider_retried', at_ms, data: { ...data, ...nothing } });
    } else {
      out.push(
        problem(typeof type === 'string' ? 'unknown_record' : 'bad_record', 'session.status'),
      );
    }
  }

  /** Today `{file}`; earlier `{path, diff: {before, after}}`. The call that edited the file tells more. */
  #fileEdited(properties: Native): void {
    const path = filledOf(properties.file) ?? filledOf(properties.path);
    if (path === null || this.#edited.size >= LIMITS.artifacts_max) return;
    const made = nativeOf(properties.diff)?.before === '';
    if (!this.#edited.has(path)) this.#edited.set(path, made ? 'created' : 'modified');
  }

  #watched(properties: Native): void {
    const path = filledOf(properties.file);
    if (path !== null && properties.event === 'add' && this.#edited.has(path)) {
      this.#edited.set(path, 'created');
    }
  }

  /** Today a slash command; in earlier versions the end of a shell call. */
  #command({ properties, at_ms }: Event, out: Draft[]): void {
    const name = idOf(properties.name);
    if (name !== null) {
      const text = `/${name} ${textOf(properties.arguments) ?? ''}`.trim();
      out.push({ kind: 'notice', at_ms, data: { code: 'command_executed', text } });
      return;
    }
    const command = textOf(properties.command);
    const exit_code = codeOf(properties.exitCode);
    if (command === null)
      out.push(problem('bad_record', 'command.executed without name or command'));
    else if (exit_code !== null) this.#talk.calls.executed(command, exit_code, out);
  }

  #ask({ properties, at_ms }: Event, out: Draft[]): void {
    const request_id = idOf(properties.id);
    const call_id = idOf(nativeOf(properties.tool)?.callID) ?? idOf(properties.callID);
    const tool = idOf(properties.permission) ?? idOf(properties.type);
    const patterns = listOf(properties.patterns ?? properties.pattern).filter(isText);
    const reason = textOf(properties.title) ?? textOf(properties.pattern) ?? patterns.join(' ');
    if (request_id !== null) {
      // An earlier version tells of the same request again when it changes.
      if (this.#asked.has(request_id) || this.#asked.size >= LIMITS.open_calls_max) return;
      this.#asked.set(request_id, { call_id, tool });
    }
    const data = { request_id, call_id, tool, reason: reason === '' ? null : reason };
    out.push({ kind: 'permission_asked', at_ms, data });
  }

  #reply({ properties, at_ms }: Event, out: Draft[]): void {
    const request_id = idOf(properties.requestID) ?? idOf(properties.permissionID);
    const asked = request_id === null ? undefined : this.#asked.get(request_id);
    const reply = textOf(properties.reply) ?? textOf(properties.response);
    const allowed = reply !== 'reject';
    const decision = allowed ? ('allow' as const) : ('deny' as const);
    const { call_id, tool } = asked ?? { call_id: null, tool: null };
    if (request_id !== null) this.#asked.delete(request_id);
    const data = { request_id, call_id, tool, decision, source: 'user' };
    out.push({ kind: 'permission_answered', at_ms, data });
    if (call_id !== null) this.#talk.calls.decide(call_id, allowed, at_ms, out);
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
