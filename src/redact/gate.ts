/**
 * The gate: whatever is stored, printed or sent passes through it, and nothing else of this folder is known outside.
 *
 * What a run says passes it twice, since each pass does what the other cannot:
 * - as drafts, before correlation: texts that come in pieces or line by line. A piece that may be the beginning of a secret
 *   is held back; it becomes no event and takes no number. Lines are looked at before they are cut to excerpts. A recovery
 *   passes the lines again that are journalled already, so that the same is held back.
 * - as events, after it: everything else. Calls are paired, loops are found and agents are answered by ids as the agent
 *   wrote them, and correlation itself writes texts: prompts, problems, the end of the run.
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
  /** Texts of calls and messages are redacted when they are whole, by whoever puts them together. */
  whole_texts?: boolean;
}

/** Events with texts of calls and messages, and those of which only ids and figures are used. */
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
    /** What is held back of texts that have not ended: nothing more comes. */
    held: () => pieces.held() as Draft[],
    /** An event after correlation; the same object where it has no secret. */
    event: <E extends Entry>(event: E) =>
      whole_texts && WHOLE_LATER.has(event.kind) ? event : redactEvent(event, redactor),
  };
}
