/**
 * Session files: a log of messages that are appended again, whole, whenever something is added to them, and of patches.
 * `$set.messages` replaces what the model is shown (a resumed session, a compressed or a rolled back one): it restates
 * and never tells what happened. There is no end record: how the run ended is inferred from its last messages.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { Decoder, SessionDecoderOptions, SessionPart } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import type { Usage } from '../../model/parts.ts';
import { Calls, type Result, trim } from './calls.ts';
import {
  contentText,
  idOf,
  isNative,
  listOf,
  type Native,
  nativeOf,
  problem,
  textOf,
  timeOf,
} from './native.ts';
import { NOTICES, PATCHED } from './records.ts';
import { resultOfAnswer, resultOfItem } from './session-results.ts';
import { isEmpty, ofTokens, sum } from './usage.ts';

export function sessionDecoder(options: SessionDecoderOptions): Decoder {
  return new SessionRecords(options);
}

/** What a message has given already. */
interface Seen {
  text: string;
  thoughts: number;
  tokens: Usage | null;
  /** How often its text changed after it was told. */
  changes: number;
}

/** Who speaks in a file: the root agent, or a sub-agent. */
interface Voice {
  root: boolean;
  readonly parent: string | null;
  /** The model's turn has begun and nothing has answered it yet. */
  turn_open: boolean;
  /** Ends of calls whose sub-agents' records are still to come. */
  held: Result[];
}

const NOTHING: Usage = {
  input: null,
  output: null,
  cache_read: null,
  cache_write: null,
  reasoning: null,
};
const CONTEXT = '<session_context>';

class SessionRecords implements Decoder {
  readonly #since_ms: number | null;
  /** Null: there is no stream beside the file. */
  readonly #stream_usage: boolean | null;
  readonly #calls = new Calls();
  readonly #voices = new Map<string, Voice>();
  readonly #seen = new Map<string, Seen>();
  /** Calls by message and id: an id that comes again in another message of the model is another call. */
  readonly #called = new Set<string>();
  /** Calls that only an answer told of. */
  readonly #answered = new Set<string>();
  /** Messages were forgotten: which ones are new cannot be told any more. */
  #forgot = false;
  #usage: Usage = NOTHING;
  /** The last message is a text that asks for nothing. */
  #ended = false;
  #introduced = false;
  #session_id: string | null = null;

  constructor({ since_ms, stream_usage }: SessionDecoderOptions) {
    this.#since_ms = since_ms ?? null;
    this.#stream_usage = stream_usage ?? null;
  }

  record(value: unknown, out: Draft[], part?: SessionPart): void {
    if (!isNative(value)) {
      out.push(problem('bad_record', 'record is no object'));
      return;
    }
    const voice = this.#voiceOf(part);
    if (isNative(value.$set)) this.#patch(value.$set, voice, out);
    else if (typeof value.$rewindTo === 'string') this.#rewound(voice, out);
    else if (typeof value.sessionId === 'string') this.#header(value, voice, part !== undefined);
    else if (typeof value.id === 'string') this.#message(value, value.id, voice, out);
    else out.push(unknown(value));
  }

  end(out: Draft[]): void {
    for (const voice of this.#voices.values()) this.#release(voice, out);
    if (this.#session_id !== null) this.#introduce(null, undefined, out);
    // The stream's figures hold those of requests that no file has.
    if (this.#stream_usage !== true && !isEmpty(this.#usage)) {
      const data = { mode: 'total' as const, usage: this.#usage, cost_usd: null, model: null };
      out.push({ kind: 'usage_reported', data });
    }
    // A live run that ended well has said so on stdout; a text that stands last is no better evidence than that.
    if (!this.#ended || this.#stream_usage !== null) return;
    const data = { exit_reason: 'ok', error: null, evidence: 'inferred' } as const;
    out.push({ kind: 'agent_ended', data });
  }

  #voiceOf(part: SessionPart | undefined): Voice {
    const file = part?.path ?? '';
    let voice = this.#voices.get(file);
    if (voice === undefined) {
      const parent = part?.parent_call_id ?? null;
      voice = { root: parent === null, parent, turn_open: false, held: [] };
      this.#voices.set(file, voice);
    }
    return voice;
  }

  #isEarlier(at_ms: number | undefined): boolean {
    return this.#since_ms !== null && at_ms !== undefined && at_ms < this.#since_ms;
  }

  /** Every run of a session writes one. */
  #header(record: Native, voice: Voice, several: boolean): void {
    if (several && record.kind === 'subagent') voice.root = false;
    if (!voice.root) return;
    this.#session_id ??= idOf(record.sessionId);
    this.#ended = false;
    voice.turn_open = false;
  }

  #rewound(voice: Voice, out: Draft[]): void {
    if (!voice.root) return;
    this.#ended = false;
    out.push({ kind: 'notice', data: { code: 'rewind', text: null } });
  }

  #patch(patch: Native, voice: Voice, out: Draft[]): void {
    for (const key of Object.keys(patch)) {
      if (!PATCHED.has(key)) out.push(problem('unknown_record', `$set/${key}`));
    }
    const ended = this.#ended;
    for (const item of listOf(patch.messages)) {
      const id = isNative(item) ? idOf(item.id) : null;
      if (!isNative(item) || id === null) {
        out.push(problem('bad_record', '$set message without id'));
      } else if (typeof item.model === 'string' && !this.#seen.has(id) && !this.#forgot) {
        // Only what the model itself said carries its name; the rest stands for what was compressed.
        this.#message(item, id, voice, out);
      }
    }
    this.#ended = ended;
  }

  #message(record: Native, id: string, voice: Voice, out: Draft[]): void {
    const at_ms = timeOf(record);
    const type = textOf(record.type);
    if (type === 'gemini') {
      this.#release(voice, out);
      this.#gemini(record, id, { voice, at_ms }, out);
    } else if (type === 'user') {
      this.#release(voice, out);
      this.#user(record, id, { voice, at_ms }, out);
    } else if (type !== null && NOTICES.has(type)) {
      if (this.#isEarlier(at_ms)) return;
      const data = { code: type, text: contentText(record.content) };
      out.push({ kind: 'notice', at_ms, data });
    } else out.push(unknown(record));
  }

  #gemini(record: Native, id: string, said: Said, out: Draft[]): void {
    const { voice, at_ms } = said;
    const items = listOf(record.toolCalls);
    const seen = this.#seen.get(id);
    const earlier = this.#isEarlier(at_ms) && seen === undefined;
    const state: Seen = seen ?? { text: '', thoughts: 0, tokens: null, changes: 0 };
    if (seen === undefined) {
      this.#seen.set(id, state);
      if (trim(this.#seen, LIMITS.settled_calls_max)) this.#forgot = true;
      if (!earlier && voice.root) this.#openTurn(record, id, said, out);
    }
    if (this.#isEarlier(at_ms)) {
      // Known from now on, so that a restatement tells nothing again.
      this.#skip(items, id);
      return;
    }
    this.#say(record, id, { state, said }, out);
    const own = isNative(record.tokens);
    for (const item of items) this.#call(item, { id, own }, said, out);
    if (!voice.root) return;
    this.#ended = items.length === 0 && /\S/.test(contentText(record.content));
  }

  /** Calls may stand in a message of their own, which has no tokens: the turn is that of the message before. */
  #openTurn(record: Native, id: string, { voice, at_ms }: Said, out: Draft[]): void {
    this.#introduce(textOf(record.model), at_ms, out);
    const companion = !isNative(record.tokens) && listOf(record.toolCalls).length > 0;
    if (voice.turn_open && companion) return;
    voice.turn_open = true;
    const data = { step_id: id, allowed_tools: null, enforcement_mode: null };
    out.push({ kind: 'step_started', at_ms, data });
  }

  #say(record: Native, id: string, { state, said }: Saying, out: Draft[]): void {
    const { voice, at_ms } = said;
    this.#spend(nativeOf(record.tokens), state, voice);
    // Text of a sub-agent whose call is not known must not pass for the root agent's.
    if (!voice.root && voice.parent === null) return;
    const parent_call_id = voice.parent;
    const thoughts = listOf(record.thoughts);
    for (const thought of thoughts.slice(state.thoughts)) {
      const data = { message_id: id, parent_call_id, text: thoughtText(thought) };
      out.push({ kind: 'thinking_finished', at_ms, data });
    }
    state.thoughts = Math.max(state.thoughts, thoughts.length);
    const text = contentText(record.content);
    if (text === '' || text === state.text) return;
    // Under another id, so that the text replaces what was told instead of following it.
    const message_id = state.text === '' ? id : `${id}~${++state.changes}`;
    state.text = text;
    const rest = { role: 'assistant' as const, synthetic: false, partial: false };
    const data = { message_id, parent_call_id, text, ...rest };
    out.push({ kind: 'message_finished', at_ms, data });
  }

  /** Of a message that is told again the later figures count. A session's own figures are those of its root agent. */
  #spend(tokens: Native | null, state: Seen, voice: Voice): void {
    if (tokens === null || (!voice.root && this.#stream_usage === null)) return;
    if (state.tokens !== null) this.#usage = sum(this.#usage, state.tokens, -1);
    state.tokens = ofTokens(tokens);
    this.#usage = sum(this.#usage, state.tokens, 1);
  }

  /** `own`: the message is a turn of the model, not one that was made to hold its calls. */
  #call(
    item: unknown,
    message: { readonly id: string; readonly own: boolean },
    { voice, at_ms }: Said,
    out: Draft[],
  ): void {
    const call_id = isNative(item) ? idOf(item.id) : null;
    const native_tool = isNative(item) ? idOf(item.name) : null;
    if (!isNative(item) || call_id === null || native_tool === null) {
      out.push(problem('bad_record', 'tool call without id or name'));
      return;
    }
    const key = `${message.id} ${call_id}`;
    const repeated = this.#answered.delete(call_id) || (!message.own && this.#calls.knows(call_id));
    if (!this.#called.has(key) && !repeated) {
      const shown = textOf(item.displayName);
      const input = item.args ?? {};
      this.#calls.request({ call_id, native_tool, input, parent: voice.parent, shown }, at_ms, out);
    }
    this.#called.add(key);
    trim(this.#called, LIMITS.settled_calls_max);
    if (!this.#calls.isOpen(call_id)) return;
    const result = resultOfItem(item, call_id, native_tool);
    if (result === null) return;
    if (idOf(item.agentId) !== null && voice.held.length < LIMITS.open_calls_max) {
      voice.held.push(result);
    } else this.#calls.finish(result, out);
  }

  /** The call of a sub-agent is written when it has ended, but with the time at which it began. */
  #release(voice: Voice, out: Draft[]): void {
    if (voice.held.length === 0) return;
    for (const result of voice.held) {
      if (this.#calls.isOpen(result.call_id)) this.#calls.finish(result, out);
    }
    voice.held = [];
  }

  #skip(items: readonly unknown[], message_id: string): void {
    for (const item of items) {
      const call_id = isNative(item) ? idOf(item.id) : null;
      if (call_id === null) continue;
      this.#called.add(`${message_id} ${call_id}`);
      trim(this.#called, LIMITS.settled_calls_max);
      this.#calls.settle(call_id);
    }
  }

  #user(record: Native, id: string, { voice, at_ms }: Said, out: Draft[]): void {
    const earlier = this.#isEarlier(at_ms);
    const responses: Native[] = [];
    for (const part of listOf(record.content)) {
      const response = isNative(part) ? nativeOf(part.functionResponse) : null;
      if (response !== null) responses.push(response);
    }
    for (const response of responses) this.#answer(response, { voice, at_ms }, earlier, out);
    if (earlier) return;
    voice.turn_open = false;
    if (voice.root) this.#ended = false;
    const text = contentText(record.content);
    if (text === '' || (!voice.root && voice.parent === null)) return;
    const synthetic = responses.length > 0 || text.startsWith(CONTEXT);
    const data = { message_id: id, parent_call_id: voice.parent, role: 'user' as const, text };
    out.push({ kind: 'message_finished', at_ms, data: { ...data, synthetic, partial: false } });
  }

  /** A call that was refused while a person was asked stands in no message: its answer alone tells of it. */
  #answer(response: Native, { voice, at_ms }: Said, earlier: boolean, out: Draft[]): void {
    const result = resultOfAnswer(response, at_ms);
    if (result === null) return;
    const { call_id } = result;
    if (earlier) {
      this.#calls.settle(call_id);
      return;
    }
    if (!this.#calls.knows(call_id)) {
      const native_tool = idOf(response.name);
      if (native_tool === null) return;
      const parent = voice.parent;
      this.#answered.add(call_id);
      trim(this.#answered, LIMITS.open_calls_max);
      this.#calls.request({ call_id, native_tool, input: null, parent, shown: null }, at_ms, out);
    }
    if (this.#calls.isOpen(call_id)) this.#calls.finish(result, out);
  }

  #introduce(model: string | null, at_ms: number | undefined, out: Draft[]): void {
    if (this.#introduced) return;
    this.#introduced = true;
    const rest = { agent_version: null, cwd: null, tools: null, permission_mode: null };
    const data = { session_id: this.#session_id, model, ...rest };
    out.push({ kind: 'session_started', at_ms, data });
  }
}

interface Said {
  readonly voice: Voice;
  readonly at_ms: number | undefined;
}

interface Saying {
  readonly state: Seen;
  readonly said: Said;
}

function thoughtText(thought: unknown): string {
  if (!isNative(thought)) return textOf(thought) ?? '';
  const subject = textOf(thought.subject);
  const description = textOf(thought.description);
  return [subject, description].filter((text) => text !== null && text !== '').join('\n');
}

function unknown(record: Native): Draft {
  const type = textOf(record.type) ?? Object.keys(record).find((key) => key.startsWith('$'));
  if (type !== undefined) return problem('unknown_record', type);
  return problem('bad_record', 'record without id or type');
}
