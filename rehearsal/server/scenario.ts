/** The script of a model, independent of any wire dialect, and the reader that steps through it. */

/** An output of the model. */
export type Output =
  | { text: string }
  | { thinking: string }
  | { tool: string; input: Record<string, unknown> };
/** An output, or a pause. */
export type Step = Output | { sleep_ms: number };

export interface ProviderFailure {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** One answer of the model: its steps in order, or a failure of the provider. */
export type Turn = readonly Step[] | { error: ProviderFailure };

export interface Script {
  turns: readonly Turn[];
  /** Conversations of sub-agents. The first with a `match` in the user's text has its own turns. */
  agents?: readonly { match: string; turns: readonly Turn[] }[];
  /** After the last turn, repeat it; otherwise a harmless text. */
  repeat_last?: boolean;
}

interface Taken {
  queue: string;
  index: number;
  turn: Turn;
}

export interface Reader {
  /** The next turn of the conversation to which `user_text` belongs. */
  take(user_text: string): Taken;
  /** `msg_0001`, `msg_0002` …: the same ids in every rehearsal. */
  id(prefix: string): string;
}

/** One request to the server, as seen by a dialect. */
export interface Asked {
  method: string;
  path: string;
  body: unknown;
}

export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: AsyncIterable<string> | string;
  /** The note in the log: the queue and turn that were taken, or why none was. */
  note: string;
  /** The user's texts in the request, to check that the prompt arrived whole. */
  user_texts: readonly string[];
}

/** Implements one provider's API. Pure apart from the reader and the sleeping. */
export type Dialect = (asked: Asked, reader: Reader) => Reply;

export const EXHAUSTED: Turn = [{ text: 'The script has ended.' }];

export function readerOf(script: Script): Reader {
  const taken = new Map<string, number>();
  const ids = new Map<string, number>();
  const countUp = (counts: Map<string, number>, key: string): number => {
    const next = (counts.get(key) ?? 0) + 1;
    counts.set(key, next);
    return next;
  };
  return {
    take(user_text) {
      const place = (script.agents ?? []).findIndex((agent) => user_text.includes(agent.match));
      const turns = script.agents?.[place]?.turns ?? script.turns;
      const queue = place < 0 ? 'main' : `agent-${place + 1}`;
      const index = countUp(taken, queue) - 1;
      const spare = script.repeat_last ? turns.at(-1) : undefined;
      return { queue, index, turn: turns[index] ?? spare ?? EXHAUSTED };
    },
    id: (prefix) => `${prefix}_${String(countUp(ids, prefix)).padStart(4, '0')}`,
  };
}

/** `steps` without the pauses. */
export function outputsIn(steps: readonly Step[]): Output[] {
  return steps.filter((step): step is Output => !('sleep_ms' in step));
}

/** Two pieces that a CLI has to join; never splits a surrogate pair. */
export function halves(text: string): string[] {
  const characters = [...text];
  const middle = Math.ceil(characters.length / 2);
  return [characters.slice(0, middle), characters.slice(middle)]
    .map((piece) => piece.join(''))
    .filter((piece) => piece !== '');
}

/** Replaces `{{NAME}}` in every string of `value`. */
export function fill<T>(value: T, names: Readonly<Record<string, string>>): T {
  if (typeof value === 'string') {
    return value.replace(/\{\{(\w+)\}\}/g, (all, name: string) => names[name] ?? all) as T;
  }
  if (Array.isArray(value)) return value.map((item) => fill(item, names)) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, fill(item, names)]),
  ) as T;
}
