/** Tool calls, which arrive in pieces. A call is requested once its input is known, or an event requires it. */
import { RecentMap, RecentSet } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import { asciiBytes } from '../../lib/utf8.ts';
import type { CallStatus, FileOperation } from '../../model/words.ts';
import { type Drafts, Writer } from '../kit/drafts.ts';
import { filledOf, idOf, nativeOf, type Open, textOf } from '../kit/native.ts';
import { firstText, metaField, nativesOf, type Update } from './protocol.ts';
import {
  type CallEnd,
  type Change,
  changesOf,
  endOf,
  responseOperation,
  writtenAs,
} from './results.ts';
import type { Speaker } from './speaker.ts';
import { canonicalOf, type ToolName, toolOf } from './tools.ts';

export class Call {
  readonly call_id: string;
  name: string | null = null;
  meta: Open = {};
  /** The first title; later ones are for people. */
  title: string | null = null;
  kind: string | null = null;
  input: Open | null = null;
  /** The agent has sent an input, even an empty one. */
  given = false;
  path: string | null = null;
  changes: readonly Change[] = [];
  /** File operation reported by a result before the last update. */
  operation: FileOperation | null = null;
  parent: string | null = null;
  /** Set when the call was requested. */
  tool: ToolName | null = null;
  canonical = '';
  /** The client refused the call; the call has not ended yet. */
  refused = false;
  /** Permission was requested, and no answer was seen. */
  asked = false;

  constructor(call_id: string) {
    this.call_id = call_id;
  }

  /** The tool's name, for permission requests. */
  get called(): string | null {
    return this.tool?.looked_up_as ?? this.tool?.native_tool ?? null;
  }

  /** Merges facts from the update unless better ones are known. */
  merge(update: Update): void {
    this.name ??= idOf(update.name);
    this.title ??= filledOf(update.title);
    this.kind ??= idOf(update.kind);
    this.path ??= textOf(nativesOf(update.locations)[0]?.path);
    const meta = nativeOf(update._meta);
    if (meta !== null) {
      this.operation ??= responseOperation(meta);
      this.meta = { ...this.meta, ...meta };
    }
    const input = nativeOf(update.rawInput);
    this.given ||= input !== null;
    if (input !== null && Object.keys(input).length > 0) this.input ??= input;
    const changes = changesOf(update.content);
    if (changes.length > 0) this.changes = changes;
  }
}

const EDITS: ReadonlySet<string> = new Set(['Edit', 'Write']);
const PATH_FIELDS = ['file_path', 'filePath', 'path'];
/** Fields of `_meta` that name the call that started a sub-agent. */
export const PARENT_FIELDS = ['parentToolUseId', 'parentToolCallId'];

export class Calls extends Writer {
  readonly #who: { readonly speaker: Speaker };
  readonly #open = new RecentMap<string, Call>(LIMITS.open_calls_max);
  readonly #done = new RecentSet<string>(LIMITS.settled_calls_max);
  /** Files that are known to exist, because a call read or changed them. */
  readonly #existing = new RecentSet<string>(LIMITS.artifacts_max);
  /** The call that started each sub-agent, by agent id. */
  readonly #starters = new RecentMap<string, string>(LIMITS.open_calls_max);
  #last_tool = '';

  constructor(to: Drafts, who: { readonly speaker: Speaker }) {
    super(to);
    this.#who = who;
  }

  /** The call of an update or a permission request; null: it has ended. */
  take(update: Update, call_id: string, first: boolean): Call | null {
    if (first) this.#done.delete(call_id);
    else if (this.#done.has(call_id)) return null;
    const call = this.#open.get(call_id) ?? new Call(call_id);
    this.#open.set(call_id, call);
    call.merge(update);
    return call;
  }

  /** Root calls that the model still waits for. */
  get waiting(): boolean {
    const calls = this.#open.values();
    return calls.some((call) => call.parent === null && !call.refused && !call.asked);
  }

  /** Whether a call reports the same todo list as a plan. */
  get writesTodos(): boolean {
    if (this.#last_tool === 'TodoWrite') return true;
    return this.#open.values().some((call) => call.canonical === 'TodoWrite');
  }

  /** The running sub-agent; null: none is known to run. */
  get runningTask(): string | null {
    const calls = [...this.#open.values()];
    return calls.findLast(({ canonical, tool }) => canonical === 'Task' && tool)?.call_id ?? null;
  }

  request(call: Call): void {
    if (call.tool !== null) return;
    call.tool = toolOf(call, this.#who.speaker.mcp_separator ?? null);
    call.canonical = canonicalOf(call.tool);
    call.parent = this.parentOf(call);
    const input = call.input ?? (call.given ? {} : inputOf(call));
    call.path ??= firstText(input, PATH_FIELDS);
    const { native_tool, ...rest } = call.tool;
    this.to.requested(call.call_id, native_tool, input, { ...rest, parent_call_id: call.parent });
  }

  /** From its own mark, or from the id of the sub-agent that makes the call. */
  parentOf({ meta, call_id }: Call): string | null {
    const direct = metaField(meta, PARENT_FIELDS);
    if (direct !== null && direct !== call_id) return direct;
    const agent = metaField(meta, ['agentId']);
    if (agent === null) return null;
    const known = this.#starters.get(agent);
    if (known !== undefined) return known;
    const claimed = new Set(this.#starters.values());
    const isFree = (call: Call) => call.canonical === 'Task' && !claimed.has(call.call_id);
    const starter = this.#open.values().find(isFree);
    if (starter !== undefined) this.#starters.set(agent, starter.call_id);
    return starter?.call_id ?? null;
  }

  /** Ends the call if the update says so; null: it continues. */
  finish(call: Call, update: Update): CallEnd | null {
    const shell = call.canonical === 'Bash' || call.kind === 'execute';
    const end = endOf(update, { refused: call.refused, shell });
    if (end === null) return null;
    this.request(call);
    this.#settle(call, end);
    if (end.status !== 'ok') return end;
    const edits = EDITS.has(call.canonical);
    if (edits || call.changes.length > 0) this.#changed(call, update);
    if (call.path !== null && (edits || call.canonical === 'Read')) this.#existing.add(call.path);
    return end;
  }

  /** Ends refused calls without further updates. */
  finishRefused(): void {
    this.#settleAll('denied', (call) => call.refused);
  }

  /** A call with a permission request that never ran was refused, though the answer was not seen. */
  endTurn(cancelled: boolean): void {
    this.finishRefused();
    this.requestAll();
    this.#settleAll(cancelled ? 'cancelled' : 'denied', (call) => cancelled || call.asked);
  }

  requestAll(): void {
    for (const call of this.#open.values()) this.request(call);
  }

  #settleAll(status: CallStatus, which: (call: Call) => boolean): void {
    for (const call of this.#open.values()) {
      if (which(call)) this.#settle(call, { status, exit_code: null, output: null });
    }
  }

  #settle(call: Call, end: CallEnd): void {
    const { call_id } = call;
    this.to.finished({ call_id, ...end });
    this.#last_tool = call.canonical;
    this.#open.delete(call_id);
    this.#done.add(call_id);
  }

  #changed({ call_id, canonical, changes, path, operation }: Call, update: Update): void {
    const whole = operation ?? writtenAs(update);
    const diff = textOf(nativeOf(update.rawOutput)?.fileDiff);
    const alone = path === null ? [] : [{ path, operation: null, text: null }];
    for (const change of changes.length > 0 ? changes : alone) {
      const fresh = canonical === 'Write' && !this.#existing.has(change.path);
      const known = change.operation ?? whole ?? (fresh ? 'created' : 'modified');
      const size = change.text === null ? null : asciiBytes(change.text);
      const file = { path: change.path, operation: known, call_id, diff, size };
      this.to.put('file_changed', { ...file, source: 'tool' });
      if (known === 'deleted') this.#existing.delete(change.path);
      else this.#existing.add(change.path);
    }
  }
}

/** The input as far as title, place and diff show it, for agents that do not report inputs. */
function inputOf({ canonical, title, path, changes, kind }: Call): Open {
  const file_path = path ?? changes[0]?.path ?? null;
  if (canonical === 'Bash' || kind === 'execute') return title === null ? {} : { command: title };
  if (canonical === 'Skill' && title !== null) {
    // `"greeting-style": How this project greets people.`
    const [, skill] = /^"([^"]+)"/.exec(title) ?? [];
    return skill === undefined ? { title } : { skill };
  }
  if (file_path === null) return title === null ? {} : { title };
  const content = canonical === 'Write' ? (changes[0]?.text ?? null) : null;
  return content === null ? { file_path } : { file_path, content };
}
