/**
 * The gate: everything that is stored, printed or sent passes through it. Other folders use nothing else from this folder.
 *
 * The data of a run passes it twice, because each pass does what the other cannot:
 * - as drafts, before correlation: texts in pieces or lines. A piece that may be the beginning of a secret is held back; it
 *   does not become an event and gets no number. Lines are inspected before they are truncated to excerpts. Recovery also
 *   passes lines that are already journalled, so that the same pieces are held back.
 * - as events, after correlation: everything else. Pairing calls, detecting loops and answering agents need the agent's
 *   original ids, and correlation itself creates texts: prompts, problems, the end of the run.
 */
import type { Draft } from '../model/draft.ts';
import type { EventKind } from '../model/event.ts';
import { PieceRedaction, redactLines } from './pieces.ts';
import { type Entry, redactEvent } from './records.ts';
import type { Redactor } from './redact.ts';

export { REDACT_LIMITS } from './limits.ts';
export { createLiveRedaction, type LiveRedaction } from './live.ts';
export { compilePatterns } from './patterns.ts';
export { createRawLog } from './raw-log.ts';
export { redactCall, redactFields, redactRecord } from './records.ts';
export { type AnyRedactor, createRedactor, type Redactor } from './redact.ts';
export { knownSecrets, VALUE_CHARS_MIN } from './values.ts';

export type Gate = ReturnType<typeof createGate>;

interface GateOptions {
  /** Texts of calls and messages are redacted when they are complete, by the code that joins them. */
  whole_texts?: boolean;
}

/** Events with texts of calls and messages, and events with only ids and figures that are used. */
const WHOLE_LATER = new Set<string>([
  'call_requested',
  'call_started',
  'call_progress',
  'call_finished',
  'message_delta',
  'message_finished',
  'thinking_delta',
  'thinking_finished',
  'step_started',
  'step_finished',
  'usage_reported',
  'run_finished',
] satisfies EventKind[]);

/** The gate of one run. */
export function createGate(redactor: Redactor, { whole_texts = false }: GateOptions = {}) {
  const pieces = new PieceRedaction(redactor);
  return {
    redactor,
    /** Drafts of a line of a channel, before correlation. */
    drafts: <D extends Entry>(drafts: readonly D[], channel: string) =>
      whole_texts ? redactLines(drafts, channel, redactor) : pieces.drafts(drafts, channel),
    /** The held-back parts of unfinished texts, at the end of input. */
    held: () => pieces.held() as Draft[],
    holds: () => pieces.holds,
    /** An event after correlation; the same object if it contains no secret. */
    event: <E extends Entry>(event: E) =>
      whole_texts && WHOLE_LATER.has(event.kind) ? event : redactEvent(event, redactor),
  };
}
