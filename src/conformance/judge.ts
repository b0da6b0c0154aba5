/** Judges a stream of the live protocol, line by line, by all rules at once. Pure: times and other evidence come from outside. */

import type { Evidence, Rule, RuleState } from './rule.ts';
import { LIVE_RULES } from './rules.ts';
import type { Against } from './sent-stream.ts';
import { Tracker } from './sessions.ts';
import { type OnFailure, overall, RuleTally } from './tally.ts';
import type { Session, TrackerCounts } from './tracked.ts';
import type { Report, StreamLine } from './types.ts';

export interface JudgeOptions {
  /** The stream as it was sent, for 2.1. */
  against?: Against | null;
  /** The stream goes on: what is open is not failed, and sessions may have begun before. */
  live?: boolean;
  /** Transport → whether the suite over it passed, for 7.2. */
  transports?: Readonly<Record<string, boolean>> | null;
  onFailure?: OnFailure;
}

export interface Judge {
  push(line: StreamLine): void;
  /** Whether somebody still sends for a session; one that is held is not let go before its end. */
  hold(session_id: string, held: boolean): void;
  /** The session is known, is held, and has not ended. */
  isOpen(session_id: string): boolean;
  /** What the judged program takes above one that does nothing, in bytes, for 5.2. */
  memory(bytes: number): void;
  /** Of a stream that has ended: complete, and nothing may be pushed after it. Of a live one: as it stands. */
  report(): Report;
}

interface Judging {
  rule: Rule;
  tally: RuleTally;
  state: RuleState;
}

export function createJudge(options: JudgeOptions = {}): Judge {
  const { against = null, live = false, transports = null, onFailure } = options;
  const tracker = new Tracker({ joins: live, onClose });
  const { counts, sessions } = tracker;
  const evidence: Evidence = { against, live, transports, sessions, counts };
  const all: Judging[] = LIVE_RULES.map((rule) => {
    const tally = new RuleTally(rule, onFailure);
    return { rule, tally, state: rule.create(tally, evidence) };
  });
  const everything = all.filter(({ rule }) => rule.types === null);
  /** Which rules look at a type. */
  const byType = new Map<string, readonly RuleState[]>();
  const forAll = everything.map(({ state }) => state);
  let lines = 0;
  let faulty = 0;
  let ended = false;

  function onClose(session: Session): void {
    for (const { state } of all) state.close?.(session);
  }

  function rulesFor(type: string | null): readonly RuleState[] {
    if (type === null) return forAll;
    const known = byType.get(type);
    if (known !== undefined) return known;
    const found = all.filter(({ rule }) => rule.types?.includes(type) ?? true);
    // Unknown types are not remembered: there may be any number of them.
    if (found.length === everything.length) return forAll;
    const states = found.map(({ state }) => state);
    byType.set(type, states);
    return states;
  }

  function end(): void {
    if (live || ended) return;
    ended = true;
    for (const { state } of all) state.end?.();
    for (const session of sessions.values()) onClose(session);
  }

  return {
    push(line) {
      lines += 1;
      if (line.fault !== null) faulty += 1;
      const item = tracker.look(line);
      if (item === null) return;
      for (const state of rulesFor(item.type)) state.push(item);
      tracker.settle(item);
    },
    hold(session_id, held) {
      const session = sessions.get(session_id);
      if (session !== undefined) session.held = held;
    },
    isOpen(session_id) {
      const session = sessions.get(session_id);
      return session?.held === true && !session.ended;
    },
    memory(bytes) {
      for (const { state } of all) state.memory?.(bytes);
    },
    report() {
      end();
      const rules = all.map(({ rule, tally, state }) =>
        tally.report(state.nothing?.() ?? rule.nothing, state.unjudged?.() ?? []),
      );
      return {
        format: 'live',
        verdict: overall(rules),
        lines,
        messages: lines - faulty,
        faulty,
        sessions: counts.sessions,
        open_calls: tracker.open_calls,
        duplicates: counts.duplicates,
        over_limits: overLimits(counts),
        rules,
      };
    },
  };
}

const OVER = [
  ['sessions_over', 'messages of sessions beyond the limit of open sessions'],
  ['sessions_dropped', 'sessions let go before their end'],
  ['calls_over', 'calls beyond the limit of open calls'],
  ['blocks_over', 'content blocks beyond the limit of open ones'],
] as const;

function overLimits(counts: TrackerCounts): string[] {
  return OVER.filter(([name]) => counts[name] > 0).map(([name, what]) => `${counts[name]} ${what}`);
}
