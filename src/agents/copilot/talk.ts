/** What is said: messages, thoughts, and the root agent's turns. */
import type { Draft } from '../../model/draft.ts';
import type { DataOf } from '../../model/event.ts';
import type { Calls } from './calls.ts';
import { idOf, isNative, listOf, type Native, problem, textOf } from './native.ts';

/** Who speaks, and when. */
export interface Speaker {
  readonly at_ms: number | undefined;
  readonly root: boolean;
  /** The sub-agent's id, where the record has one. */
  readonly agent: string | null;
  /** The call that started the sub-agent; null for the root agent, or where it is not known. */
  readonly parent: string | null;
  /** Whose words these are: the parent, or the agent's id, so that they are never taken for the root agent's. */
  readonly voice: string | null;
}

type Introduction = DataOf<'session_started'>;

const STRANGER: Introduction = {
  session_id: null,
  model: null,
  agent_version: null,
  cwd: null,
  tools: null,
  permission_mode: null,
};

export class Talk {
  readonly #calls: Calls;
  #known = STRANGER;
  /** Messages of this version say which model and turn they belong to; the CLI's own do not. */
  #attributed = false;
  /** The root agent's turn has begun, and no message came in it. */
  #silent = false;
  /** The root agent has said its last word: a message that asks for no tool, and no turn after it. */
  finished = false;
  #last: Draft | null = null;
  #thought: string | null = null;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Says what is new about the session; what was known first stays. */
  introduce(news: Partial<Introduction>, at_ms: number | undefined, out: Draft[]): void {
    const known = this.#known;
    const now = {
      ...known,
      session_id: known.session_id ?? news.session_id ?? null,
      model: known.model ?? news.model ?? null,
      agent_version: known.agent_version ?? news.agent_version ?? null,
      cwd: known.cwd ?? news.cwd ?? null,
    };
    const same = now.session_id === known.session_id && now.model === known.model;
    if (same && now.agent_version === known.agent_version && now.cwd === known.cwd) return;
    this.#known = now;
    out.push({ kind: 'session_started', at_ms, data: now });
  }

  turn(data: Native, at_ms: number | undefined, out: Draft[]): void {
    this.settleTurn(at_ms, out);
    this.#silent = true;
    this.finished = false;
    const turn = textOf(data.turnId);
    const interaction = textOf(data.interactionId);
    // Turns count from 0 in every interaction.
    const step_id = turn === null || interaction === null ? turn : `${interaction}/${turn}`;
    const step = { step_id, allowed_tools: null, enforcement_mode: null };
    out.push({ kind: 'step_started', at_ms, data: step });
  }

  /** A turn without a message leaves the last message the last word, which its beginning had taken from it. */
  settleTurn(at_ms: number | undefined, out: Draft[]): void {
    if (this.#silent && this.#last !== null) out.push({ ...this.#last, at_ms });
    this.#silent = false;
  }

  message(data: Native, speaker: Speaker, out: Draft[]): void {
    const { at_ms, root, parent, voice } = speaker;
    const synthetic = this.isCliOwn(data);
    const message_id = idOf(data.messageId);
    const text = textOf(data.content);
    if (root && !synthetic) {
      this.#silent = false;
      this.finished = listOf(data.toolRequests).length === 0;
      this.introduce({ model: idOf(data.model) }, at_ms, out);
    }
    this.thought(message_id, data.reasoningText, speaker, out);
    if (text !== null && text !== '') {
      const said = { message_id, parent_call_id: voice, role: 'assistant' as const, text };
      const rest = { synthetic, partial: false };
      const draft: Draft = { kind: 'message_finished', at_ms, data: { ...said, ...rest } };
      if (root && !synthetic) this.#last = draft;
      out.push(draft);
    }
    for (const request of listOf(data.toolRequests)) {
      if (!isNative(request)) out.push(problem('bad_record', 'a tool request that is no object'));
      else if (synthetic) this.#calls.foreign(request, at_ms, out);
      else this.#calls.request(request, parent, at_ms, out);
    }
  }

  /** The CLI puts calls of its own among the model's: they belong to no turn and no model. */
  isCliOwn(data: Native): boolean {
    const own = data.model === undefined && data.turnId === undefined;
    if (!own) this.#attributed = true;
    return own && this.#attributed;
  }

  /** stdout says a thought twice: with its message and after it. */
  thought(message_id: string | null, said: unknown, speaker: Speaker, out: Draft[]): void {
    const text = textOf(said);
    if (text === null || text === '' || text === this.#thought) return;
    this.#thought = text;
    const data = { message_id, parent_call_id: speaker.voice, text };
    out.push({ kind: 'thinking_finished', at_ms: speaker.at_ms, data });
  }

  user(data: Native, { at_ms, voice }: Speaker, out: Draft[]): void {
    const text = textOf(data.content);
    if (text === null) return;
    const source = data.source ?? 'user';
    const synthetic = source !== 'user' || data.isAutopilotContinuation === true;
    const said = { message_id: idOf(data.messageId), parent_call_id: voice, text };
    const rest = { role: 'user' as const, synthetic, partial: false };
    out.push({ kind: 'message_finished', at_ms, data: { ...said, ...rest } });
  }
}

export function delta(
  kind: 'message_delta' | 'thinking_delta',
  piece: { id: unknown; text: unknown },
  { at_ms, voice }: Speaker,
  out: Draft[],
): void {
  if (typeof piece.text !== 'string') return;
  const data = { message_id: idOf(piece.id), parent_call_id: voice, text: piece.text };
  out.push({ kind, at_ms, data });
}
