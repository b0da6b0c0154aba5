/** Schema pieces that several records share. */
import { type Static, type TSchema, Type } from 'typebox';
import {
  APPROVE_MODES,
  COMPLETENESS_GRADES,
  COST_SOURCES,
  OUTPUT_MODES,
  TERMINAL_EVIDENCES,
} from './words.ts';

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
export const OneOf = <const T extends readonly string[]>(words: T) =>
  Type.Unsafe<T[number]>(Type.Enum([...words]));
export const Count = Type.Integer({ minimum: 0 });
export const NullableString = Nullable(Type.String());
export const NullableInteger = Nullable(Type.Integer());

/** Token figures of a run. A figure that the agent does not report is null, never 0. `input` excludes cached tokens. */
export const Usage = Type.Object({
  input: NullableInteger,
  output: NullableInteger,
  cache_read: NullableInteger,
  cache_write: NullableInteger,
  reasoning: NullableInteger,
});
/** Tokens by kind; null is unknown. */
export type Usage = Static<typeof Usage>;

/** How complete the record is. `filled` names parts that were taken from the session file, not from the live stream. */
export const Completeness = Type.Object({
  grade: OneOf(COMPLETENESS_GRADES),
  gaps: Type.Array(Type.String()),
  filled: Type.Array(Type.String()),
});
/** How complete a record is, the gaps in it, and the gaps that the session file filled. */
export type Completeness = Static<typeof Completeness>;

/** The project of a run: the root of its git work tree, otherwise its working directory. */
export const Project = Type.Object({
  /** Absolute. */
  path: Type.String(),
  /** URL of the git remote, without credentials. */
  remote: NullableString,
});
export type Project = Static<typeof Project>;

/** The run is stopped if it exceeds one of these. Null: no limit. */
export const RunLimits = Type.Object({
  cost_usd: Nullable(Type.Number()),
  tokens: NullableInteger,
  tool_calls: NullableInteger,
  steps: NullableInteger,
  /** The same call with the same input this many times. */
  same_calls: NullableInteger,
});
/** The limits of a run; null is no limit. */
export type RunLimits = Static<typeof RunLimits>;

/** The number of this attempt, and the total duration of earlier attempts. */
export const RunAttempt = Type.Object({
  number: Type.Integer({ minimum: 1 }),
  earlier_ms: Count,
  first_run_id: NullableString,
});
export type RunAttempt = Static<typeof RunAttempt>;

/** The options of `run`, stored with the run (RE-18). The fingerprint excludes presentation fields. */
export const RunConfig = Type.Object({
  agent: Type.String(),
  target: NullableString,
  model: NullableString,
  approve: OneOf(APPROVE_MODES),
  /** Absolute path of the program that was started. Absent in records of earlier versions, and if none was started. */
  program: Type.Optional(Type.String()),
  /** The requested replacement of the agent's own program: its name or path, and leading arguments. */
  command: Type.Optional(Type.Array(Type.String())),
  args: Type.Array(Type.String()),
  env_names: Type.Array(Type.String()),
  resume: NullableString,
  timeout_ms: NullableInteger,
  /** Absent in records written before limits existed. */
  limits: Type.Optional(RunLimits),
  attempt: Type.Optional(RunAttempt),
  /** Whether others could send input to the agent during the run. */
  accept_input: Type.Optional(Type.Literal(true)),
  /** There was no git work tree to compare: only changed files that calls name are known. */
  without_git: Type.Optional(Type.Literal(true)),
  output_mode: OneOf(OUTPUT_MODES),
  stream: Type.Boolean(),
  tui: Type.Boolean(),
  events_path: NullableString,
  final_output_path: NullableString,
  labels: Type.Record(Type.String(), Type.String()),
});
/** The options that a run was started with. */
export type RunConfig = Static<typeof RunConfig>;

export const Evidence = OneOf(TERMINAL_EVIDENCES);
export const CostOrigin = OneOf(COST_SOURCES);
