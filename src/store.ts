/** The store of recorded runs: list, read, verify, import and delete. */
export { openStore, type Store, type StoreOptions } from './app/runs/open-store.ts';
export type { ListOptions, TimeOption } from './app/runs/query.ts';
export type { Removed } from './app/runs/remove.ts';
export type { Verified } from './app/runs/verify.ts';
export type { Imported } from './app/sessions/import.ts';
export type { ImportOptions } from './app/sessions/import-for-program.ts';
export { type ErrorCode, TachoError } from './lib/errors.ts';
export type { DataOf, Event, EventData, EventEnvelope, EventKind, EventOf } from './model/event.ts';
export type { Artifact, OutcomeCall, RunOutcome } from './model/outcome.ts';
export type { Completeness, RunConfig, RunLimits, Usage } from './model/parts.ts';
export type { Transcript, TranscriptCall, TranscriptMessage } from './model/transcript.ts';
export type { ExitReason } from './model/words.ts';
export type { RunRow } from './store/index/runs-table.ts';
