/** What a rule is: a criterion, the messages it looks at, and a small state machine over them. */
import type { SentStream } from './sent-stream.ts';
import type { Tally } from './tally.ts';
import type { Item, Session, TrackerCounts } from './tracked.ts';
import type { RuleInfo } from './types.ts';

/** What is known beside the stream itself. */
export interface Evidence {
  /** The stream as it was sent. */
  against: SentStream | null;
  /** The stream continues: what is open is open, not failed. */
  live: boolean;
  /** Transport → whether the suite over it passed; null: nobody ran it. */
  transports: Readonly<Record<string, boolean>> | null;
  readonly sessions: ReadonlyMap<string, Session>;
  readonly counts: TrackerCounts;
}

export interface RuleState {
  push(item: Item): void;
  /** Memory above a process that does nothing, in bytes. */
  memory?(bytes: number): void;
  /** A session is let go, or the stream has ended. */
  close?(session: Session): void;
  /** The stream has ended; never called while it continues. */
  end?(): void;
  /** Why nothing was judged, where it is not simply that nothing of the kind came. */
  nothing?(): string;
  /** Parts of the criterion that could not be judged. */
  unjudged?(): string[];
}

export interface Rule extends RuleInfo {
  /** The types it looks at, faulty ones included; null: every line. */
  readonly types: readonly string[] | null;
  /** Why nothing was judged when nothing of the kind came. */
  readonly nothing: string;
  create(tally: Tally, evidence: Evidence): RuleState;
}

/** A rule before it has a section; all that is checked has to hold, unless it says otherwise. */
export type SectionRule = Omit<Rule, 'section' | 'threshold'> & { threshold?: number };

/** Whether a request of the session may have come that is not known. */
export const missesCalls = ({ joined }: Session, { calls_over }: TrackerCounts) =>
  joined || calls_over > 0;

/** The types of one call's messages that follow its request. */
export const FOLLOWING_TYPES = [
  'tool_call_confirmation',
  'tool_confirmation_response',
  'tool_execution_status',
  'tool_call_response',
] as const;
