/**
 * The only fold of a run's events: usage, texts, open calls and state. Every view uses it.
 * Contract: pure; memory is bounded by the limits that are passed in.
 */
import type { DataOf, Event, EventOf } from './event.ts';
import type { Usage } from './parts.ts';

const sum = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : a + b);

/** All tokens that the model read and wrote, cached or not; null if none are known. */
export function tokensUsed(tokens: Usage | null): number | null {
  if (tokens === null) return null;
  const { input, output, cache_read, cache_write } = tokens;
  return [input, output, cache_read, cache_write].reduce(sum);
}

/** A total replaces all earlier figures; a figure that it lacks becomes unknown. */
export class UsageFold {
  /** Null before the first report. */
  tokens: Usage | null = null;
  cost_usd: number | null = null;
  /** The last model that a report named. */
  model: string | null = null;

  push({ mode, usage, cost_usd, model }: DataOf<'usage_reported'>): void {
    const total = mode === 'total';
    this.tokens = total || this.tokens === null ? { ...usage } : added(this.tokens, usage);
    this.cost_usd = total ? cost_usd : sum(this.cost_usd, cost_usd);
    this.model = model ?? this.model;
  }
}

/** A copy of an object without private fields. Its values are shared, except these. */
export function copyOf<T extends object>(original: T, own: Partial<T>): T {
  return Object.assign(Object.create(Object.getPrototypeOf(original)) as T, original, own);
}

function added(a: Usage, b: Usage): Usage {
  return {
    input: sum(a.input, b.input),
    output: sum(a.output, b.output),
    cache_read: sum(a.cache_read, b.cache_read),
    cache_write: sum(a.cache_write, b.cache_write),
    reasoning: sum(a.reasoning, b.reasoning),
  };
}

/** The agent, the progress and the usage of a run. */
export class RunFold {
  started: EventOf<'run_started'> | null = null;
  finished: EventOf<'run_finished'> | null = null;
  /** As reported by the agent: the first session, model and folder, and the last version. */
  session_id: string | null = null;
  model: string | null = null;
  cwd: string | null = null;
  agent_version: string | null = null;
  step = 0;
  provider_retries = 0;
  provider_errors = 0;
  readonly usage = new UsageFold();

  push(event: Event): void {
    switch (event.kind) {
      case 'run_started':
        this.started = event;
        this.agent_version = event.data.agent_version ?? this.agent_version;
        break;
      case 'session_started':
        this.session_id ??= event.data.session_id;
        this.model ??= event.data.model;
        this.cwd ??= event.data.cwd;
        this.agent_version = event.data.agent_version ?? this.agent_version;
        break;
      case 'step_started':
        this.step = event.data.step_index;
        break;
      case 'usage_reported':
        this.usage.push(event.data);
        break;
      case 'provider_retried':
        this.provider_retries += 1;
        break;
      case 'provider_failed':
        this.provider_errors += 1;
        break;
      case 'run_finished':
        this.finished = event;
        break;
    }
  }

  /** A copy that continues separately. */
  fork(): this {
    return copyOf(this, { usage: copyOf(this.usage, {}) } as Partial<this>);
  }

  /** Session, model and folder from the best source: the end record, the agent, usage reports, the start record. */
  get names(): { session_id: string | null; model: string | null; cwd: string | null } {
    const start = this.started?.data;
    const end = this.finished?.data;
    return {
      session_id: end?.session_id ?? this.session_id ?? start?.session_id ?? null,
      model: end?.model ?? this.model ?? this.usage.model ?? start?.model ?? null,
      cwd: start?.cwd ?? this.cwd,
    };
  }
}

/** The final output: the texts in the root agent's last message. */
export class FinalText {
  parts: string[] = [];
  /** Characters of all texts, kept or not. */
  chars = 0;
  readonly #most: number;
  readonly #trim: (text: string) => string;
  #message_id: string | null = null;

  /** `trim`: removes white space at both ends; passed in because texts may be byte text (lib/byte-text). */
  constructor(most: number, trim = (text: string) => text.trim()) {
    this.#most = most;
    this.#trim = trim;
  }

  push(event: Event): void {
    if (event.kind === 'step_started') this.#begin(null);
    else if (event.kind === 'message_finished') this.#message(event.data);
  }

  fork(): FinalText {
    const copy = new FinalText(this.#most, this.#trim);
    copy.parts = [...this.parts];
    copy.chars = this.chars;
    copy.#message_id = this.#message_id;
    return copy;
  }

  /** The number of characters that were not kept. */
  get missing(): number {
    return this.parts.reduce((rest, part) => rest - part.length, this.chars);
  }

  get value(): string {
    return this.#trim(this.parts.join('\n'));
  }

  #begin(message_id: string | null): void {
    this.parts = [];
    this.chars = 0;
    this.#message_id = message_id;
  }

  #message({ role, parent_call_id, synthetic, message_id, text }: DataOf<'message_finished'>) {
    if (role !== 'assistant' || parent_call_id !== null || synthetic) return;
    if (message_id !== null && message_id !== this.#message_id) this.#begin(message_id);
    this.#message_id = message_id;
    if (!/[!-~]/.test(text) && this.#trim(text) === '') return;
    const room = this.#most - this.chars;
    // A text is kept completely or not at all: it may not be redacted yet, and truncating it could hide the rest of a secret.
    if (text.length <= room) this.parts.push(text);
    else if (this.chars === 0) this.parts.push(text.slice(0, room));
    this.chars += text.length;
  }
}

/** Whether two ids can belong to one message: some agents set the id of a message only at its end, or never. */
export function sameMessage(a: string | null, b: string | null): boolean {
  return a === null || b === null || a === b;
}

/** The pieces of a text until the complete text is known. */
export class Pieces {
  readonly #most: number;
  /** Null: over the limit, so not kept. */
  #text: string | null = '';

  constructor(most: number) {
    this.#most = most;
  }

  add(piece: string): void {
    const fits = this.#text !== null && this.#text.length + piece.length <= this.#most;
    this.#text = fits ? this.#text + piece : null;
  }

  /** The rest of the complete text after the pieces; null: the pieces are not its beginning, or were not kept. */
  rest(whole: string): string | null {
    const text = this.#text;
    return text !== null && whole.startsWith(text) ? whole.slice(text.length) : null;
  }
}

type Spoken = Pick<DataOf<'message_delta'>, 'message_id' | 'text'>;

/** The messages of one speaker, each in pieces, complete, or both. A new message ends the previous one. */
export class SpokenText {
  readonly #most: number;
  #open: { message_id: string | null; pieces: Pieces } | null = null;

  /** `most`: the maximum number of characters of pieces to keep. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Whether the piece starts a message. */
  piece({ message_id, text }: Spoken): boolean {
    const open = this.#open;
    const begins = open === null || !sameMessage(open.message_id, message_id);
    const now = begins ? { message_id, pieces: new Pieces(this.#most) } : open;
    now.message_id ??= message_id;
    now.pieces.add(text);
    this.#open = now;
    return begins;
  }

  /** The part of a complete message that its pieces lacked; null: the message had no pieces. */
  whole({ message_id, text }: Spoken): string | null {
    const open = this.#open;
    this.#open = null;
    if (open === null || !sameMessage(open.message_id, message_id)) return null;
    return open.pieces.rest(text) ?? '';
  }
}

/** The open calls in the order of their requests, each with the data that the caller keeps for it. */
export class OpenCalls<T> extends Map<string, T> {
  /** The number of calls that were requested. */
  count = 0;
  readonly #make: (request: EventOf<'call_requested'>) => T;
  readonly #most: number;

  constructor(make: (request: EventOf<'call_requested'>) => T, most = Number.POSITIVE_INFINITY) {
    super();
    this.#make = make;
    this.#most = most;
  }

  /** `copyOf`: copies the data of a call. */
  fork(make: (request: EventOf<'call_requested'>) => T, copyOf: (call: T) => T): OpenCalls<T> {
    const copy = new OpenCalls(make, this.#most);
    copy.count = this.count;
    for (const [call_id, call] of this) copy.set(call_id, copyOf(call));
    return copy;
  }

  /** The open call of an event, if any. The call's end removes it. */
  push(event: Event): T | undefined {
    switch (event.kind) {
      case 'call_requested':
        return this.#request(event);
      case 'call_started':
        return this.get(event.data.call_id);
      case 'call_finished':
        return this.#finish(event.data.call_id);
    }
    const { call_id = null } = event.data as { call_id?: string | null };
    return call_id === null ? undefined : this.get(call_id);
  }

  #finish(call_id: string): T | undefined {
    const call = this.get(call_id);
    if (call !== undefined) this.delete(call_id);
    return call;
  }

  #request(event: EventOf<'call_requested'>): T {
    const { call_id } = event.data;
    const open = this.get(call_id);
    // Call ids are unique within a run, so this call was requested twice.
    if (open !== undefined) return open;
    const call = this.#make(event);
    this.count += 1;
    if (this.size < this.#most) this.set(call_id, call);
    return call;
  }
}
