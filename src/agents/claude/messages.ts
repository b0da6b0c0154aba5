/** Messages and their blocks, as found on stdout and in session files. */
import { putBlock, putUnknown } from '../kit/blocks.ts';
import { type Said, Writer } from '../kit/drafts.ts';
import { idOf, isNative, nativeOf, type Open, statusOf, textOf } from '../kit/native.ts';
import { contentText, wordSet } from '../kit/text.ts';
import { Calls, INTERRUPTED, type ResultFacts } from './calls.ts';
import type { Assistant, Block, User } from './records.ts';

/** Returns the facts next to a result, by call id. `alone`: the record holds no other result. */
export type FactsOf = (alone: boolean) => (call_id: unknown) => ResultFacts;
/** Meaning of a user record: tool results, a prompt, text that the CLI adds to a turn, or an interruption. */
export type UserRecord = 'results' | 'prompt' | 'companion' | 'interruption' | 'nothing';

export const SYNTHETIC_MODEL = '<synthetic>';
const API_ERROR = 'API Error: ';
export const NOTIFICATION = '<task-notification>';
/** Beginnings of texts that the CLI writes as the user. */
const PRINTED = [NOTIFICATION, '<local-command-', '<bash-stdout>', '<bash-stderr>'];
/** `/exit`, `/model` …: typed by the user, answered by the CLI. Other commands begin with `<command-message>`. */
const LOCAL_COMMAND = '<command-name>';
/** A command for the model, as wrapped in session files. */
const SLASH_COMMAND =
  /^<command-message>[^<]*<\/command-message>\s*<command-name>(\/[^<\s]+)<\/command-name>(?:\s*<command-args>([\s\S]*)<\/command-args>)?\s*$/;
/** Blocks with nothing to record. */
const IGNORED = wordSet('document image redacted_thinking search_result tool_reference');

/** One conversation: the root agent's steps, and the calls of all agents. */
export class Conversation extends Writer {
  readonly calls = new Calls(this.to);
  /** The root agent's model has sent a message. */
  spoken = false;
  /** The provider failed, and the model has not continued since. */
  failed = false;
  #step: string | null = null;
  #step_has_blocks = false;
  /** A step has begun, and no prompt, result or end record has followed it yet. */
  turn_open = false;

  /** `key` identifies the message; `step_id` is its own id. */
  startStep(key: string, step_id: string | null): void {
    if (key !== this.#step) {
      // A stream that broke before its first block is retried under another message id.
      const again = this.turn_open && !this.#step_has_blocks;
      if (!again) this.#beginStep(step_id);
      this.#step = key;
    }
    this.turn_open = true;
  }

  #beginStep(step_id: string | null): void {
    // The model continues: rejected calls were refused, not interrupted.
    this.calls.settle(false);
    this.#step_has_blocks = false;
    this.to.step(step_id);
  }

  assistant(record: Assistant, key: string | null): void {
    const { root } = this.to;
    const message = nativeOf(record.message);
    if (!message || !Array.isArray(message.content)) {
      this.to.bad('assistant without content');
      return;
    }
    const message_id = idOf(message.id);
    const synthetic = message.model === SYNTHETIC_MODEL;
    const failure = isFailure(record, synthetic);
    if (root && !synthetic) {
      this.startStep(key ?? message_id ?? '', message_id);
      this.#step_has_blocks = true;
      this.spoken = true;
      this.failed = false;
    } else if (root && failure && !this.turn_open) this.#beginStep(message_id);
    if (failure) this.#providerFailed(record, message.content);
    const partial = record.aborted === true || record.isAbortedMidStream === true;
    for (const block of message.content) this.#block(block, { message_id, synthetic, partial });
  }

  #block(value: unknown, said: Required<Said>): void {
    const block: Block | null = nativeOf(value);
    if (block === null) {
      this.to.bad('assistant block is not an object');
    } else if (block.type === 'tool_use') this.calls.request(block);
    else putBlock(this.to, block, said, IGNORED);
  }

  user(record: User, factsOf: FactsOf): UserRecord {
    const content = nativeOf(record.message)?.content;
    if (typeof content !== 'string' && !Array.isArray(content)) {
      this.to.bad('user without content');
      return 'nothing';
    }
    const results = typeof content === 'string' ? 0 : this.#results(content, factsOf);
    if (this.to.root) this.turn_open = false;
    const text = contentText(content);
    if (text === null) return results > 0 ? 'results' : 'nothing';
    const was = this.#prompted(record, text);
    return results > 0 && was !== 'interruption' ? 'results' : was;
  }

  #results(content: readonly unknown[], factsOf: FactsOf): number {
    let results = 0;
    for (const block of content) if (isNative(block) && block.type === 'tool_result') results += 1;
    const facts = factsOf(results === 1);
    for (const value of content) {
      const block: Block | null = nativeOf(value);
      if (block === null) this.to.bad('user block is not an object');
      else if (block.type === 'tool_result') this.calls.finish(block, facts(block.tool_use_id));
      else if (block.type !== 'text' || typeof block.text !== 'string') {
        if (!IGNORED.has(block.type)) putUnknown(this.to, 'user', block.type);
      }
    }
    return results;
  }

  #prompted(record: User, text: string): UserRecord {
    const interrupted = text.startsWith(INTERRUPTED);
    const summary = record.isCompactSummary === true;
    const added = record.isMeta === true || record.isSynthetic === true || summary;
    const printed = PRINTED.some((start) => text.startsWith(start));
    const synthetic = interrupted || added || printed;
    this.to.message('user', typedText(text), { message_id: idOf(record.uuid), synthetic });
    if (interrupted) {
      this.calls.settle(true);
      return 'interruption';
    }
    if (text.startsWith(NOTIFICATION)) return 'prompt';
    return added || printed || text.startsWith(LOCAL_COMMAND) ? 'companion' : 'prompt';
  }

  #providerFailed(record: Assistant, content: unknown): void {
    if (this.to.root) this.failed = true;
    const status = statusOf(record.api_error_status) ?? statusOf(record.apiErrorStatus);
    const message = contentText(content) ?? '';
    this.to.failed({ native_kind: textOf(record.error), status, message });
  }
}

/** A command for the model as the user typed it, `/name args`; any other text unchanged. */
function typedText(text: string): string {
  const [, name, args = ''] = SLASH_COMMAND.exec(text) ?? [];
  return name === undefined ? text : `${name} ${args}`.trim();
}

/** Earlier versions set no flag on stdout; only the text shows a failure. */
function isFailure(record: Assistant, synthetic: boolean): boolean {
  if (record.is_api_error_message === true || record.isApiErrorMessage === true) return true;
  const text = synthetic ? contentText(nativeOf(record.message)?.content) : null;
  return text?.startsWith(API_ERROR) ?? false;
}

/** The text of a notice record without a kind. */
export function noticeText(record: Open): string | null {
  const { content, message, summary, text } = record;
  return textOf(content) ?? textOf(message) ?? textOf(summary) ?? textOf(text);
}
