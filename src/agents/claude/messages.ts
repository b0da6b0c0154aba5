/** Messages and their blocks, as stdout and session files both hold them. */
import type { Draft } from '../../model/draft.ts';
import { Calls, INTERRUPTED, type ResultFacts } from './calls.ts';
import {
  contentText,
  idOf,
  isNative,
  type Native,
  nameOf,
  nativeOf,
  problem,
  statusOf,
  textOf,
  timeOf,
} from './native.ts';
import { BLOCKS_IGNORED } from './records.ts';

const SYNTHETIC_MODEL = '<synthetic>';
const API_ERROR = 'API Error: ';
const NOTIFICATION = '<task-notification>';
/** Beginnings of text that the CLI puts in the user's place. */
const PRINTED = [NOTIFICATION, '<local-command-', '<bash-stdout>', '<bash-stderr>'];
/** `/exit`, `/model` …: typed by the user, answered by the CLI. Commands for the model begin with `<command-message>`. */
const LOCAL_COMMAND = '<command-name>';

/** Who speaks in a record. */
export interface Speaker {
  readonly at_ms: number | undefined;
  /** The call that started the sub-agent; null for the root agent, and where it is not known. */
  readonly parent: string | null;
  readonly root: boolean;
}

/** What a user record was: tool results, a prompt, text the CLI adds to a turn, or an interruption. */
export type UserRecord = 'results' | 'prompt' | 'companion' | 'interruption' | 'nothing';

/** Facts that stand beside a result, by its call's id; `alone`: the record holds no other result. */
export type FactsOf = (record: Native, alone: boolean) => (call_id: unknown) => ResultFacts;

interface Said {
  readonly message_id: string | null;
  readonly synthetic: boolean;
  readonly partial: boolean;
  readonly speaker: Speaker;
}

/** One conversation: the root agent's steps, and everybody's calls. */
export class Conversation {
  readonly calls = new Calls();
  /** The root agent's model has spoken at all. */
  spoken = false;
  /** The provider's failure has been told, and the model has not gone on after it. */
  failed = false;
  #step: string | null = null;
  #step_has_blocks = false;
  /** A step has begun and nothing has answered it yet. */
  #turn_open = false;

  /** `key` tells messages apart; `step_id` is the message's own id. */
  startStep(key: string, step_id: string | null, at_ms: number | undefined, out: Draft[]): void {
    if (key !== this.#step) {
      // A stream that broke before its first block is tried again under another message id.
      const again = this.#turn_open && !this.#step_has_blocks;
      if (!again) this.#beginStep(step_id, at_ms, out);
      this.#step = key;
    }
    this.#turn_open = true;
  }

  #beginStep(step_id: string | null, at_ms: number | undefined, out: Draft[]): void {
    // The model goes on: what was rejected had been refused, not interrupted.
    this.calls.settle(false, out);
    this.#step_has_blocks = false;
    const data = { step_id, allowed_tools: null, enforcement_mode: null };
    out.push({ kind: 'step_started', at_ms, data });
  }

  /** A prompt, a result or the end record: the model's turn is over. */
  closeTurn(): void {
    this.#turn_open = false;
  }

  assistant(record: Native, key: string | null, speaker: Speaker, out: Draft[]): void {
    const message = nativeOf(record.message);
    if (!message || !Array.isArray(message.content)) {
      out.push(problem('bad_record', `${nameOf(record)} without content`));
      return;
    }
    const message_id = idOf(message.id);
    const synthetic = message.model === SYNTHETIC_MODEL;
    const failure = isFailure(record, message, synthetic);
    if (speaker.root && !synthetic) {
      this.startStep(key ?? message_id ?? '', message_id, speaker.at_ms, out);
      this.#step_has_blocks = true;
      this.spoken = true;
      this.failed = false;
    } else if (speaker.root && failure && !this.#turn_open) {
      this.#beginStep(message_id, speaker.at_ms, out);
    }
    if (failure) this.#providerFailed(record, message.content, speaker, out);
    const partial = record.aborted === true || record.isAbortedMidStream === true;
    for (const block of message.content) {
      this.#block(block, { message_id, synthetic, partial, speaker }, out);
    }
  }

  #block(block: unknown, said: Said, out: Draft[]): void {
    const { message_id, synthetic, partial } = said;
    const { at_ms, parent, root } = said.speaker;
    if (!isNative(block)) {
      out.push(problem('bad_record', 'assistant block is no object'));
    } else if (block.type === 'tool_use') {
      this.calls.request(block, parent, at_ms, out);
    } else if (block.type === 'text' && typeof block.text === 'string') {
      // Text of a sub-agent whose call is not known must not pass for the root agent's.
      if (!root && parent === null) return;
      const { text } = block;
      const data = { message_id, parent_call_id: parent, text, synthetic, partial };
      out.push({ kind: 'message_finished', at_ms, data: { ...data, role: 'assistant' } });
    } else if (block.type === 'thinking' && typeof block.thinking === 'string') {
      if (!root && parent === null) return;
      const data = { message_id, parent_call_id: parent, text: block.thinking };
      out.push({ kind: 'thinking_finished', at_ms, data });
    } else {
      otherBlock('assistant', block, out);
    }
  }

  user(record: Native, speaker: Speaker, factsOf: FactsOf, out: Draft[]): UserRecord {
    const content = nativeOf(record.message)?.content;
    if (typeof content !== 'string' && !Array.isArray(content)) {
      out.push(problem('bad_record', `${nameOf(record)} without content`));
      return 'nothing';
    }
    const results = typeof content === 'string' ? 0 : this.#results(record, content, factsOf, out);
    if (speaker.root) this.closeTurn();
    const text = contentText(content);
    if (text === null) return results > 0 ? 'results' : 'nothing';
    const was = this.#prompted(record, text, speaker, out);
    return results > 0 && was !== 'interruption' ? 'results' : was;
  }

  #results(record: Native, content: unknown[], factsOf: FactsOf, out: Draft[]): number {
    let results = 0;
    for (const block of content) if (isNative(block) && block.type === 'tool_result') results += 1;
    const facts = factsOf(record, results === 1);
    for (const block of content) {
      if (!isNative(block)) {
        out.push(problem('bad_record', 'user block is no object'));
      } else if (block.type === 'tool_result') {
        this.calls.finish(block, facts(block.tool_use_id), out);
      } else if (block.type !== 'text' || typeof block.text !== 'string') {
        otherBlock('user', block, out);
      }
    }
    return results;
  }

  #prompted(record: Native, text: string, speaker: Speaker, out: Draft[]): UserRecord {
    const interrupted = text.startsWith(INTERRUPTED);
    const summary = record.isCompactSummary === true;
    const added = record.isMeta === true || record.isSynthetic === true || summary;
    const printed = PRINTED.some((start) => text.startsWith(start));
    const synthetic = interrupted || added || printed;
    if (speaker.root || speaker.parent !== null) {
      const data = { message_id: idOf(record.uuid), parent_call_id: speaker.parent, text };
      out.push({
        kind: 'message_finished',
        at_ms: speaker.at_ms,
        data: { ...data, role: 'user', synthetic, partial: false },
      });
    }
    if (interrupted) {
      this.calls.settle(true, out);
      return 'interruption';
    }
    if (text.startsWith(NOTIFICATION)) return 'prompt';
    return added || printed || text.startsWith(LOCAL_COMMAND) ? 'companion' : 'prompt';
  }

  #providerFailed(record: Native, content: unknown, speaker: Speaker, out: Draft[]): void {
    if (speaker.root) this.failed = true;
    const status = statusOf(record.api_error_status) ?? statusOf(record.apiErrorStatus);
    out.push({
      kind: 'provider_failed',
      at_ms: speaker.at_ms,
      data: {
        kind: textOf(record.error),
        status,
        retryable: retryable(status),
        message: contentText(content) ?? '',
      },
    });
  }
}

/** Earlier versions set no flag on stdout: their own words tell. */
function isFailure(record: Native, message: Native, synthetic: boolean): boolean {
  if (record.is_api_error_message === true || record.isApiErrorMessage === true) return true;
  return synthetic && (contentText(message.content)?.startsWith(API_ERROR) ?? false);
}

export function retryable(status: number | null): boolean | null {
  return status === null ? null : status === 408 || status === 429 || status >= 500;
}

/** `<task-notification>` as text: the session file's only word on a background task's end. */
export function taskNotification(text: string) {
  if (!text.startsWith(NOTIFICATION)) return null;
  return {
    call_id: between(text, '<tool-use-id>', '</tool-use-id>'),
    status: between(text, '<status>', '</status>'),
    summary: between(text, '<summary>', '</summary>') ?? '',
  };
}

export function between(text: string, open: string, close: string): string | null {
  const from = text.indexOf(open);
  if (from < 0) return null;
  const to = text.indexOf(close, from + open.length);
  return to < 0 ? null : text.slice(from + open.length, to);
}

function otherBlock(role: string, block: Native, out: Draft[]): void {
  const type = textOf(block.type);
  if (type !== null && BLOCKS_IGNORED.has(type)) return;
  const known = type === 'text' || type === 'thinking' || type === null;
  const detail = `${role}/${type ?? 'no type'}`;
  out.push(problem(known ? 'bad_record' : 'unknown_record', detail));
}

/** A record that tells people something and has no kind of its own. */
export function notice(record: Native, out: Draft[]): void {
  const text =
    textOf(record.content) ??
    textOf(record.message) ??
    textOf(record.summary) ??
    textOf(record.text);
  const code = textOf(record.subtype) ?? textOf(record.type) ?? 'notice';
  out.push({ kind: 'notice', at_ms: timeOf(record), data: { code, text } });
}
