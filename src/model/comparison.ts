/** The comparison of runs, call by call (RR-1, RR-2). */
import { type Static, Type } from 'typebox';
import { Artifact } from './outcome.ts';
import {
  Completeness,
  CostOrigin,
  Count,
  Nullable,
  NullableInteger,
  NullableString,
  OneOf,
} from './parts.ts';
import { CALL_MARKS, CALL_STATUSES, EXIT_REASONS } from './words.ts';

const Index = Type.Integer({ minimum: 0 });

export const ComparedRun = Type.Object({
  run_id: Type.String(),
  agent: Type.String(),
  model: NullableString,
  project: NullableString,
  started_ms: NullableInteger,
  /** False: the run has no end record yet; its calls so far are compared. */
  finished: Type.Boolean(),
  success: Type.Boolean(),
  exit_reason: OneOf(EXIT_REASONS),
  duration_ms: NullableInteger,
  cost_usd: Nullable(Type.Number()),
  cost_source: CostOrigin,
  tokens: NullableInteger,
  steps: Count,
  calls: Count,
  /** Calls beyond the limit, which are not compared. */
  calls_not_compared: Count,
  failed_calls: Count,
  denied_calls: Count,
  files: Type.Array(Artifact),
  completeness: Completeness,
});
/** The figures of one of the compared runs; null is unknown. */
export type ComparedRun = Static<typeof ComparedRun>;

export const CallRef = Type.Object({
  /** Its number in the run, from 1, in the order of requests. */
  number: Type.Integer({ minimum: 1 }),
  /** The number of the event that requested it. */
  seq: Type.Integer({ minimum: 1 }),
  call_id: Type.String(),
  tool: Type.String(),
  /** The command, the path, or the most informative field, shortened. */
  about: Type.String(),
  status: OneOf(CALL_STATUSES),
  exit_code: NullableInteger,
  /** The call that started the sub-agent of this call. */
  parent_call_id: NullableString,
});
/** A call of one of the compared runs. */
export type CallRef = Static<typeof CallRef>;

const Change = Nullable(OneOf(['equal', 'changed'] as const));

export const AlignedCall = Type.Object({
  /** equal: in both; changed: in both, with another input or result; moved: in both, elsewhere; added, removed. */
  mark: OneOf(CALL_MARKS),
  /** The call of the reference; null if it is added. */
  a: Nullable(CallRef),
  /** The call of the other run; null if it is removed. */
  b: Nullable(CallRef),
  /** Null if only one run has the call. */
  input: Change,
  /** Null if a result is unknown, or only one run has the call. */
  result: Change,
});
/** A call of the reference and the same call of another run, or a call of only one of them. */
export type AlignedCall = Static<typeof AlignedCall>;

export const CallAlignment = Type.Object({
  calls: Type.Array(AlignedCall),
  counts: Type.Object({ equal: Count, changed: Count, moved: Count, added: Count, removed: Count }),
  /** Index of the first of `calls` that is not equal; null if there is none. */
  first_divergence: Nullable(Index),
  /** 0: the same calls in the same order; 1: no call in common. Results do not count. */
  distance: Type.Number(),
});
/** Two runs call by call. */
export type CallAlignment = Static<typeof CallAlignment>;

export const Spread = Type.Object({
  /** Runs with a known figure, and runs without one. */
  known: Count,
  unknown: Count,
  min: Nullable(Type.Number()),
  q1: Nullable(Type.Number()),
  median: Nullable(Type.Number()),
  q3: Nullable(Type.Number()),
  max: Nullable(Type.Number()),
});
/** The distribution of a figure over the runs with a known one; quartiles are interpolated. */
export type Spread = Static<typeof Spread>;

export const Parting = Type.Object({
  /** The number of shared calls before this place. */
  after: Count,
  /** The different ways, each with its runs. */
  ways: Type.Array(
    Type.Object({
      /** Indices of runs. */
      runs: Type.Array(Index),
      /** The number of calls up to the next shared call. */
      count: Count,
      /** The first of these calls, of the first of the runs. */
      calls: Type.Array(CallRef),
    }),
  ),
});
/** A place between two calls that all runs share, where the runs do different things. */
export type Parting = Static<typeof Parting>;

export const ComparisonSchema = Type.Object({
  schema_version: Type.Literal('tacho.comparison.v1'),
  runs: Type.Array(ComparedRun),
  /** The run that the others are aligned with: the first of two runs, the medoid of more. */
  reference: Index,
  /** The run with the smallest sum of distances to the others; null for two runs. */
  medoid: Nullable(Index),
  /** By row and column: the distances between all runs. */
  distances: Type.Array(Type.Array(Type.Number())),
  /** Whether any run differs from the reference in a call. */
  diverges: Type.Boolean(),
  /** Whether outputs of calls were compared; false for runs of different agents, or on request. */
  outputs_compared: Type.Boolean(),
  /** The other runs, each aligned with the reference. */
  alignments: Type.Array(Type.Object({ run: Index, ...CallAlignment.properties })),
  /** The calls of the reference that every run has, in the same order. */
  shared: Type.Array(CallRef),
  partings: Type.Array(Parting),
  spread: Type.Object({
    cost_usd: Spread,
    duration_ms: Spread,
    tokens: Spread,
    steps: Spread,
    calls: Spread,
  }),
});
/** Two or more runs compared call by call. */
export type RunComparison = Static<typeof ComparisonSchema>;
