/** The types that rules work with: lines of a stream, verdicts and the report. */
import type { WireMessage } from '../model/live.ts';

/** The fault that the reader found in a line. */
interface LineFault {
  code: string;
  /** Path of the field, such as `data.call_id`; null when no single field is at fault. */
  field: string | null;
  message: string;
  details: Record<string, unknown>;
}

/** A message without a fault, of a known or unknown type. */
export type Message = Omit<WireMessage, 'type'> & { type: string };

/** One line as it was read. */
export type StreamLine = {
  /** 1-based. */
  line: number;
  text: string;
  /** Time of arrival by the receiver's clock; null or absent when unknown. */
  received_ms?: number | null;
  /** Set when the senders are independent of each other; absent when all lines have one sender. */
  sender?: string;
} & (
  | { fault: null; message: Message }
  /** `message`: the part that could be parsed. */
  | { fault: LineFault; message: Record<string, unknown> | null }
);

/** The location of a failure. */
export interface Place {
  /** Line of the input, from 1; null if unknown. */
  line: number | null;
  /** Id of the session; null if there is none. */
  session_id: string | null;
  /** Number of the message in its session; null if there is none. */
  seq: number | null;
}

export const NOWHERE: Place = { line: null, session_id: null, seq: null };
export const placeOf = ({ line, session_id, seq }: Place): Place => ({ line, session_id, seq });

/** A failure of a rule. */
export interface Failure extends Place {
  /** The reason, for people. */
  why: string;
}

/** The verdict on a rule, or on a stream. */
export type Verdict = 'passed' | 'failed' | 'not judged';

/** A rule of a format. */
export interface RuleInfo {
  /** Number of the rule. */
  readonly id: string;
  /** The rule, for people. */
  readonly title: string;
  /** The section of the criteria it belongs to. */
  readonly section: string;
  /** The share of checks that must pass; 1 means all. */
  readonly threshold: number;
}

/** The verdict on one rule. */
export interface RuleReport extends RuleInfo {
  /** Number of checks. */
  checked: number;
  /** Number of checks that failed. */
  failed: number;
  /** The share of checks that passed; null when nothing was checked. */
  rate: number | null;
  /** Whether the stream keeps the rule. */
  verdict: Verdict;
  /** Why the rule was not judged; null when it was. */
  reason: string | null;
  /** Parts of the criterion that this stream cannot show; the verdict covers the other parts. */
  unjudged: string[];
  /** The first failures; `failed` counts all. */
  failures: Failure[];
}

/** The result of checking a stream. */
export interface Report {
  /** Format of the stream. */
  format: string;
  /** `failed`: a rule failed. `passed`: no rule failed, and at least one was judged. */
  verdict: Verdict;
  /** Number of lines. */
  lines: number;
  /** Number of messages. */
  messages: number;
  /** Lines that are not a message of the format. */
  faulty: number;
  /** Number of sessions. */
  sessions: number;
  /** Calls without an end. */
  open_calls: number;
  /** Identical messages received again; not failures. */
  duplicates: number;
  /** Counts of what was not judged because it exceeded a limit. */
  over_limits: string[];
  /** The verdict on each rule. */
  rules: RuleReport[];
}
