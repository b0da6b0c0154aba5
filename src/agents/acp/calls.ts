/**
 * Tool calls. A call is told in pieces: often first with a name and no input, then with its input, then with a status.
 * It is requested when its input is there, or when something has happened to it that needs one.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { CallRequestedDraft, Draft } from '../../model/draft.ts';
import type { FileOperation } from '../../model/words.ts';
import {
  filledOf,
  idOf,
  isNative,
  metaField,
  type Native,
  nativesOf,
  textOf,
  trim,
} from './native.ts';
import {
  type CallEnd,
  type Change,
  changesOf,
  endOf,
  fileChanged,
  responseOperation,
  toldOperation,
} from './results.ts';
import { canonicalOf, type ToolName, toolOf } from './tools.ts';

export interface Call {
  readonly call_id: string;
  name: string | null;
  meta: Native;
  title: string | null;
  kind: string | null;
  input: Native | null;
  /** The agent gives inputs, if only an empty one. */
  given: boolean;
  path: string | null;
  changes: Change[];
  /** What a result before the last update said about the file. */
  operation: FileOperation | null;
  parent: string | null;
  /** Set when it was requested. */
  tool: ToolName | null;
  canonical: string;
  /** The client has refused it; whether it is told to have ended is another matter. */
  refused: boolean;
  /** Whether it may run was asked, and no answer was seen. */
  asked: boolean;
}

type Time = number | undefined;

const EDITS: ReadonlySet<string> = new Set(['Edit', 'Write']);

export class Calls {
  readonly #open = new Map<string, Call>();
  readonly #done = new Set<string>();
  /** Files that are known to exist, because a call read or changed them. */
  readonly #existing = new Set<string>();
  /** By a sub-agent's id, the call that started it. */
  readonly #starters = new Map<string, string>();
  /** The tool that ended last. */
  #last = '';
  mcp_separator: string | null = null;

  /** The call that an update or a permission request is about; null: it has ended. */
  take(update: Native, call_id: string, first: boolean): Call | null {
    if (this.#done.has(call_id)) {
      if (!first) return null;
      this.#done.delete(call_id);
    }
    let call = this.#open.get(call_id);
    if (call === undefined) {
      call = newCall(call_id);
      this.#open.set(call_id, call);
      trim(this.#open, LIMITS.open_calls_max);
    }
    merge(call, update);
    return call;
  }

  /** Root calls that the model still waits for. */
  get waiting(): boolean {
    for (const call of this.#open.values()) {
      if (call.parent === null && !call.refused && !call.asked) return true;
    }
    return false;
  }

  /** Whether a call tells what a plan says too. */
  get writesTodos(): boolean {
    if (this.#last === 'TodoWrite') return true;
    return [...this.#open.values()].some((call) => call.canonical === 'TodoWrite');
  }

  /** The sub-agent that runs; null: none is known to. */
  get runningTask(): string | null {
    let found: string | null = null;
    for (const call of this.#open.values()) {
      if (call.canonical === 'Task' && call.tool !== null) found = call.call_id;
    }
    return found;
  }

  request(call: Call, at_ms: Time, out: Draft[]): void {
    if (call.tool !== null) return;
    const { call_id, name, meta, title, kind, input } = call;
    const { mcp_separator } = this;
    call.tool = toolOf({ call_id, name, meta, title, kind, input, mcp_separator });
    call.canonical = canonicalOf(call.tool);
    call.parent = this.parentOf(call);
    const whole = input ?? (call.given ? {} : inputOf(call));
    call.path ??= pathIn(whole);
    const data: CallRequestedDraft = {
      call_id,
      ...call.tool,
      input: whole,
      parent_call_id: call.parent,
    };
    out.push({ kind: 'call_requested', at_ms, data });
  }

  /** By a mark of its own, or by the id of the sub-agent that makes it. */
  parentOf({ meta, call_id }: Call): string | null {
    const direct = metaField(meta, ['parentToolUseId', 'parentToolCallId']);
    if (direct !== null && direct !== call_id) return direct;
    const agent = metaField(meta, ['agentId']);
    if (agent === null) return null;
    const known = this.#starters.get(agent);
    if (known !== undefined) return known;
    const claimed = new Set(this.#starters.values());
    for (const call of this.#open.values()) {
      if (call.canonical !== 'Task' || claimed.has(call.call_id)) continue;
      this.#starters.set(agent, call.call_id);
      trim(this.#starters, LIMITS.open_calls_max);
      return call.call_id;
    }
    return null;
  }

  /** Ends the call where the update says so; null: it goes on. */
  finish(call: Call, update: Native, at_ms: Time, out: Draft[]): CallEnd | null {
    const shell = call.canonical === 'Bash' || call.kind === 'execute';
    const end = endOf(update, { refused: call.refused, shell });
    if (end === null) return null;
    this.request(call, at_ms, out);
    this.#settle(call, end, at_ms, out);
    if (end.status !== 'ok') return end;
    this.#changed(call, update, at_ms, out);
    if (call.path !== null && (call.canonical === 'Read' || EDITS.has(call.canonical))) {
      this.#existing.add(call.path);
      trim(this.#existing, LIMITS.artifacts_max);
    }
    return end;
  }

  /** Calls that were refused and of which nothing more was said. */
  finishRefused(at_ms: Time, out: Draft[]): void {
    const end = { status: 'denied' as const, exit_code: null, output: null };
    for (const call of [...this.#open.values()]) {
      if (call.refused) this.#settle(call, end, at_ms, out);
    }
  }

  /** The turn is over: what was asked for and never ran was refused, though the answer was not seen. */
  finishUnanswered(at_ms: Time, out: Draft[]): void {
    for (const call of this.#open.values()) call.refused ||= call.asked;
    this.finishRefused(at_ms, out);
  }

  /** The turn was cancelled, and with it every call that had not ended. */
  cancelAll(at_ms: Time, out: Draft[]): void {
    const end = { status: 'cancelled' as const, exit_code: null, output: null };
    this.requestAll(at_ms, out);
    for (const call of [...this.#open.values()]) this.#settle(call, end, at_ms, out);
  }

  requestAll(at_ms: Time, out: Draft[]): void {
    for (const call of this.#open.values()) this.request(call, at_ms, out);
  }

  #settle(call: Call, end: CallEnd, at_ms: Time, out: Draft[]): void {
    const { call_id } = call;
    out.push({ kind: 'call_finished', at_ms, data: { call_id, ...end } });
    this.#last = call.canonical;
    this.#open.delete(call_id);
    this.#done.add(call_id);
    trim(this.#done, LIMITS.settled_calls_max);
  }

  #changed(call: Call, update: Native, at_ms: Time, out: Draft[]): void {
    const told = call.operation ?? toldOperation(update);
    const all = EDITS.has(call.canonical) || call.changes.length > 0 ? changedBy(call) : [];
    for (const { path, operation, text } of all) {
      const fresh = call.canonical === 'Write' && !this.#existing.has(path);
      const known = operation ?? told ?? (fresh ? 'created' : 'modified');
      const data = fileChanged({ path, operation: known, text }, call.call_id, update);
      out.push({ kind: 'file_changed', at_ms, data });
      if (known === 'deleted') this.#existing.delete(path);
      else this.#existing.add(path);
    }
  }
}

function newCall(call_id: string): Call {
  return {
    call_id,
    name: null,
    meta: {},
    title: null,
    kind: null,
    input: null,
    given: false,
    path: null,
    changes: [],
    operation: null,
    parent: null,
    tool: null,
    canonical: '',
    refused: false,
    asked: false,
  };
}

/** Takes over what the update says and what is not known better already. */
function merge(call: Call, update: Native): void {
  call.name ??= idOf(update.name);
  call.title ??= filledOf(update.title);
  call.kind ??= idOf(update.kind);
  call.path ??= textOf(nativesOf(update.locations)[0]?.path);
  if (isNative(update._meta)) {
    call.operation ??= responseOperation(update._meta);
    call.meta = { ...call.meta, ...update._meta };
  }
  if (isNative(update.rawInput)) {
    call.given = true;
    if (call.input === null && Object.keys(update.rawInput).length > 0)
      call.input = update.rawInput;
  }
  const changes = changesOf(update.content);
  if (changes.length > 0) call.changes = changes;
}

function changedBy(call: Call): readonly Change[] {
  if (call.changes.length > 0) return call.changes;
  return call.path === null ? [] : [{ path: call.path, operation: null, text: null }];
}

/** `"greeting-style": How this project greets people.` */
const QUOTED = /^"([^"]+)"/;

/** The input as far as title, place and diff tell it, for those who do not give theirs. */
function inputOf({ canonical, title, path, changes, kind }: Call): Native {
  const file_path = path ?? changes[0]?.path ?? null;
  if (canonical === 'Bash' || kind === 'execute') return title === null ? {} : { command: title };
  if (canonical === 'Skill' && title !== null) {
    const [, skill] = QUOTED.exec(title) ?? [];
    return skill === undefined ? { title } : { skill };
  }
  if (file_path === null) return title === null ? {} : { title };
  const content = canonical === 'Write' ? (changes[0]?.text ?? null) : null;
  return content === null ? { file_path } : { file_path, content };
}

const PATH_FIELDS = ['file_path', 'filePath', 'path'];

function pathIn(input: Native): string | null {
  for (const field of PATH_FIELDS) {
    const path = filledOf(input[field]);
    if (path !== null) return path;
  }
  return null;
}
