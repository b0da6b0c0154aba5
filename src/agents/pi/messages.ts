/** Messages of the user, the model and the tools, as both channels carry them. */
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';
import { Calls } from './calls.ts';
import {
  contentText,
  countOf,
  durationOf,
  idOf,
  isNative,
  listOf,
  type Native,
  nameOf,
  nativeOf,
  problem,
  textOf,
} from './native.ts';
import { ofMessage, type Result } from './results.ts';

export interface Speaker {
  /** The call that started the sub-agent that speaks; null for the root agent. */
  readonly parent: string | null;
  readonly at_ms: number | undefined;
}

/** A `/skill:name` command stands in the user's message as the skill's whole text. */
const SKILL = /^<skill name="([^"\n]{1,256})" location="/;

/** Messages have no id of their own on stdout; when one began tells it apart. */
export function messageId(message: Native): string | null {
  const begin = countOf(message.timestamp);
  return begin === null ? null : String(begin);
}

export class Conversation {
  readonly calls = new Calls();
  /** Whether the version tells how long calls ran. */
  measured = false;

  assistant(message: Native, speaker: Speaker, out: Draft[]): void {
    const { parent, at_ms } = speaker;
    const broken = message.stopReason === 'error' || message.stopReason === 'aborted';
    const measured = durationOf(message.durationMs) !== null;
    if (parent === null) this.measured = measured;
    const origin = { parent, at_ms, measured, cut: message.stopReason === 'length' };
    const of = { message_id: messageId(message), parent_call_id: parent };
    const content = textOf(message.content);
    const blocks = content === null ? listOf(message.content) : [{ type: 'text', text: content }];
    for (const block of blocks) {
      if (!isNative(block)) {
        out.push(problem('bad_record', 'content block is no object'));
      } else if (block.type === 'toolCall') {
        this.calls.request(block, origin, out);
        const call_id = broken ? idOf(block.id) : null;
        if (call_id !== null) this.calls.drop(call_id, at_ms, out);
      } else if (block.type === 'text' && typeof block.text === 'string') {
        const data = { ...of, role: 'assistant' as const, text: block.text, synthetic: false };
        out.push({ kind: 'message_finished', at_ms, data: { ...data, partial: broken } });
      } else if (block.type === 'thinking' && typeof block.thinking === 'string') {
        const text = block.thinking;
        if (text !== '') out.push({ kind: 'thinking_finished', at_ms, data: { ...of, text } });
      } else if (block.type !== 'image') {
        const known = block.type === 'text' || block.type === 'thinking';
        const name = `message/assistant/${nameOf(block.type)}`;
        out.push(
          problem(known || block.type === undefined ? 'bad_record' : 'unknown_record', name),
        );
      }
    }
  }

  user(message: Native, at_ms: number | undefined, out: Draft[]): void {
    const text = contentText(message.content);
    if (text === null) return;
    const skill = SKILL.exec(text)?.[1];
    if (skill !== undefined && text.includes('</skill>')) {
      out.push({ kind: 'skill_used', at_ms, data: { skill, call_id: null } });
    }
    const of = { message_id: null, parent_call_id: null, synthetic: false, partial: false };
    out.push({ kind: 'message_finished', at_ms, data: { ...of, role: 'user', text } });
  }

  /** A `toolResult` message. Where the end was told already, it only repeats it. */
  resultMessage(message: Native, at_ms: number | undefined, out: Draft[]): void {
    const result = ofMessage(message, at_ms);
    const call = result.call_id === null ? undefined : this.calls.get(result.call_id);
    const nested = nativeOf(message.nestedCalls);
    if (nested && result.call_id !== null) this.calls.nested(nested, result.call_id, at_ms, out);
    if (call === undefined || call.open) this.result(result, out);
  }

  result(result: Result, out: Draft[]): void {
    if (result.call_id !== null) this.children(result.call_id, result.details, result.at_ms, out);
    this.calls.finish(result, out);
  }

  /** Sub-agents run as processes of their own; their messages stand in the details of the call, more of them each time. */
  children(call_id: string, details: Native | null, at_ms: number | undefined, out: Draft[]): void {
    const call = this.calls.get(call_id);
    const results = Array.isArray(details?.results) ? details.results : [];
    if (!call?.open || results.length > LIMITS.unclaimed_prompts_max) return;
    results.forEach((item: unknown, index) => {
      const messages = listOf(nativeOf(item)?.messages);
      for (const message of messages.slice(call.taken[index] ?? 0)) {
        if (isNative(message)) this.#child(message, { parent: call_id, at_ms }, out);
      }
      call.taken[index] = Math.max(call.taken[index] ?? 0, messages.length);
    });
  }

  #child(message: Native, speaker: Speaker, out: Draft[]): void {
    if (message.role === 'assistant') this.assistant(message, speaker, out);
    else if (message.role === 'toolResult') {
      const result = ofMessage(message, speaker.at_ms);
      const call = result.call_id === null ? undefined : this.calls.get(result.call_id);
      if (call?.open && call.parent === speaker.parent) this.calls.finish(result, out);
    }
  }
}
