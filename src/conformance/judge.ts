/** Judges a stream of the live protocol by all rules in one pass. Pure: times and evidence are passed in. */

import type { RuleState } from './rule.ts';
import { LIVE_RULES } from './rules.ts';
import type { SentStream } from './sent-stream.ts';
import { Tracker } from './sessions.ts';
import { type OnFailure, reportOf, Tally } from './tally.ts';
import type { Session, TrackerCounts } from './tracked.ts';
import type { Report, StreamLine } from './types.ts';

export interface JudgeOptions {
  /** The stream as it was sent, for 2.1. */
  against?: SentStream | null;
  /** The stream continues: open calls are not failures, and sessions may have begun before the stream. */
  live?: boolean;
  /** Transport → whether the suite passed over it, for 7.2. */
  transports?: Readonly<Record<string, boolean>> | null;
  onFailure?: OnFailure;
}

export class Judge {
  readonly #live: boolean;
  readonly #tracker: Tracker;
  readonly #rules;
  readonly #states: readonly RuleState[];
  /** The rules that look at every line. */
  readonly #for_all: readonly RuleState[];
  /** Rules by message type. */
  readonly #by_type = new Map<string, readonly RuleState[]>();
  #lines = 0;
  #faulty = 0;
  #ended = false;

  constructor({ against = null, live = false, transports = null, onFailure }: JudgeOptions = {}) {
    this.#live = live;
    this.#tracker = new Tracker({ joins: live, onClose: (session) => this.#close(session) });
    const { counts, sessions } = this.#tracker;
    const evidence = { against, live, transports, sessions, counts };
    this.#rules = LIVE_RULES.map((rule) => {
      const tally = new Tally(rule, onFailure);
      return { rule, tally, state: rule.create(tally, evidence) };
    });
    this.#states = this.#rules.map(({ state }) => state);
    this.#for_all = this.#rules.filter(({ rule }) => rule.types === null).map(({ state }) => state);
  }

  push(line: StreamLine): void {
    this.#lines += 1;
    if (line.fault !== null) this.#faulty += 1;
    const item = this.#tracker.look(line);
    if (item === null) return;
    for (const state of this.#rulesFor(item.type)) state.push(item);
    this.#tracker.settle(item);
  }

  /** Sets whether a sender is still connected for the session. A held session is not dropped before its end. */
  hold(session_id: string, held: boolean): void {
    const session = this.#tracker.sessions.get(session_id);
    if (session !== undefined) session.held = held;
  }

  /** The session is known, is held, and has not ended. */
  isOpen(session_id: string): boolean {
    const session = this.#tracker.sessions.get(session_id);
    return session?.held === true && !session.ended;
  }

  /** Memory of the judged program above that of an idle process, in bytes, for 5.2. */
  memory(bytes: number): void {
    for (const state of this.#states) state.memory?.(bytes);
  }

  /** The final report of a finished stream, after which nothing may be pushed; or the current state of a live one. */
  report(): Report {
    this.#end();
    const rules = this.#rules.map(({ rule, tally, state }) =>
      tally.report(state.nothing?.() ?? rule.nothing, state.unjudged?.() ?? []),
    );
    const { counts, open_calls } = this.#tracker;
    const { sessions, duplicates } = counts;
    const over_limits = overLimits(counts);
    return reportOf('live', { lines: this.#lines, faulty: this.#faulty }, rules, {
      ...{ sessions, open_calls, duplicates, over_limits },
    });
  }

  #close(session: Session): void {
    for (const state of this.#states) state.close?.(session);
  }

  #rulesFor(type: string | null): readonly RuleState[] {
    if (type === null) return this.#for_all;
    const known = this.#by_type.get(type);
    if (known !== undefined) return known;
    const found = this.#rules.filter(({ rule }) => rule.types?.includes(type) ?? true);
    // Unknown types are not cached: their number is unbounded.
    if (found.length === this.#for_all.length) return this.#for_all;
    const states = found.map(({ state }) => state);
    this.#by_type.set(type, states);
    return states;
  }

  #end(): void {
    if (this.#live || this.#ended) return;
    this.#ended = true;
    for (const state of this.#states) state.end?.();
    for (const session of this.#tracker.sessions.values()) this.#close(session);
  }
}

const OVER = [
  ['sessions_over', 'messages of sessions beyond the limit of open sessions'],
  ['sessions_dropped', 'sessions dropped before their end'],
  ['calls_over', 'calls beyond the limit of open calls'],
  ['blocks_over', 'content blocks beyond the limit of open content blocks'],
] as const;

function overLimits(counts: TrackerCounts): string[] {
  return OVER.filter(([name]) => counts[name] > 0).map(([name, what]) => `${counts[name]} ${what}`);
}
