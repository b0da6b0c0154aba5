/** One session, from the updates of its file and of its sub-agents' files. */
import { basename, dirname } from 'node:path';
import type { SessionPart } from '../../model/agent.ts';
import type { Table } from '../kit/decoder.ts';
import { type Drafts, Writer } from '../kit/drafts.ts';
import { countOf, idOf, nativeOf, type Open, textOf } from '../kit/native.ts';
import { Talk } from '../kit/pieces.ts';
import { words } from '../kit/text.ts';
import { Calls } from './calls.ts';
import { endOf, failureOf, storedSpentOf } from './ending.ts';
import type { Session } from './generated/native.ts';
import { type Line, metaOf, paramsOf, type SessionUpdate, updateOf } from './native.ts';

/** The work folder, which names the folder of its sessions. Long names are shortened; then it is unknown. */
function cwdOf(path: string): string | null {
  const name = basename(dirname(dirname(path)));
  if (!name.startsWith('%2F') && !/^[A-Za-z]%3A/.test(name)) return null;
  try {
    return decodeURIComponent(name);
  } catch {
    return null;
  }
}

export class SessionRun extends Writer {
  readonly #talk: Talk;
  readonly #calls: Calls;
  #cwd: string | null;
  /** The file that is being read; null: the main file. */
  #child: string | null = null;
  #main: string | null = null;
  /** The start of the model's response, which all updates of the response share. */
  #response: unknown;
  /** A failure that `turn_completed` makes final. */
  #failed = false;

  constructor(to: Drafts, path: string | undefined) {
    super(to);
    this.#cwd = path === undefined ? null : cwdOf(path);
    this.#talk = new Talk(to, false);
    this.#calls = new Calls(to);
  }

  readonly records: Table<Session>['records'] = {
    user_message_chunk: (line) => this.#user(line),
    agent_message_chunk: (line) => this.#piece('message', line),
    agent_thought_chunk: (line) => this.#piece('thinking', line),
    tool_call: (line) => {
      const update = updateOf(line);
      this.#respond(line);
      this.#talk.finish(false);
      const tool = nativeOf(nativeOf(update._meta)?.['x.ai/tool']);
      this.#calls.request(update, tool?.name ?? update.title);
    },
    tool_call_update: (line) => this.#calls.update(updateOf(line)),
    retry_state: (line) => this.#retry(updateOf(line)),
    turn_completed: (line) => this.#completed(line),
  };
  readonly ignored = words(`
    available_commands_update background_tasks current_mode_update plan session_info_update
    subagent_finished subagent_spawned task_backgrounded task_completed usage_update
  `);
  readonly notices = words('auto_compact_completed auto_compact_failed auto_compact_started');

  /** A fork begins with the updates of its parent. Their event ids begin with the parent's id. */
  isCopied(line: Open): boolean {
    const session_id = idOf(paramsOf(line).sessionId);
    const event_id = idOf(metaOf(line)?.eventId);
    return session_id !== null && event_id !== null && !event_id.startsWith(session_id);
  }

  before(line: Open, part: SessionPart | undefined, earlier: boolean): void {
    const session_id = idOf(paramsOf(line).sessionId);
    this.#main ??= session_id;
    this.#cwd ??= part === undefined ? null : cwdOf(part.path);
    this.#child = session_id === this.#main ? null : session_id;
    if (!earlier) this.#speak(null);
  }

  #speak(prompt: string | null): void {
    if (this.#child === null) this.to.speak(null);
    else this.to.speak(this.#calls.sub_agents.parentOf(this.#child, prompt), false);
  }

  #introduce(model: string | null): void {
    if (this.to.root) this.to.introduce({ session_id: this.#main, model, cwd: this.#cwd });
  }

  #user(line: Line): void {
    const update = updateOf(line);
    const text = textOf(nativeOf(update.content)?.text);
    this.#speak(text);
    this.#talk.finish(false);
    const meta = nativeOf(update._meta);
    this.#introduce(textOf(meta?.modelId));
    // Reminders of the CLI are hidden from the user.
    const synthetic = meta?.hideFromScrollback === true;
    if (text !== null) this.to.message('user', text, { synthetic });
  }

  /** Starts a step if another response of the root agent begins. */
  #respond(line: Line): void {
    this.#introduce(null);
    const begun = metaOf(line)?.streamStartMs;
    if (begun === this.#response) return;
    this.#talk.finish(false);
    this.#response = begun;
    if (this.to.root) this.to.step(null);
  }

  #piece(kind: 'message' | 'thinking', line: Line): void {
    const text = this.to.need(
      textOf(nativeOf(updateOf(line).content)?.text),
      `${kind} without text`,
    );
    this.#respond(line);
    if (text === null || this.to.lost) return;
    this.#talk.piece({ kind, message_id: null, parent_call_id: this.to.parent }, text);
  }

  #retry(update: SessionUpdate): void {
    if (!this.to.root) return;
    const message = textOf(update.reason) ?? textOf(update.message) ?? '';
    const failure = { ...failureOf(message), native_kind: textOf(update.error_type) };
    if (update.type === 'retrying') {
      const [attempt, max_attempts] = [countOf(update.attempt), countOf(update.max_retries)];
      this.to.retried({ attempt, max_attempts }, failure);
    } else if (update.type === 'failed') {
      this.#failed = true;
      this.to.failed(failure);
    }
  }

  #completed(line: Line): void {
    this.#talk.finish(false);
    if (!this.to.root) return;
    const update = updateOf(line);
    // Includes the sub-agents' tokens.
    const figures = storedSpentOf(nativeOf(update.usage));
    if (figures) this.to.usage('add', figures);
    const reason = textOf(update.stop_reason);
    if (reason === 'error') {
      const exit_reason = this.#failed ? 'provider_error' : 'agent_error';
      this.to.ended({ exit_reason, error: textOf(update.agent_result) });
    } else this.to.ended(endOf({ reason, refused: this.#calls.refused, limited: false }));
    this.#failed = false;
  }

  end(): void {
    this.#talk.put(true);
  }
}
