/** Calls in a session file: requested in one record, and ended by one or two others, the item and the answer. */
import { RecentMap, RecentSet } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { CallFinishedDraft } from '../../model/draft.ts';
import { type Time, Writer } from '../kit/drafts.ts';
import { idOf, wordOf } from '../kit/native.ts';
import { continues, endedBy, isAborted } from './answers.ts';
import { CALL_ITEMS, requestIn } from './items.ts';
import type { Item, Request } from './native.ts';
import { fileChanges } from './patch.ts';
import { commandOfWords } from './shell-line.ts';

interface Call {
  readonly tool: string;
  readonly file: string;
  /** `answered`: the model has received an answer, but more may follow. */
  state: 'open' | 'answered' | 'ended';
  /** The answer of a command that continues to run. */
  answer: string | null;
  aborted: boolean;
}

/** A script in code mode. It counts as a call only if none of its actions is shown as one. */
interface Script {
  readonly input: string;
  readonly file: string;
  readonly parent: string | null;
  readonly at_ms: Time;
  did: boolean;
  answer: string | null;
}

export class Calls extends Writer {
  /** The file of the current record. Each conversation has its own file. */
  file = '';
  readonly #calls = new RecentMap<string, Call>(LIMITS.open_calls_max);
  readonly #scripts = new RecentMap<string, Script>(LIMITS.open_calls_max);
  /** Commands that continue after their call was answered. */
  readonly #running = new RecentSet<string>(LIMITS.open_calls_max);

  has(call_id: string): boolean {
    return this.#calls.has(call_id);
  }

  request(call_id: string, { native_tool, input, more }: Request): void {
    if (this.#begins(call_id, native_tool, this.file)) {
      this.to.requested(call_id, native_tool, input, more);
    }
  }

  #isNew(call_id: string, file: string): boolean {
    const known = this.#calls.get(call_id);
    // A sub-agent that starts with its parent's history repeats the parent's calls.
    return known === undefined || (known.file === file && known.state !== 'open');
  }

  #begins(call_id: string, tool: string, file: string): boolean {
    if (!this.#isNew(call_id, file)) return false;
    this.#calls.set(call_id, { tool, file, state: 'open', answer: null, aborted: false });
    return true;
  }

  script(call_id: string, input: string): void {
    const { parent, at_ms } = this.to;
    const script = { input, file: this.file, parent, at_ms, did: false, answer: null };
    if (!this.#calls.has(call_id)) this.#scripts.set(call_id, script);
  }

  /** An item that is a call: the end of a requested call, or an action of a script. */
  item(item: Item) {
    const kind = CALL_ITEMS.get(item.type);
    const call_id = idOf(item.id);
    if (kind === undefined || call_id === null)
      return this.to.bad(`${wordOf(item.type)} without id`);
    if (!this.#calls.has(call_id)) {
      const request = requestIn(this.to, kind, item);
      if (request === null) return;
      this.#claim(commandOfWords(item.command));
      this.request(call_id, request);
    }
    const ended = kind.ended(item, call_id);
    const first = this.finish(ended);
    if (first && ended.status === 'ok' && kind.changes) {
      fileChanges(this.to, kind.changes(item), call_id);
    }
  }

  /** The model received the answer to a call. */
  answer(call_id: string, text: string | null): void {
    const script = this.#scripts.get(call_id);
    const call = this.#calls.get(call_id);
    if (script !== undefined) {
      script.answer = text;
      // A script may leave commands running; they are shown only after they have ended.
      const waits = !script.did && script.input.includes('tools.exec_command');
      if (!continues(text ?? '') && !waits) this.#settle(call_id, script);
    } else if (call === undefined) {
      // The call was never requested. The pipeline reports it.
      this.to.finished(endedBy(call_id, '', text));
    } else if (call.state === 'open') {
      call.answer = text;
      if (text !== null && continues(text)) this.#running.add(call_id);
      else this.#answered(call_id, call);
    }
  }

  #answered(call_id: string, call: Call): void {
    call.aborted = call.answer !== null && isAborted(call.answer);
    call.state = 'answered';
    this.to.finished(endedBy(call_id, call.tool, call.answer));
  }

  /** A turn of the conversation ended: running calls get no further answers. */
  endTurn(): void {
    for (const [call_id, script] of this.#scripts) {
      if (script.file === this.file && script.answer !== null) this.#settle(call_id, script);
    }
    for (const call_id of this.#running) {
      if (this.#calls.get(call_id)?.file === this.file) this.#leave(call_id);
    }
  }

  end(): void {
    for (const [call_id, script] of this.#scripts)
      if (!script.did) this.#put(call_id, script, this.#isNew(call_id, script.file));
    for (const call_id of this.#running) {
      const call = this.#calls.get(call_id);
      if (call?.state === 'open') this.to.finished(endedBy(call_id, call.tool, call.answer));
    }
  }

  /** A command that outlives its turn. The call ended with its answer. */
  #leave(call_id: string): void {
    this.#running.delete(call_id);
    const call = this.#calls.get(call_id);
    if (call?.state === 'open') this.#answered(call_id, call);
  }

  /** True if this ended the call; false if the call had already ended and was updated. */
  finish(ended: CallFinishedDraft): boolean {
    const { call_id, status, exit_code } = ended;
    const call = this.#calls.get(call_id);
    if (call === undefined || call.state === 'ended') return false;
    const first = call.state === 'open';
    if (first) this.to.finished(ended);
    // An interrupted command is reported as failed.
    else this.to.updated(call_id, call.aborted ? null : status, exit_code);
    call.state = 'ended';
    this.#running.delete(call_id);
    return first;
  }

  /** A script of this conversation did something: the script that names the command, otherwise all running scripts. */
  #claim(command: string | null): void {
    const scripts = [...this.#scripts.values()].filter((script) => script.file === this.file);
    const naming = command ? scripts.filter(({ input }) => input.includes(command)) : [];
    const running = scripts.filter(({ answer }) => answer === null || continues(answer));
    const calling = running.filter((script) => script.input.includes('tools.'));
    const first = naming.filter((script) => !script.did).slice(0, 1);
    const others = calling.length > 0 ? calling : running;
    for (const script of naming.length > 0 ? first : others) script.did = true;
  }

  #settle(call_id: string, script: Script): void {
    this.#scripts.delete(call_id);
    if (script.did) return;
    this.#put(call_id, script, this.#begins(call_id, 'exec', script.file));
    const call = this.#calls.get(call_id);
    if (call !== undefined && script.answer !== null) call.state = 'ended';
  }

  /** `fresh`: the call was not requested before. */
  #put(call_id: string, { input, parent, at_ms, answer }: Script, fresh: boolean): void {
    if (fresh) {
      const request = { call_id, native_tool: 'exec', input: { input }, parent_call_id: parent };
      this.to.put('call_requested', request, at_ms);
    }
    if (answer !== null) this.to.finished(endedBy(call_id, 'exec', answer));
  }
}
