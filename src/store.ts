/** The store of recorded runs: list, read, verify, import, sum up, delete, archive and repair. */
export type { Collected, CollectedRun, GcOptions } from './app/runs/gc.ts';
export type { Recovered } from './app/runs/maintain.ts';
export { openStore, type Store, type StoreOptions } from './app/runs/open-store.ts';
export type { ListOptions, RunFilter, TimeOption } from './app/runs/query.ts';
export type { Reindexed } from './app/runs/reindex.ts';
export type { Removed } from './app/runs/remove.ts';
export type { Restored } from './app/runs/restore.ts';
export type { Stats, StatsRow } from './app/runs/retention.ts';
export type {
  LockOptions,
  RecoverOptions,
  RestoreOptions,
  StatsOptions,
} from './app/runs/store-options.ts';
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
export type { KeptRun } from './store/journal/gc.ts';
