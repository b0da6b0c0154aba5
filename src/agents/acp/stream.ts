/**
 * stdout of the client program: every message of both directions, `{"dir", "at_ms", "msg"}`, one per line. Recordings of
 * other clients in that form are read too, and the bare messages of an agent, without the client's.
 */
import { RecentMap } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import { own } from '../../lib/own.ts';
import { decoder } from '../kit/decoder.ts';
import type { Drafts } from '../kit/drafts.ts';
import { codeOf, idOf, isNative, momentOf, nativeOf, problem, textOf } from '../kit/native.ts';
import type { Stdout } from './generated/native.ts';
import {
  type ClientParams,
  type FromAgent,
  type FromClient,
  type Params,
  type Result,
  rpcKey,
} from './protocol.ts';
import { Session } from './speaker.ts';
import { Turn } from './turn.ts';

/** Methods that the agent may call on its client and that change nothing in the record. */
const METHODS_IGNORED: ReadonlySet<string> = new Set([
  '$/cancel_request',
  'elicitation/complete',
  'elicitation/create',
  'fs/read_text_file',
  'fs/write_text_file',
  'terminal/create',
  'terminal/kill',
  'terminal/output',
  'terminal/release',
  'terminal/wait_for_exit',
]);
/** How extensions begin: the protocol reserves the underscore, the others were seen. */
const EXTENSIONS = ['_', 'craft/', 'qwen/'];
/** A field of an answer, and the method that it answers, where the request was not seen. */
const ANSWERED = [
  ['protocolVersion', 'initialize'],
  ['stopReason', 'session/prompt'],
  ['sessionId', 'session/new'],
] as const;

export const stream = (options?: { resumed: boolean }) =>
  decoder<Stdout>((to) => {
    const talk = new Conversation(to, options?.resumed ?? false);
    return {
      inside,
      timeOf,
      kindOf: ({ dir, type }) => textOf(dir) ?? textOf(type),
      records: {
        'agent->client'({ msg }) {
          if (isNative(msg) && isMessage(msg)) talk.fromAgent(msg);
          else to.bad('no JSON-RPC message');
        },
        'client->agent'({ msg }) {
          if (isNative(msg) && isMessage(msg)) talk.fromClient(msg);
          else to.bad('no JSON-RPC message');
        },
        'agent-nonjson'({ msg }) {
          const { data } = problem('not_json', 'the agent wrote a line that is no JSON');
          to.at_ms = undefined;
          to.put('problem', { ...data, excerpt: textOf(msg) });
        },
        'agent-oversize': ({ msg }) =>
          to.problem('oversize_line', textOf(msg) ?? 'a message over the limit'),
        note: ({ msg }) => to.notice('client', textOf(msg)),
        exit({ msg }) {
          const code = codeOf(nativeOf(msg)?.code);
          const signal = idOf(nativeOf(msg)?.signal);
          if (signal !== null && code !== 0) to.notice('agent_exit', `ended by ${signal}`);
          else if (code !== null && code !== 0) to.notice('agent_exit', `exit code ${code}`);
        },
      },
      end: () => talk.turn.cut(),
    };
  });

/** A bare message is the agent's. */
function inside(value: unknown): readonly unknown[] | null {
  if (!isNative(value) || value.dir !== undefined || !isMessage(value)) return null;
  return [{ dir: 'agent->client', at_ms: value.at_ms, msg: value }];
}

/** Epoch ms. Recordings of other clients count from their own start, which says nothing about when. */
function timeOf({ at_ms }: { at_ms?: unknown }): number | undefined {
  const counted = typeof at_ms === 'number' && at_ms >= 0 && at_ms < LIMITS.time_ms_min;
  return counted ? undefined : momentOf(at_ms);
}

/** A request, a notification or an answer. */
function isMessage(value: FromAgent | FromClient): boolean {
  if (typeof value.method === 'string') return true;
  return rpcKey(value.id) !== null && ('result' in value || 'error' in value);
}

class Conversation {
  readonly turn: Turn;
  readonly #to: Drafts;
  readonly #session: Session;
  /** Methods of the client's requests that wait for an answer, by id. */
  readonly #asked = new RecentMap<string, string>(LIMITS.open_calls_max);
  /** The prompt that was answered last. */
  #prompt: string | null = null;
  /** The request that makes the agent repeat its history; what it says until the answer was an earlier run's. */
  #loading: string | null = null;

  constructor(to: Drafts, resumed: boolean) {
    this.#to = to;
    this.#session = new Session(to);
    this.turn = new Turn(to, this.#session, resumed);
  }

  /** What the agent says or asks in a session. */
  readonly #said: Readonly<Record<string, (params: Params, key: string | null) => void>> = {
    'session/update': ({ update }) => {
      if (this.#loading === null) this.turn.update(nativeOf(update));
    },
    'session/request_permission': (params, key) => this.turn.permission(key, params),
  };

  /** Answers to the client, by the method of its request. */
  readonly #answers: Readonly<Record<string, (result: Result) => void>> = {
    initialize: (result) => this.#session.initialised(result),
    'session/fork': (result) => this.#session.started(result),
    'session/load': (result) => this.#session.started(result),
    'session/new': (result) => this.#session.started(result),
    'session/prompt': (result) => this.turn.answered(result),
    'session/resume': (result) => this.#session.started(result),
  };

  fromClient(message: FromClient): void {
    const method = textOf(message.method);
    const key = rpcKey(message.id);
    const params: ClientParams = nativeOf(message.params) ?? {};
    if (method === null) {
      if (key !== null) this.turn.permissionAnswer(key, nativeOf(message.result));
      return;
    }
    if (key !== null) this.#asked.set(key, method);
    if (method === 'session/load') this.#loading = key;
    if (method === 'session/prompt') this.turn.prompt(params);
    if (method.startsWith('session/')) this.#session.asked(params);
  }

  fromAgent(message: FromAgent): void {
    const method = textOf(message.method);
    const key = rpcKey(message.id);
    if (method === null) {
      if (key !== null) this.#answer(message, key);
      return;
    }
    const params: Params = nativeOf(message.params) ?? {};
    const row = own(this.#said, method);
    if (row === undefined) {
      const extension = EXTENSIONS.some((start) => method.startsWith(start));
      if (!extension && !METHODS_IGNORED.has(method)) this.#to.problem('unknown_record', method);
    } else if (this.#session.isOther(params)) {
      this.#to.problem('unknown_record', `${method} of another session`);
    } else row(params, key);
  }

  /** What an answer is about is known by the request, or where that was not seen, by what it holds. */
  #answer(message: FromAgent, key: string): void {
    const method = this.#asked.get(key);
    if (method === undefined && key === this.#prompt) {
      this.#to.bad('a second answer to the prompt');
      return;
    }
    this.#asked.delete(key);
    if (method === 'session/prompt') this.#prompt = key;
    if (key === this.#loading) this.#loading = null;
    const error = nativeOf(message.error);
    if (error !== null) {
      this.turn.failed(method ?? null, error);
      return;
    }
    const result: Result = nativeOf(message.result) ?? {};
    const about = method ?? ANSWERED.find(([field]) => field in result)?.[1];
    if (about !== undefined) own(this.#answers, about)?.(result);
  }
}
