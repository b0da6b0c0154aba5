/** Calls of a session file. A call is asked for in one record and ends in one or two others: its item, and the answer to the model. */
import { LIMITS } from '../../lib/limits.ts';
import type { CallRequestedDraft, Draft } from '../../model/draft.ts';
import { type Ended, endedBy, goesOn, isAborted, type JsonReader } from './answers.ts';
import { callItem } from './items.ts';
import { idOf, type Native, nameOf, problem, textOf } from './native.ts';
import { addsOnly, changesOfPatch, fieldsOf, fileChanges } from './patch.ts';
import { commandOfWords } from './shell-line.ts';

/** Who asks, and when. `file` tells the conversations apart: each has a file of its own. */
export interface Place {
  readonly file: string;
  readonly at_ms: number | undefined;
  /** The call that started the sub-agent; null for the root agent, and where it is not known. */
  readonly parent: string | null;
}

type Request = Omit<CallRequestedDraft, 'parent_call_id'>;

interface Call {
  readonly tool: string;
  readonly file: string;
  /** `answered`: the model was told of its end, and more may become known. */
  state: 'open' | 'answered' | 'ended';
  /** The answer of a command that goes on. */
  answer: string | null;
  aborted: boolean;
}

/** A script of code mode: it counts as a call only when nothing it did shows as one. */
interface Script {
  readonly input: string;
  readonly place: Place;
  did: boolean;
  answer: string | null;
}

export class SessionCalls {
  readonly #calls = new Map<string, Call>();
  readonly #scripts = new Map<string, Script>();
  /** Commands that go on after their call was answered. */
  readonly #running = new Set<string>();
  readonly #json: JsonReader;

  constructor(json: JsonReader) {
    this.#json = json;
  }

  tool(call_id: string): string | null {
    return this.#calls.get(call_id)?.tool ?? null;
  }

  request(request: Request, place: Place, out: Draft[]): void {
    const { call_id, native_tool } = request;
    const known = this.#calls.get(call_id);
    // A sub-agent that begins with its parent's history repeats the parent's calls.
    if (known !== undefined && (known.file !== place.file || known.state === 'open')) return;
    const { file, at_ms, parent } = place;
    this.#calls.set(call_id, {
      tool: native_tool,
      file,
      state: 'open',
      answer: null,
      aborted: false,
    });
    trim(this.#calls);
    out.push({ kind: 'call_requested', at_ms, data: { ...request, parent_call_id: parent } });
  }

  patch(call_id: string, text: string, place: Place, out: Draft[]): void {
    const changes = changesOfPatch(text);
    const input = { input: text, ...fieldsOf(changes) };
    const adds = addsOnly(changes) && { adds_only: true };
    this.request({ call_id, native_tool: 'apply_patch', input, ...adds }, place, out);
  }

  script(call_id: string, input: string, place: Place): void {
    if (this.#calls.has(call_id)) return;
    this.#scripts.set(call_id, { input, place, did: false, answer: null });
    trim(this.#scripts);
  }

  /** An item that is a call: the end of one that was asked for, or something that a script did. */
  item(item: Native, place: Place, out: Draft[]): void {
    const kind = callItem(item.type);
    const call_id = idOf(item.id);
    if (kind === undefined || call_id === null) {
      out.push(problem('bad_record', `${nameOf(item.type)} without id`));
      return;
    }
    if (!this.#calls.has(call_id)) {
      const request = kind.request(item);
      if (request === null) {
        out.push(problem('bad_record', `${nameOf(item.type)} without what it calls`));
        return;
      }
      this.#claim(place.file, commandOfWords(item.command));
      this.request({ call_id, ...request }, place, out);
    }
    const ended = kind.ended(item);
    const first = this.#end(call_id, ended, place.at_ms, out);
    if (first && ended.status === 'ok' && kind.changes) {
      fileChanges(kind.changes(item), call_id, place.at_ms, out);
    }
  }

  /** The model was told how a call ended. */
  answer(call_id: string, text: string | null, place: Place, out: Draft[]): void {
    const script = this.#scripts.get(call_id);
    if (script !== undefined) {
      script.answer = text;
      if (!goesOn(text ?? '') && !mayGoOn(script)) this.#settle(call_id, script, place.at_ms, out);
      return;
    }
    const call = this.#calls.get(call_id);
    // Nobody asked: the pipeline says so.
    if (call === undefined) out.push(finished(call_id, endedBy('', text, this.#json), place.at_ms));
    if (call?.state !== 'open') return;
    if (text !== null && goesOn(text)) {
      call.answer = text;
      if (this.#running.size < LIMITS.open_calls_max) this.#running.add(call_id);
      return;
    }
    call.aborted = text !== null && isAborted(text);
    call.state = 'answered';
    out.push(finished(call_id, endedBy(call.tool, text, this.#json), place.at_ms));
  }

  /** A call that ends in the record that tells of it, or in one that says nothing of how. */
  finish(call_id: string, ended: Ended, at_ms: number | undefined, out: Draft[]): void {
    this.#end(call_id, ended, at_ms, out);
  }

  /** The turn of a conversation is over: what still runs has answered all that it will. */
  endTurn(file: string, at_ms: number | undefined, out: Draft[]): void {
    for (const [call_id, script] of this.#scripts) {
      if (script.place.file === file && script.answer !== null) {
        this.#settle(call_id, script, at_ms, out);
      }
    }
    for (const call_id of this.#running) {
      if (this.#calls.get(call_id)?.file === file) this.#leave(call_id, at_ms, out);
    }
  }

  end(out: Draft[]): void {
    for (const [call_id, script] of this.#scripts) this.#settle(call_id, script, undefined, out);
    for (const call_id of this.#running) this.#leave(call_id, undefined, out);
  }

  /** A command that outlives its turn: the call ended with its answer. */
  #leave(call_id: string, at_ms: number | undefined, out: Draft[]): void {
    this.#running.delete(call_id);
    const call = this.#calls.get(call_id);
    if (call?.state !== 'open') return;
    call.state = 'answered';
    out.push(finished(call_id, endedBy(call.tool, call.answer, this.#json), at_ms));
  }

  /** True when this was the call's end, and no news of one that had ended. */
  #end(call_id: string, ended: Ended, at_ms: number | undefined, out: Draft[]): boolean {
    const call = this.#calls.get(call_id);
    if (call === undefined || call.state === 'ended') return false;
    const first = call.state === 'open';
    if (first) {
      out.push(finished(call_id, ended, at_ms));
    } else {
      // An interrupted command is shown as failed.
      const status = call.aborted ? null : ended.status;
      const { exit_code } = ended;
      out.push({ kind: 'call_updated', at_ms, data: { call_id, status, exit_code } });
    }
    call.state = 'ended';
    this.#running.delete(call_id);
    return first;
  }

  /** Something was done by a script of this conversation: by one that names the command, or else by those that run. */
  #claim(file: string, command: string | null): void {
    const scripts = [...this.#scripts.values()].filter((script) => script.place.file === file);
    const naming = command ? scripts.filter(({ input }) => input.includes(command)) : [];
    const running = scripts.filter(({ answer }) => answer === null || goesOn(answer));
    const calling = running.filter((script) => script.input.includes('tools.'));
    const [first] = naming.filter((script) => !script.did);
    const others = calling.length > 0 ? calling : running;
    for (const script of naming.length > 0 ? [first] : others) if (script) script.did = true;
  }

  #settle(call_id: string, script: Script, at_ms: number | undefined, out: Draft[]): void {
    this.#scripts.delete(call_id);
    if (script.did) return;
    const input = { input: script.input };
    this.request({ call_id, native_tool: 'exec', input }, script.place, out);
    if (script.answer === null) return;
    const call = this.#calls.get(call_id);
    if (call !== undefined) call.state = 'ended';
    out.push(finished(call_id, endedBy('exec', script.answer, this.#json), at_ms));
  }
}

/** A script may leave a command running, which shows only when it has ended. */
function mayGoOn(script: Script): boolean {
  return !script.did && script.input.includes('tools.exec_command');
}

function finished(call_id: string, ended: Ended, at_ms: number | undefined): Draft {
  return { kind: 'call_finished', at_ms, data: { call_id, ...ended } };
}

/** The older half goes when a collection would grow without bound. */
function trim(held: Map<string, unknown>): void {
  if (held.size <= LIMITS.open_calls_max) return;
  for (const key of held.keys()) {
    if (held.size <= LIMITS.open_calls_max / 2) return;
    held.delete(key);
  }
}

/** Arguments of a function call: JSON in a text, which the model may have got wrong. */
export function argumentsOf(value: unknown, parsed: unknown): unknown {
  const text = textOf(value);
  if (text === null) return value ?? {};
  if (parsed !== undefined) return parsed;
  return text === '' ? {} : { arguments: text };
}
