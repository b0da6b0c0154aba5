/** stdout of the client program or another client: `{"dir", "at_ms", "msg"}` per line, or an agent's bare messages. */
import { RecentMap } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import { decoder } from '../kit/decoder.ts';
import { type Drafts, Writer } from '../kit/drafts.ts';
import {
  codeOf,
  filledOf,
  idOf,
  isNative,
  momentOf,
  nativeOf,
  problem,
  textOf,
} from '../kit/native.ts';
import { words } from '../kit/text.ts';
import type { Stdout } from './generated/native.ts';
import {
  type ClientParams,
  type FromAgent,
  type FromClient,
  type Params,
  type Result,
  rpcKey,
} from './protocol.ts';
import { modelOf, modeOf, speakerOf } from './speaker.ts';
import { Turn } from './turn.ts';

/** Methods that the agent may call on its client without an effect on the record. */
const METHODS_IGNORED: ReadonlySet<string> = new Set(
  words(`
    $/cancel_request elicitation/complete elicitation/create fs/read_text_file fs/write_text_file
    terminal/create terminal/kill terminal/output terminal/release terminal/wait_for_exit
  `),
);
/** Beginnings of extension methods: the protocol reserves the underscore, the others were seen. */
const EXTENSIONS = ['_', 'craft/', 'qwen/'];
/** Methods that are answered with the facts of a session. */
const STARTS: ReadonlySet<string> = new Set(words('fork load new resume', 'session/'));
/** A field of an answer, and the method that it answers, for unseen requests. */
const ANSWERED = [
  ['protocolVersion', 'initialize'],
  ['stopReason', 'session/prompt'],
  ['sessionId', 'session/new'],
] as const;

export const stream = (options?: { resumed?: boolean }) =>
  decoder<Stdout>((to) => {
    const talk = new Conversation(to, options?.resumed ?? false);
    const message = (msg: unknown, take: (message: FromAgent & FromClient) => void) =>
      isNative(msg) && isMessage(msg) ? take(msg) : to.bad('not a JSON-RPC message');
    return {
      inside,
      timeOf,
      kindOf: ({ dir, type }) => textOf(dir) ?? textOf(type),
      records: {
        'agent->client': ({ msg }) => message(msg, (from) => talk.fromAgent(from)),
        'client->agent': ({ msg }) => message(msg, (from) => talk.fromClient(from)),
        'agent-nonjson'({ msg }) {
          const { data } = problem('not_json', 'the agent wrote a line that is not JSON');
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

/** A bare message comes from the agent. */
function inside(value: unknown): readonly unknown[] | null {
  if (!isNative(value) || value.dir !== undefined || !isMessage(value)) return null;
  return [{ dir: 'agent->client', at_ms: value.at_ms, msg: value }];
}

/** Epoch ms. Recordings of other clients count from their own start, which shows no date. */
function timeOf({ at_ms }: { at_ms?: unknown }): number | undefined {
  const counted = typeof at_ms === 'number' && at_ms >= 0 && at_ms < LIMITS.time_ms_min;
  return counted ? undefined : momentOf(at_ms);
}

/** A request, a notification or an answer. */
function isMessage(value: FromAgent | FromClient): boolean {
  if (typeof value.method === 'string') return true;
  return rpcKey(value.id) !== null && ('result' in value || 'error' in value);
}

class Conversation extends Writer {
  readonly turn: Turn;
  #agent_version: string | null = null;
  #cwd: string | null = null;
  #session_id: string | null = null;
  /** Methods of the client's requests that wait for an answer, by id. */
  readonly #asked = new RecentMap<string, string>(LIMITS.open_calls_max);
  /** The last prompt that was answered. */
  #prompt: string | null = null;
  /** The request that makes the agent repeat its history. All messages until the answer belong to an earlier run. */
  #loading: string | null = null;

  constructor(to: Drafts, resumed: boolean) {
    super(to);
    this.turn = new Turn(to, resumed);
  }

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
    if (!method.startsWith('session/')) return;
    this.#cwd = filledOf(params.cwd) ?? this.#cwd;
    this.#session_id = idOf(params.sessionId) ?? this.#session_id;
  }

  fromAgent(message: FromAgent): void {
    const method = textOf(message.method);
    const key = rpcKey(message.id);
    const params: Params = nativeOf(message.params) ?? {};
    const update = method === 'session/update';
    const id = idOf(params.sessionId);
    const other = id !== null && this.#session_id !== null && id !== this.#session_id;
    if (method === null) {
      if (key !== null) this.#answer(message, key);
    } else if (!update && method !== 'session/request_permission') {
      const extension = EXTENSIONS.some((start) => method.startsWith(start));
      if (!extension && !METHODS_IGNORED.has(method)) this.to.problem('unknown_record', method);
    } else if (other) {
      this.to.problem('unknown_record', `${method} of another session`);
    } else if (!update) this.turn.permission(key, params);
    else if (this.#loading === null) this.turn.update(nativeOf(params.update));
  }

  /** An answer is identified by its request or, if that was not seen, by its fields. */
  #answer(message: FromAgent, key: string) {
    const method = this.#asked.get(key);
    if (method === undefined && key === this.#prompt)
      return this.to.bad('a second answer to the prompt');
    this.#asked.delete(key);
    if (method === 'session/prompt') this.#prompt = key;
    if (key === this.#loading) this.#loading = null;
    const error = nativeOf(message.error);
    if (error !== null) return this.turn.failed(method ?? null, error);
    const result: Result = nativeOf(message.result) ?? {};
    const about = method ?? ANSWERED.find(([field]) => field in result)?.[1];
    if (about === 'session/prompt') this.turn.answered(result);
    else if (about === 'initialize') {
      const { speaker, version } = speakerOf(result);
      this.turn.speaker = speaker;
      this.#agent_version = version;
    } else if (about !== undefined && STARTS.has(about)) {
      this.#session_id = idOf(result.sessionId) ?? this.#session_id;
      this.to.session({
        session_id: this.#session_id,
        model: modelOf(result),
        agent_version: this.#agent_version,
        cwd: this.#cwd,
        permission_mode: modeOf(result),
      });
    }
  }
}
