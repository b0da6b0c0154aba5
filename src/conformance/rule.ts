/** A rule: a criterion, the message types it looks at, and a small state machine over them. */
import type { SentStream } from './sent-stream.ts';
import type { Tally } from './tally.ts';
import type { Item, Session, TrackerCounts } from './tracked.ts';
import type { RuleInfo } from './types.ts';

/** Knowledge that a rule has besides the stream itself. */
export interface Evidence {
  /** The stream as it was sent. */
  against: SentStream | null;
  /** The stream continues: an open call or session is not a failure. */
  live: boolean;
  /** Transport → whether the suite passed over it; null when it was not run. */
  transports: Readonly<Record<string, boolean>> | null;
  readonly sessions: ReadonlyMap<string, Session>;
  readonly counts: TrackerCounts;
}

export interface RuleState {
  push(item: Item): void;
  /** Memory above that of an idle process, in bytes. */
  memory?(bytes: number): void;
  /** The session is dropped, or the stream has ended. */
  close?(session: Session): void;
  /** The stream has ended; never called while it continues. */
  end?(): void;
  /** Why nothing was judged, when the reason differs from `Rule.nothing`. */
  nothing?(): string;
  /** Parts of the criterion that could not be judged. */
  unjudged?(): string[];
}

export interface Rule extends RuleInfo {
  /** The message types it looks at, including faulty messages; null for every line. */
  readonly types: readonly string[] | null;
  /** Why nothing was judged when the stream has no message of these types. */
  readonly nothing: string;
  create(tally: Tally, evidence: Evidence): RuleState;
}

/** A rule before it has a section. The default threshold is 1. */
export type SectionRule = Omit<Rule, 'section' | 'threshold'> & { threshold?: number };

/** Whether the session may have requests that were not recorded. */
export const missesCalls = ({ joined }: Session, { calls_over }: TrackerCounts) =>
  joined || calls_over > 0;

/** The types of a call's messages after its request. */
export const FOLLOWING_TYPES = [
  'tool_call_confirmation',
  'tool_confirmation_response',
  'tool_execution_status',
  'tool_call_response',
] as const;
