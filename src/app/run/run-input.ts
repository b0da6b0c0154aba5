/**
 * Input from others to a running agent (LP-14). The agent's stdin stays open for it until the agent is idle and
 * nothing is waiting. Contract: nothing here blocks or throws. Accepted input appears in the record, from the agent's
 * own events or as a note.
 */
import type { Writable } from 'node:stream';
import { newUuid, type RandomSource } from '../../lib/ids.ts';
import { utf8Bytes } from '../../lib/utf8.ts';
import type { Agent, Confirmation, InputTalk } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import type { Event } from '../../model/event.ts';
import { APP_LIMITS } from '../limits.ts';

/** Whether the agent takes an input. */
export type InputAnswer =
  | { taken: true }
  /** `allowed`: the states in which it would be accepted. Empty if never in this run. */
  | { taken: false; why: string; state: InputState; allowed: InputState[] };

/** `closed`: the run accepts no input at all. `ending`: the agent gets no more input. */
export type InputState = 'starting' | 'running' | 'ending' | 'ended' | 'closed';

const TAKEN: InputAnswer = { taken: true };

export function refused(state: InputState, why: string): InputAnswer {
  return { taken: false, why, state, allowed: state === 'closed' ? [] : ['running'] };
}

/** Input for a running agent. Nothing here blocks or throws. */
export interface AgentInput {
  /** Sends a message to the agent, as its user. If taken, it is on its way to the agent, which reads it when it can. */
  say(text: string): InputAnswer;
  /** Interrupts the agent's current work. If nothing else is waiting, the run then ends as cancelled. */
  interrupt(reason: string | null): InputAnswer;
  /** Answers the agent's question whether a call may run. */
  confirm(answer: Confirmation): InputAnswer;
}

interface RunInputOptions {
  agent: Agent;
  /** Whether the run was started with input enabled. */
  accepted: boolean;
  /** The prompt, in the agent's own format. */
  first: string | null;
  /** The agent's stdin. Null if the agent gets no more input. */
  stdin: Writable | null;
  random: RandomSource;
}

export class RunInput implements AgentInput {
  readonly #options: RunInputOptions;
  readonly #stdin: Writable | null;
  readonly #talk: InputTalk | null;
  #state: InputState;
  #notes: Draft[] = [];
  #unread: NodeJS.Timeout | null = null;

  constructor(options: RunInputOptions) {
    const { agent, accepted, first, stdin } = options;
    this.#options = options;
    this.#stdin = stdin;
    this.#talk = accepted && stdin !== null ? (agent.input?.() ?? null) : null;
    this.#state = this.#talk === null ? 'closed' : 'running';
    if (first !== null) stdin?.write(first);
    if (this.#talk === null) stdin?.end();
  }

  say(text: string): InputAnswer {
    const { random } = this.#options;
    if (this.#talk === null || this.#state !== 'running') return this.#restricted();
    if (text.trim() === '') return refused('running', 'the text is empty');
    if (utf8Bytes(text) > APP_LIMITS.input_bytes_max)
      return refused('running', `a text may have at most ${APP_LIMITS.input_bytes_max} bytes`);
    if (this.#talk.waiting.length >= APP_LIMITS.input_waiting_max)
      return refused('running', 'the agent has not read the earlier input yet: wait for it');
    return this.#write(this.#talk.say(text, newUuid(random)));
  }

  interrupt(reason: string | null): InputAnswer {
    if (this.#talk === null || this.#state !== 'running') return this.#restricted();
    this.#note('interrupt', reason);
    return this.#write(this.#talk.interrupt());
  }

  confirm(answer: Confirmation): InputAnswer {
    if (this.#talk === null || this.#state !== 'running') return this.#restricted();
    const { title } = this.#options.agent;
    if (this.#talk.confirm === undefined)
      return refused('closed', `${title} does not ask whether a call may run: see --approve`);
    const line = this.#talk.confirm(answer);
    if (line === null) return refused('running', `${title} does not ask about ${answer.call_id}`);
    return this.#write(line);
  }

  /** Closes the agent's stdin once it has nothing more to do; otherwise it would wait forever. */
  watch(events: readonly Event[]): void {
    const talk = this.#talk;
    if (talk === null || this.#state !== 'running' || events.length === 0) return;
    for (const event of events) talk.event(event);
    if (this.#unread !== null) clearTimeout(this.#unread);
    this.#unread = null;
    if (!talk.resting) return;
    if (talk.waiting.length === 0) this.close();
    else this.#unread = setTimeout(() => this.close(), APP_LIMITS.input_wait_ms);
  }

  /** The agent gets no more input. */
  close(): void {
    if (this.#state === 'running') this.#state = 'ending';
    if (this.#unread !== null) clearTimeout(this.#unread);
    this.#stdin?.end();
  }

  /** The agent has exited: input that it never read is reported in the record. */
  end(): void {
    this.close();
    if (this.#talk === null) return;
    this.#state = 'ended';
    this.#stdin?.destroy();
    for (const text of this.#talk.waiting) this.#note('input_unread', text);
  }

  /** New notes about input that the agent's own events do not show. */
  notes(): Draft[] {
    const notes = this.#notes;
    this.#notes = [];
    return notes;
  }

  #note(code: string, text: string | null): void {
    this.#notes.push({ kind: 'notice', data: { code, text } });
  }

  #write(line: string): InputAnswer {
    this.#stdin?.write(line);
    return TAKEN;
  }

  #restricted(): InputAnswer {
    const { agent, accepted } = this.#options;
    if (!accepted)
      return refused('closed', 'the run does not accept input: start it with --accept-input');
    if (agent.input === undefined)
      return refused('closed', `${agent.title} does not accept input during a run`);
    return refused(this.#state, 'the agent has finished its work and accepts no more input');
  }
}
