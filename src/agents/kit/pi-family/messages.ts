/** Messages of the user, the model and the tools, as found in both channels. */
import { isLonger } from '../../../lib/byte-text.ts';
import { type End, OK, type Time, Writer } from '../drafts.ts';
import type { FailureFacts } from '../failures.ts';
import { AGENT_LIMITS } from '../limits.ts';
import {
  costOf,
  countOf,
  durationOf,
  type Inside,
  idOf,
  listOf,
  nativeOf,
  type Open,
  textOf,
  timeOf,
  tokensOf,
} from '../native.ts';
import { contentText, wordSet } from '../text.ts';
import { type Spent, spent } from '../usage.ts';
import { Calls } from './calls.ts';
import { type Message, ofMessage, type Result } from './results.ts';

type Usage = Inside<Message['usage']>;

/** Messages that neither the user nor the model wrote, and commands that the user ran without the model. */
export const ROLES_IGNORED = wordSet(
  'bashExecution branchSummary compactionSummary custom hookMessage',
);
/** A `/skill:name` command appears in the user's message as the skill's whole text. */
const SKILL = /^<skill name="([^"\n]+)" location="/;
const SKILL_CHARS_MAX = 256;
/** A failure of the model API, as the CLI words it: `429: {…}`. */
const STATUS = /^(\d{3})\b/;

/** Messages have no id on stdout; their start time identifies them. */
export function messageId(message: Message): string | null {
  const begin = countOf(message.timestamp);
  return begin === null ? null : String(begin);
}

/** When a message was complete; `timestamp` is its start. Unknown in versions that do not measure durations. */
export function endOf(message: Message): Time {
  const begin = timeOf(message);
  const took = durationOf(message.durationMs);
  return begin === undefined || took === null ? undefined : begin + took;
}

/** `usage` of a message or a compaction; null if there is none. `input` excludes the cache. */
export function spentOf(value: Message['usage'] | undefined): Spent | null {
  const figures: Usage | null = nativeOf(value);
  if (figures === null) return null;
  const usage = {
    input: tokensOf(figures.input),
    output: tokensOf(figures.output),
    cache_read: tokensOf(figures.cacheRead),
    cache_write: tokensOf(figures.cacheWrite),
    reasoning: tokensOf(figures.reasoning) ?? tokensOf(figures.reasoningTokens),
  };
  return spent(usage, costOf(nativeOf(figures.cost)?.total));
}

export function failureOf({ errorMessage }: { errorMessage?: unknown }): FailureFacts {
  const message = textOf(errorMessage) ?? '';
  const status = STATUS.exec(message)?.[1];
  return { status: status === undefined ? null : Number(status), message };
}

/** The end of a run with this as the model's last message. */
export function endAfter(message: Message): End {
  const error = textOf(message.errorMessage);
  if (message.stopReason === 'error') return { exit_reason: 'provider_error', error };
  if (message.stopReason === 'aborted') return { exit_reason: 'cancelled', error };
  return OK;
}

export class Conversation extends Writer {
  readonly calls = new Calls(this.to);
  /** Whether the version measures the duration of calls. */
  measured = false;

  assistant(message: Message): void {
    const to = this.to;
    const broken = message.stopReason === 'error' || message.stopReason === 'aborted';
    const measured = durationOf(message.durationMs) !== null;
    if (to.parent === null) this.measured = measured;
    const message_id = messageId(message);
    const content = textOf(message.content);
    if (content !== null) to.message('assistant', content, { message_id, partial: broken });
    for (const item of listOf(message.content)) {
      const block = nativeOf(item);
      if (block === null) {
        to.bad('content block is not an object');
      } else if (block.type === 'toolCall') {
        this.calls.request(block, { measured, cut: message.stopReason === 'length' });
        const call_id = broken ? idOf(block.id) : null;
        if (call_id !== null) this.calls.drop(call_id);
      } else if (block.type === 'text' && typeof block.text === 'string') {
        to.message('assistant', block.text, { message_id, partial: broken });
      } else if (block.type === 'thinking' && typeof block.thinking === 'string') {
        if (block.thinking !== '') to.thinking(block.thinking, message_id);
      } else if (block.type !== 'image') {
        const type = textOf(block.type);
        const known = type === 'text' || type === 'thinking' || block.type === undefined;
        const detail = `message/assistant/${type ?? 'no type'}`;
        to.problem(known ? 'bad_record' : 'unknown_record', detail);
      }
    }
  }

  user(message: Message): void {
    const text = contentText(message.content);
    if (text === null) return;
    const skill = SKILL.exec(text)?.[1];
    const named = skill !== undefined && !isLonger(skill, SKILL_CHARS_MAX);
    if (named && text.includes('</skill>')) {
      this.to.put('skill_used', { skill, call_id: null });
    }
    this.to.message('user', text);
  }

  /** A `toolResult` message. It is a repeat if the call has already ended. */
  resultMessage(message: Message): void {
    const result = ofMessage(message);
    const call = result.call_id === null ? undefined : this.calls.get(result.call_id);
    const nested = nativeOf(message.nestedCalls);
    if (nested && result.call_id !== null) this.calls.nested(nested, result.call_id);
    if (call === undefined || call.open) this.result(result);
  }

  result(result: Result): void {
    if (result.call_id !== null) this.children(result.call_id, result.details);
    this.calls.finish(result);
  }

  /** Sub-agents run as separate processes. Their messages are in the call's details, more of them with each update. */
  children(call_id: string, details: Open | null): void {
    const call = this.calls.get(call_id);
    const results = listOf(details?.results);
    if (!call?.open || results.length > AGENT_LIMITS.unclaimed_prompts_max) return;
    const { parent } = this.to;
    this.to.speak(call_id);
    for (const [index, item] of results.entries()) {
      const messages = listOf(nativeOf(item)?.messages);
      for (const message of messages.slice(call.taken[index] ?? 0)) {
        const child: Message | null = nativeOf(message);
        if (child !== null) this.#child(child, call_id);
      }
      call.taken[index] = Math.max(call.taken[index] ?? 0, messages.length);
    }
    this.to.speak(parent);
  }

  #child(message: Message, parent: string): void {
    if (message.role === 'assistant') this.assistant(message);
    else if (message.role === 'toolResult') {
      const result = ofMessage(message);
      const call = result.call_id === null ? undefined : this.calls.get(result.call_id);
      if (call?.open && call.parent === parent) this.calls.finish(result);
    }
  }
}
