/** The store of recorded runs: list, read, verify, import, sum up, delete, archive and repair. */
export type { AuditReport } from './app/audit/audit.ts';
export type { AuditOptions } from './app/audit/audit-for-program.ts';
export type { HeadCheck } from './app/audit/chain.ts';
export { type CompareRunsOptions, compareRuns } from './app/compare/compare-for-program.ts';
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
export type { StatedRun } from './app/runs/unfinished.ts';
export type { Verified } from './app/runs/verify.ts';
export {
  parseQuery,
  type Query,
  type QueryField,
  type QueryTerm,
  type RunState,
} from './app/search/parse-query.ts';
export { QueryError } from './app/search/query-error.ts';
export type { SearchHit, SearchPage } from './app/search/search.ts';
export type { SearchOptions } from './app/search/search-for-program.ts';
export type { Snippet } from './app/search/snippet.ts';
export type { ImportOptions } from './app/sessions/import-for-program.ts';
export type { Imported } from './app/sessions/imported.ts';
export type {
  ExplainedCost,
  ExplainedLine,
  ExplainedRun,
  ExplainedUsage,
} from './app/usage/explained.ts';
export type { ExplainUsageOptions, UsageOptions } from './app/usage/usage-for-program.ts';
export { type ErrorCode, TachoError } from './lib/errors.ts';
export type { AuditFinding, AuditSummary, AuditUnread, ChainCheck } from './model/audit.ts';
export type {
  AlignedCall,
  CallAlignment,
  CallRef,
  ComparedRun,
  Parting,
  RunComparison,
  Spread,
} from './model/comparison.ts';
export type {
  DataOf,
  Event,
  EventData,
  EventEnvelope,
  EventKind,
  EventOf,
  Raw,
} from './model/event.ts';
export type { Artifact, OutcomeCall, RunOutcome } from './model/outcome.ts';
export type { Completeness, RunConfig, RunLimits, Usage } from './model/parts.ts';
export type { Transcript, TranscriptCall, TranscriptMessage } from './model/transcript.ts';
export type { RunStateName, UnfinishedState } from './model/unfinished.ts';
export type { AuditCategory, AuditSeverity, CostSource, ExitReason } from './model/words.ts';
export { type AlignOptions, alignCalls } from './projections/compare/align.ts';
export { type CallFacts, callsOf } from './projections/compare/call-facts.ts';
export type { Sketch } from './projections/compare/similarity.ts';
export type {
  UnpricedModel,
  UsageGroup,
  UsageReport,
  UsageSums,
} from './projections/usage/usage-report.ts';
export type { ChainHead } from './store/chain/chain.ts';
export type { RunRow } from './store/index/runs-table.ts';
export type { KeptRun } from './store/journal/gc.ts';
export type { Place as SearchPlace } from './store/search/event-text.ts';
