/** Reads the records of a session file. Records repeat each other; each fact is reported once. */

import { RecentMap, RecentSet } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import { isBlank } from '../../lib/white-space.ts';
import type { SessionDecoderOptions, SessionPart } from '../../model/agent.ts';
import { type Drafts, OK, Writer } from '../kit/drafts.ts';
import { type Inside, idOf, isNative, listOf, nativeOf, textOf, timeOf } from '../kit/native.ts';
import { wordSet } from '../kit/text.ts';
import { add, isEmpty, minus, type Spent, spent } from '../kit/usage.ts';
import { Calls, type Result } from './calls.ts';
import type { Session } from './generated/native.ts';
import {
  type Answer,
  type Item,
  ofTokens,
  resultOfAnswer,
  resultOfItem,
} from './session-results.ts';

type Message = Session['gemini'];

/** Facts of a message that were already reported. */
interface Seen {
  text: string;
  thoughts: number;
  tokens: Spent | null;
  /** Number of changes to the text after it was first reported. */
  changes: number;
}

/** The speaker in a file: the root agent or a sub-agent. */
interface Voice {
  root: boolean;
  /** The model's turn has begun and has no answer yet. */
  turn_open: boolean;
  /** Results of calls held back until the records of their sub-agents have been read. */
  held: Result[];
}

const CONTEXT = '<session_context>';
/** Keys of `$set`. Only `messages` has anything to record. */
const PATCHED = wordSet(
  'directories kind lastUpdated memoryScratchpad messages projectHash sessionId startTime summary',
);

/** One run of a session, over the files of all its agents. */
export class SessionRun extends Writer {
  readonly #since_ms: number;
  /** Null: there is no stream next to the file. */
  readonly #stream_usage: boolean | null;
  readonly #calls = new Calls(this.to);
  readonly #voices = new Map<string, Voice>();
  #voice: Voice = { root: true, turn_open: false, held: [] };
  readonly #seen = new RecentMap<string, Seen>(LIMITS.settled_calls_max);
  /** Calls by message and id. The same id in another message of the model is another call. */
  readonly #called = new RecentSet<string>(LIMITS.settled_calls_max);
  /** Calls with an answer but no request. */
  readonly #answered = new RecentSet<string>(LIMITS.open_calls_max);
  /** Some messages were evicted, so new messages can no longer be recognised. */
  #forgot = false;
  #spent = spent();
  /** The last message is a text without calls. */
  #ended = false;
  #session_id: string | null = null;

  readonly #cwd: string | null;

  constructor(
    to: Drafts,
    { since_ms = 0, stream_usage }: SessionDecoderOptions,
    cwd: string | null,
  ) {
    super(to);
    this.#cwd = cwd;
    this.#since_ms = since_ms;
    this.#stream_usage = stream_usage ?? null;
  }

  end(): void {
    for (const { held } of this.#voices.values())
      for (const result of held) this.#calls.assume(result);
    if (this.#session_id !== null)
      this.to.introduce({ session_id: this.#session_id, cwd: this.#cwd });
    // The stream's figures include requests that no file has.
    if (this.#stream_usage !== true && !isEmpty(this.#spent)) this.to.usage('total', this.#spent);
    // stdout reports the end of a live run; a text at the end of the file is no better evidence.
    if (this.#ended && this.#stream_usage === null) this.to.ended(OK, 'inferred');
  }

  /** Sets the file of the records that follow. */
  listen(part: SessionPart | undefined): void {
    const file = part?.path ?? '';
    const parent = part?.parent_call_id ?? null;
    const known = this.#voices.get(file);
    this.#voice = known ?? { root: parent === null, turn_open: false, held: [] };
    if (known === undefined) this.#voices.set(file, this.#voice);
    this.to.speak(parent, this.#voice.root);
  }

  get #earlier(): boolean {
    return this.to.at_ms !== undefined && this.to.at_ms < this.#since_ms;
  }

  /** Each run of a session writes one header. */
  header(record: Session['session'], several: boolean): void {
    const voice = this.#voice;
    if (several && record.kind === 'subagent') voice.root = false;
    if (!voice.root) return;
    this.#session_id ??= idOf(record.sessionId);
    this.#ended = false;
    voice.turn_open = false;
  }

  rewound(): void {
    if (!this.#voice.root) return;
    this.#ended = false;
    this.to.notice('rewind', null);
  }

  patch(patch: Inside<Session['$set']['$set']> | null): void {
    for (const key of Object.keys(patch ?? {})) {
      if (!PATCHED.has(key)) this.to.problem('unknown_record', `$set/${key}`);
    }
    const ended = this.#ended;
    for (const item of listOf(patch?.messages)) {
      const message = nativeOf(item);
      const id = idOf(message?.id);
      if (message === null || id === null) {
        this.to.bad('$set message without id');
      } else if (typeof message.model === 'string' && !this.#seen.has(id) && !this.#forgot) {
        // Only the model's own messages name the model; the others replace compressed ones.
        this.to.at_ms = timeOf(message);
        this.message(message);
      }
    }
    this.#ended = ended;
  }

  notice(code: string, record: { content?: unknown }): void {
    if (!this.#earlier) this.to.notice(code, contentText(record.content));
  }

  message(record: Message): void {
    const id = this.to.need(textOf(record.id), 'gemini without id');
    if (id === null) return;
    this.#release(this.#voice);
    const items = listOf(record.toolCalls);
    const seen = this.#seen.get(id);
    const state: Seen = seen ?? { text: '', thoughts: 0, tokens: null, changes: 0 };
    if (seen === undefined) {
      const size = this.#seen.size;
      this.#seen.set(id, state);
      if (this.#seen.size <= size) this.#forgot = true;
      if (!this.#earlier && this.#voice.root) this.#openTurn(record, id);
    }
    if (this.#earlier) {
      // Remembered, so that a repetition reports nothing again.
      for (const item of items) {
        const call_id = idOf(nativeOf(item)?.id);
        if (call_id === null) continue;
        this.#called.add(`${id} ${call_id}`);
        this.#calls.done.add(call_id);
      }
      return;
    }
    this.#spend(nativeOf(record.tokens), state, textOf(record.model));
    this.#say(record, id, state);
    for (const item of items) this.#call(nativeOf(item), id, isNative(record.tokens));
    if (!this.#voice.root) return;
    this.#ended = items.length === 0 && !isBlank(contentText(record.content));
  }

  /** Calls may be in a separate message without tokens: the turn is then that of the previous message. */
  #openTurn(record: Message, id: string): void {
    this.to.introduce({
      session_id: this.#session_id,
      model: textOf(record.model),
      cwd: this.#cwd,
    });
    const companion = !isNative(record.tokens) && listOf(record.toolCalls).length > 0;
    if (this.#voice.turn_open && companion) return;
    this.#voice.turn_open = true;
    this.to.step(id);
  }

  #say(record: Message, id: string, state: Seen): void {
    if (this.to.lost) return;
    const thoughts = listOf(record.thoughts);
    for (const thought of thoughts.slice(state.thoughts))
      this.to.thinking(thoughtText(thought), id);
    state.thoughts = Math.max(state.thoughts, thoughts.length);
    const text = contentText(record.content);
    if (text === '' || text === state.text) return;
    // Under another id, so that the text replaces the earlier one instead of being appended.
    const message_id = state.text === '' ? id : `${id}~${++state.changes}`;
    state.text = text;
    this.to.message('assistant', text, { message_id });
  }

  /** The later figures of a rewritten message count. A session's own figures are those of its root agent. */
  #spend(tokens: Inside<Message['tokens']> | null, state: Seen, model: string | null): void {
    if (tokens === null || (!this.#voice.root && this.#stream_usage === null)) return;
    const first = state.tokens === null;
    this.#spent = minus(this.#spent, state.tokens);
    state.tokens = ofTokens(tokens);
    add(this.#spent, state.tokens);
    if (first && this.#stream_usage !== true && !isEmpty(state.tokens))
      this.to.usage('add', state.tokens, model);
  }

  /** `own`: the message is a turn of the model, not one created to hold its calls. */
  #call(item: Item | null, message_id: string, own: boolean): void {
    const call = this.to.callIn(item?.id, item?.name, 'tool call without id or name');
    if (item === null || call === null) return;
    const { call_id, native_tool } = call;
    const key = `${message_id} ${call_id}`;
    const repeated = this.#answered.delete(call_id) || (!own && this.#calls.knows(call_id));
    if (!this.#called.has(key) && !repeated) {
      this.#calls.request(call_id, native_tool, item.args ?? {}, textOf(item.displayName));
    }
    this.#called.add(key);
    if (!this.#calls.open.has(call_id)) return;
    const result = resultOfItem(item, call_id, native_tool);
    if (result === null) return;
    const { held } = this.#voice;
    if (idOf(item.agentId) !== null && held.length < LIMITS.open_calls_max) held.push(result);
    else this.#calls.finish(result);
  }

  /** A sub-agent's call is written when it has ended, but with its start time. */
  #release(voice: Voice): void {
    for (const result of voice.held) {
      if (this.#calls.open.has(result.call_id)) this.#calls.finish(result);
    }
    voice.held = [];
  }

  user(record: Session['user']): void {
    const voice = this.#voice;
    this.#release(voice);
    let answers = 0;
    for (const part of listOf(record.content)) {
      const response = nativeOf(nativeOf(part)?.functionResponse);
      if (response === null) continue;
      answers += 1;
      this.#answer(response);
    }
    if (this.#earlier) return;
    voice.turn_open = false;
    if (voice.root) this.#ended = false;
    const text = contentText(record.content);
    if (text === '') return;
    const synthetic = answers > 0 || text.startsWith(CONTEXT);
    this.to.message('user', text, { message_id: textOf(record.id), synthetic });
  }

  /** A call refused by a person is in no message: only its answer is recorded. */
  #answer(response: Answer): void {
    const result = resultOfAnswer(response, this.to.at_ms);
    if (result === null) return;
    const { call_id } = result;
    if (this.#earlier) this.#calls.done.add(call_id);
    else if (!this.#calls.knows(call_id)) {
      const native_tool = idOf(response.name);
      if (native_tool === null) return;
      this.#answered.add(call_id);
      this.#calls.request(call_id, native_tool, null);
    }
    if (this.#calls.open.has(call_id)) this.#calls.finish(result);
  }
}

/** Text of a message's content: a string, or the text of its parts, joined without separators. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  let text = '';
  for (const part of listOf(content)) {
    if (typeof part === 'string') text += part;
    else if (isNative(part) && part.thought !== true) text += textOf(part.text) ?? '';
  }
  return text;
}

function thoughtText(thought: Message['thoughts']): string {
  const { subject, description } = nativeOf(thought) ?? {};
  const texts = isNative(thought) ? [textOf(subject), textOf(description)] : [textOf(thought)];
  return texts.filter((text) => text !== null && text !== '').join('\n');
}
