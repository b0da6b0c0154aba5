/** What the rules speak of: lines of a stream, verdicts on them, and the report. */
import type { WireMessage } from '../model/live.ts';

/** What is wrong with a line, as its reader found it. */
interface LineFault {
  code: string;
  /** `data.call_id`; null where no one field is to blame. */
  field: string | null;
  message: string;
  details: Record<string, unknown>;
}

/** A message without a fault; of any type, also of one that is not known here. */
export type Message = Omit<WireMessage, 'type'> & { type: string };

/** One line as it was read. */
export type StreamLine = {
  /** 1-based. */
  line: number;
  text: string;
  /** When it arrived, by the receiver's clock; null or left out: not known. */
  received_ms?: number | null;
  /** Who sent it, where the senders are strangers to each other; left out: all lines have one sender. */
  sender?: string;
} & (
  | { fault: null; message: Message }
  /** `message`: what could be parsed. */
  | { fault: LineFault; message: Record<string, unknown> | null }
);

/** Where a failure is. */
export interface Place {
  line: number | null;
  session_id: string | null;
  seq: number | null;
}

export const NOWHERE: Place = { line: null, session_id: null, seq: null };
export const placeOf = ({ line, session_id, seq }: Place): Place => ({ line, session_id, seq });

export interface Failure extends Place {
  why: string;
}

export type Verdict = 'passed' | 'failed' | 'not judged';

export interface RuleInfo {
  readonly id: string;
  readonly title: string;
  /** The part of the criteria that it belongs to. */
  readonly section: string;
  /** The share of what is checked that has to hold: 1 is all of it. */
  readonly threshold: number;
}

export interface RuleReport extends RuleInfo {
  checked: number;
  failed: number;
  /** The share that held; null when nothing was checked. */
  rate: number | null;
  verdict: Verdict;
  /** Why it was not judged; null when it was. */
  reason: string | null;
  /** Parts of the criterion that this stream cannot show; the verdict is on the others. */
  unjudged: string[];
  /** The first failures; `failed` counts all. */
  failures: Failure[];
}

export interface Report {
  format: string;
  /** failed: a rule failed. passed: none did, and at least one was judged. */
  verdict: Verdict;
  lines: number;
  messages: number;
  /** Lines that are no message of the format. */
  faulty: number;
  sessions: number;
  open_calls: number;
  /** The same message again: not a failure. */
  duplicates: number;
  /** What went over a limit and was not judged for it; empty: nothing. */
  over_limits: string[];
  rules: RuleReport[];
}
