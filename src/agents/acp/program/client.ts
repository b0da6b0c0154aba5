/** The client side of the protocol: initialisation, a session, prompts, permissions, the end of the turn. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RecentMap } from '../../../lib/bounded.ts';
import { LIMITS } from '../../../lib/limits.ts';
import type { ApproveMode } from '../../../model/words.ts';
import { AGENT_LIMITS } from '../../kit/limits.ts';
import { idOf, nativeOf, type Open, textOf } from '../../kit/native.ts';
import { nativesOf } from '../protocol.ts';
import { Connection, Failed, type Handler, type Recorder, type Streams } from './connection.ts';
import type { Inbox } from './inbox.ts';
import { isAllowed, outcomeFor, silentLogin } from './policy.ts';

export interface Wanted {
  prompt: string;
  /** Input after the prompt; null: there is none. */
  inbox: Inbox | null;
  approve: ApproveMode;
  model: string | null;
  resume: string | null;
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/** The reason why the run cannot continue, as shown to people. */
export class Refused extends Error {}

const AUTH_REQUIRED = -32000;
const NEXT_WAIT_MS = 60_000;
const VERSIONS: readonly unknown[] = [1, 2];
/** No files and no terminals: agents have their own. With a client's files, one agent could not write new files. */
const NOTHING = { fs: { readTextFile: false, writeTextFile: false }, terminal: false };

export class Client implements Handler {
  readonly #connection: Connection;
  readonly #wanted: Wanted;
  /** Kinds of calls, for requests that do not repeat them. */
  readonly #kinds = new RecentMap<string, string>(LIMITS.open_calls_max);
  /** Permission requests that wait for an answer, by their keys. */
  readonly #asked = new Map<string, (allowed: boolean) => void>();
  #idle = Promise.withResolvers<void>();
  #session_id: string | null = null;
  /** A prompt has been sent and not answered. */
  #prompted = false;
  #cancelled = false;
  /** Like cancelled, but only for the current prompt. */
  #interrupted = false;

  constructor(streams: Streams, record: Recorder, wanted: Wanted) {
    this.#wanted = wanted;
    this.#connection = new Connection(streams, record, this);
    const { inbox } = wanted;
    if (inbox === null) return;
    inbox.onInterrupt = () => this.#interrupt();
    inbox.onConfirm = (request, confirmed) => this.#asked.get(request)?.(confirmed);
    // Nobody is left to ask.
    inbox.onEnd = () => this.#refuseAsked();
  }

  /** Resolves when the turns of all prompts have ended. Rejects if the agent refuses a request. */
  async run(version: string): Promise<void> {
    const info = { name: 'tacho', title: 'tacho', version };
    const initialised = await this.#connection.request('initialize', {
      protocolVersion: 1,
      clientCapabilities: NOTHING,
      clientInfo: info,
      // The names in version 2.
      capabilities: {},
      info,
    });
    const { protocolVersion } = initialised;
    if (!VERSIONS.includes(protocolVersion)) {
      throw new Refused(`the agent speaks version ${JSON.stringify(protocolVersion)}, not 1`);
    }
    await this.#choose(await this.#start(initialised));
    if (this.#cancelled) throw new Refused('cancelled before the prompt');
    const { prompt, inbox } = this.#wanted;
    let text: string | null = prompt;
    while (text !== null && !this.#cancelled) {
      await this.#prompt(text, protocolVersion === 2);
      // Tacho closes the input immediately after a turn's end. A turn that ended silently is not waited for.
      const waited = sleep(NEXT_WAIT_MS, null, { ref: false });
      text = inbox && (await Promise.race([inbox.next(), waited]));
    }
  }

  async #prompt(text: string, version_2: boolean): Promise<void> {
    this.#prompted = true;
    this.#idle = Promise.withResolvers<void>();
    const params = { sessionId: this.#session_id, prompt: [{ type: 'text', text }] };
    const answered = this.#connection.request('session/prompt', params);
    if (this.#interrupted) this.#cancelTurn();
    const answer = await answered;
    // Version 2 answers immediately; the session's state shows the end.
    if (version_2 && answer.stopReason === undefined) await this.#idle.promise;
    this.#prompted = false;
    this.#interrupted = false;
    this.#refuseAsked();
  }

  /** The agent answers the prompt soon after. False: there is no turn to cancel. */
  cancel(): boolean {
    this.#cancelled = true;
    if (!this.#prompted) return false;
    this.#cancelTurn();
    return true;
  }

  /** Before a prompt is sent, the interrupt applies to that prompt as soon as it is sent. */
  #interrupt(): void {
    this.#interrupted = true;
    if (this.#prompted) this.#cancelTurn();
  }

  #cancelTurn(): void {
    this.#connection.notify('session/cancel', { sessionId: this.#session_id });
    this.#refuseAsked();
  }

  #refuseAsked(): void {
    for (const answer of this.#asked.values()) answer(false);
  }

  async #start(initialised: Open): Promise<Open> {
    const open = () => this.#connection.request(...this.#opening(initialised));
    const session = await open().catch(async (error: unknown) => {
      if (!(error instanceof Failed) || error.code !== AUTH_REQUIRED) throw error;
      const methodId = silentLogin(initialised.authMethods, this.#wanted.env);
      if (methodId === null)
        throw new Refused('the agent requires a login: log in with its own program first');
      const login = initialised.protocolVersion === 2 ? 'auth/login' : 'authenticate';
      await this.#connection.request(login, { methodId });
      return open();
    });
    this.#session_id = idOf(session.sessionId) ?? this.#wanted.resume;
    if (this.#session_id === null) throw new Refused('the agent returned no session id');
    return session;
  }

  /** A session is resumed or, if the agent only offers that, loaded, which repeats its history. */
  #opening(initialised: Open): [string, Open] {
    const { cwd, resume } = this.#wanted;
    const params = { cwd, mcpServers: [] };
    if (resume === null) return ['session/new', params];
    const able = nativeOf(initialised.agentCapabilities) ?? nativeOf(initialised.capabilities);
    const sessions = nativeOf(able?.sessionCapabilities) ?? nativeOf(able?.session);
    const known = { sessionId: resume, ...params };
    if (nativeOf(sessions?.resume) !== null) return ['session/resume', known];
    if (able?.loadSession === true) return ['session/load', known];
    throw new Refused('the agent cannot resume a session');
  }

  /** A run with another model than the requested one would be worthless. */
  async #choose(session: Open): Promise<void> {
    const { model } = this.#wanted;
    const sessionId = this.#session_id;
    if (model === null) return;
    const models = nativesOf(nativeOf(session.models)?.availableModels);
    const known = models.find((one) => one.modelId === model || one.name === model);
    if (known !== undefined) {
      await this.#connection.request('session/set_model', { sessionId, modelId: known.modelId });
      return;
    }
    const option = nativesOf(session.configOptions).find((one) => one.category === 'model');
    const values = nativesOf(option?.options);
    const value = values.find((one) => one.value === model || one.name === model);
    if (option === undefined || value === undefined) {
      throw new Refused(
        `the agent does not offer the model ${model}: choose it with the agent's own arguments`,
      );
    }
    const params = { sessionId, configId: option.id ?? option.configId, value: value.value };
    await this.#connection.request('session/set_config_option', params);
  }

  request(method: string, params: Open, key: string): Open | Promise<Open> | null {
    if (method !== 'session/request_permission') return null;
    const call = nativeOf(params.toolCall) ?? nativeOf(nativeOf(params.subject)?.toolCall);
    const kind = idOf(call?.kind) ?? this.#kinds.get(idOf(call?.toolCallId) ?? '') ?? null;
    const stopped = () => this.#cancelled || this.#interrupted;
    const outcome = (allowed: boolean) => ({
      outcome: stopped() ? { outcome: 'cancelled' } : outcomeFor(allowed, params.options),
    });
    const allowed = isAllowed(this.#wanted.approve, kind);
    if (allowed || stopped() || this.#wanted.inbox?.ended !== false) return outcome(allowed);
    return this.#confirmed(key).then(outcome);
  }

  /** Waits for a person to allow a call that the approval mode does not. */
  async #confirmed(key: string): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#asked.set(key, resolve);
    const timer = setTimeout(() => resolve(false), AGENT_LIMITS.confirm_wait_ms);
    const allowed = await promise;
    clearTimeout(timer);
    this.#asked.delete(key);
    return allowed;
  }

  notification(method: string, params: Open): void {
    const update = method === 'session/update' ? nativeOf(params.update) : null;
    const call_id = idOf(update?.toolCallId);
    const kind = textOf(update?.kind);
    if (call_id !== null && kind !== null) this.#kinds.set(call_id, kind);
    // Before the prompt this is the earlier state of the session.
    const idle = update?.sessionUpdate === 'state_update' && update.state === 'idle';
    if (idle && this.#prompted) this.#idle.resolve();
  }
}
