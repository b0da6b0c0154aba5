/**
 * Delivers sessions to a collector: connects, sends unacknowledged messages in order as credits allow, and reconnects
 * when the connection is lost (LP-7, LP-8, LP-10, LP-11).
 * Contract: it reads messages from their source and keeps none. Only a final refusal ends it.
 */

import { LIMITS } from '../../lib/limits.ts';
import type { LiveDataOf } from '../../model/live.ts';
import { CLIENT_MESSAGE_TYPES, LIVE_VERSION, URGENT_TYPES } from '../../model/live-words.ts';
import { LIVE_LIMITS } from '../limits.ts';
import type { WireMessage } from '../protocol/messages.ts';
import { Delivery, type Failure, type MessageSource } from './delivery.ts';
import { refusalOf } from './input.ts';
import { Link, Refused } from './link.ts';
import { News } from './news.ts';
import { ResumeRequests } from './resume-requests.ts';
import type { Notice, SenderOptions, SenderTimes } from './types.ts';

const INPUT_TYPES: ReadonlySet<string> = new Set(CLIENT_MESSAGE_TYPES);
/** A smaller change of the skew is not reported. */
const SKEW_STEP_MS = 50;
/** Bytes read from one session before the next one has its turn. */
const PIECE_BYTES = 64 * 1024;

export type SenderSession = ReturnType<Sender['add']>;

export class Sender {
  readonly #options: SenderOptions;
  readonly #times: SenderTimes;
  readonly #deliveries = new Set<Delivery>();
  readonly #news = new News();
  readonly #requests = new ResumeRequests();
  readonly #stop = new AbortController();
  #link: Link | null = null;
  #credits = 0;
  #connections = 0;
  /** The last attempt to connect failed. */
  #away = false;
  #reported_skew = 0;
  #inputs: Promise<void> = Promise.resolve();
  #failure: Failure | null = null;
  readonly #running: Promise<void>;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#times = { ...LIVE_LIMITS, ...options.times };
    this.#running = this.#run();
  }

  add(source: MessageSource) {
    const news = this.#news;
    const delivery = new Delivery(source, this.#times);
    if (this.#failure !== null) delivery.fail(this.#failure);
    this.#deliveries.add(delivery);
    news.ring();
    const isOver = () => delivery.done || delivery.failure !== null;
    return {
      get acked(): number {
        return delivery.acked;
      },
      /** All messages are acknowledged. */
      get done(): boolean {
        return delivery.done;
      },
      get failure(): Failure | null {
        return delivery.failure;
      },
      /** Signals new messages. */
      wake: () => news.ring(),
      /** Sends nothing more of it, and forgets it. */
      drop: () => void this.#deliveries.delete(delivery),
      /** Resolves when all messages are acknowledged (true), the session has failed, or the time is over. */
      settled: async (wait_ms: number): Promise<boolean> => {
        await news.until(isOver, wait_ms);
        return delivery.done;
      },
      /** Resolves when further messages are acknowledged (true), delivery has stopped, or the time is over. */
      moved: async (wait_ms: number): Promise<boolean> => {
        const { acked } = delivery;
        const hasMoved = () => delivery.acked > acked;
        await news.until(() => hasMoved() || isOver() || !this.connected, wait_ms);
        return hasMoved();
      },
    };
  }

  /** The number at which the collector would continue a session; null when unknown within this time. */
  async where(session_id: string, wait_ms: number): Promise<number | null> {
    const until = this.#now() + wait_ms;
    await this.#news.until(() => this.connected || this.#away, wait_ms);
    const link = this.#link;
    if (link === null || link.gone) return null;
    let answer: { seq: number | null } | null = null;
    this.#requests.ask(link, { id: session_id, last_seq: 0 }, (seq) => {
      answer = { seq };
      this.#news.ring();
    });
    await this.#news.until(() => answer !== null, until - this.#now());
    return (answer as { seq: number | null } | null)?.seq ?? null;
  }

  get connected(): boolean {
    return this.#link !== null && !this.#link.gone;
  }

  async close(): Promise<void> {
    this.#news.stop();
    this.#stop.abort();
    this.#link?.close(new Error('closed by the sender'));
    await this.#running;
  }

  #now(): number {
    return this.#options.clock.elapsed();
  }

  async #run(): Promise<void> {
    for (let tries = 0; !this.#news.stopped; tries++) {
      let why: Error;
      try {
        const link = await this.#connect();
        tries = 0;
        why = await this.#serve(link);
      } catch (error) {
        why = error as Error;
        if (error instanceof Refused && !error.retryable) return this.#giveUp(error);
      }
      if (this.#news.stopped || this.#failure !== null) return;
      await this.#pause(why, tries);
    }
  }

  /** The wait doubles each time. It is shortened by up to a quarter so that many senders do not reconnect together. */
  async #pause(why: Error, tries: number): Promise<void> {
    const { retry_ms, retry_ms_max } = this.#times;
    const [byte = 0] = this.#options.random(1);
    const whole = Math.min(retry_ms * 2 ** Math.min(tries, 30), retry_ms_max);
    const wait_ms = Math.round(whole * (1 - byte / 1020));
    this.#away = true;
    this.#requests.clear();
    this.#notify({ kind: 'lost', why: why.message, retry_ms: wait_ms });
    this.#news.ring();
    const until = this.#now() + wait_ms;
    while (!this.#news.stopped && this.#now() < until) await this.#news.next(until - this.#now());
  }

  async #connect(): Promise<Link> {
    const { clock, random, dial, token, client: client_info } = this.#options;
    const wire = await dial(this.#stop.signal);
    this.#connections += 1;
    const resumed = this.#resumed();
    const resume = resumed && { session_id: resumed.source.session_id, last_seq: resumed.acked };
    const link = new Link(wire, {
      hello: { version: LIVE_VERSION, role: 'agent', client_info, resume, token },
      clock,
      hello_ms: this.#times.hello_ms,
      name: `${Buffer.from(random(6)).toString('hex')}-${this.#connections}`,
      onMessage: (message) => this.#take(link, message),
      onSkew: (skew_ms) => this.#skew(skew_ms),
    });
    // `close` may have been called while dialling.
    if (this.#news.stopped) link.close(new Error('closed by the sender'));
    this.#link = link;
    const welcome = await link.open();
    this.#credits = welcome.credits;
    this.#away = false;
    for (const delivery of this.#deliveries) delivery.begin();
    resumed?.asked(this.#now());
    resumed?.answered(welcome.resume_from_seq ?? null);
    this.#notify({ kind: 'connected' });
    this.#news.ring();
    return link;
  }

  /** The session that the first handshake resumes; the others are asked for one by one. */
  #resumed(): Delivery | null {
    const open = [...this.#deliveries].filter(
      ({ failure, source }) => failure === null && source.last_seq > 0,
    );
    return open.find(({ done }) => !done) ?? open[0] ?? null;
  }

  /** Sends until the connection ends; returns the reason. */
  async #serve(link: Link): Promise<Error> {
    link.ended.then(() => this.#news.ring());
    while (!link.gone && !this.#news.stopped) {
      const now = this.#now();
      for (const delivery of this.#deliveries) {
        if (delivery.unasked) this.#askFor(link, delivery);
        delivery.resend(now);
      }
      let sent = false;
      for (const delivery of this.#deliveries) {
        if (delivery.ready(now) && (await this.#sendSome(link, delivery))) sent = true;
        if (link.gone) break;
      }
      if (!sent && !link.gone) await this.#news.next(this.#restFrom(now));
    }
    this.#link = null;
    return link.ended;
  }

  /** Uses the time of the last check: with a later time, a session that became ready in between would be missed. */
  #restFrom(looked: number): number | null {
    let next = Infinity;
    for (const delivery of this.#deliveries)
      next = Math.min(next, delivery.due(looked) ?? Infinity);
    return next === Infinity ? null : Math.max(0, next - this.#now());
  }

  /** Sends one piece of a session; returns whether anything was sent. */
  async #sendSome(link: Link, delivery: Delivery): Promise<boolean> {
    const entries = await delivery.source.read(delivery.next, PIECE_BYTES);
    let sent = false;
    for (const { seq, type, text } of entries) {
      // An answer may have changed the position in the meantime.
      if (delivery.failure !== null || seq !== delivery.next || link.gone) break;
      if (!delivery.maySend(seq)) break;
      const cost = URGENT_TYPES.has(type) ? 0 : 1;
      if (cost > this.#credits) break;
      this.#credits -= cost;
      delivery.sent(seq, this.#now());
      sent = true;
      if (!link.send(text)) await link.drained();
    }
    return sent;
  }

  #take(link: Link, message: WireMessage): void {
    const { type, data } = message;
    if (type === 'ack') {
      const now = this.#now();
      for (const { session_id, seq } of (data as LiveDataOf<'ack'>).acked)
        this.#find(session_id)?.ack(seq, now);
    } else if (type === 'flow_control') {
      this.#credits = (data as LiveDataOf<'flow_control'>).available_credits;
    } else if (type === 'handshake_response') this.#requests.answered(message);
    else if (type === 'error') this.#error(message);
    else if (INPUT_TYPES.has(type))
      // In sequence: a second input must not overtake the first.
      this.#inputs = this.#inputs.then(() => this.#input(link, message));
    this.#news.ring();
  }

  #askFor(link: Link, delivery: Delivery): void {
    delivery.asked(this.#now());
    const session = { id: delivery.source.session_id, last_seq: delivery.acked };
    this.#requests.ask(link, session, (resume_from_seq, refused) => {
      if (refused?.error_code === 'AUTH_FAILED') delivery.fail(refused);
      else delivery.answered(resume_from_seq);
      this.#news.ring();
    });
  }

  #find(session_id: string | null | undefined): Delivery | undefined {
    return this.#deliveries.values().find(({ source }) => source.session_id === session_id);
  }

  #error(message: WireMessage): void {
    if (this.#requests.refused(message)) return;
    const { error_code, message: why } = message.data as LiveDataOf<'error'>;
    if (error_code === 'AUTH_FAILED') {
      this.#giveUp(new Refused(error_code, why));
      return;
    }
    const session_id = message.session_id ?? null;
    const final = this.#find(session_id)?.error(message, this.#now()) ?? false;
    this.#notify({ kind: 'refused', session_id, final, error_code, message: why });
  }

  #giveUp({ error_code, reason }: Refused): void {
    this.#failure = { error_code, message: reason };
    for (const delivery of this.#deliveries) delivery.fail(this.#failure);
    this.#link?.close(new Error(reason));
    this.#notify({ kind: 'refused', session_id: null, final: true, ...this.#failure });
    this.#news.stop();
  }

  async #input(link: Link, message: WireMessage): Promise<void> {
    const refusal = await refusalOf(this.#options.onInput, message);
    if (refusal !== null) link.say('error', refusal, message.session_id ?? null);
  }

  #skew(skew_ms: number): void {
    const reported = Math.abs(skew_ms) > LIMITS.live_skew_ms_max ? skew_ms : 0;
    if (Math.abs(reported - this.#reported_skew) < SKEW_STEP_MS) return;
    this.#reported_skew = reported;
    if (reported !== 0) this.#notify({ kind: 'skew', skew_ms });
  }

  #notify(notice: Notice): void {
    this.#options.onNotice?.(notice);
  }
}
