/** The parts of an eval: tests, their assertions, and the results of graders. Graders read transcripts only (EV-1). */
import type { Transcript } from '../model/transcript.ts';

export const THRESHOLD = 0.8;

export type Verdict = 'pass' | 'fail';

/** One fact behind a verdict. */
export interface Evidence {
  text: string;
  /** Whether it supports the assertion. */
  passed: boolean;
  /** The call that shows it; null if no single call does. */
  call_id: string | null;
  /** Helps to see why, such as the call that comes nearest to an expected one. */
  detail?: string;
}

export interface Grade {
  /** 0 to 1. */
  score: number;
  reason: string;
  evidence: Evidence[];
  /** The grader could not judge: never a pass, even when negated. */
  broken?: true;
  /** Grades of the members, if there are any. */
  assertions?: AssertionResult[];
}

export interface AssertionResult extends Grade {
  type: string;
  name: string;
  verdict: Verdict;
  weight: number;
  required: boolean;
}

/** The type-specific part of an assertion. */
export type Options = Readonly<Record<string, unknown>>;

export interface Assertion {
  type: string;
  name: string;
  weight: number;
  /** The score below which the whole test fails; null if the assertion only counts towards the score. */
  required: number | null;
  /** The minimum score of a passed assertion. */
  min_score: number;
  negate: boolean;
  options: Options;
}

export interface Message {
  role: string;
  content: string;
}

export const STRATEGIES = ['pass_all', 'pass_any', 'mean'] as const;

export interface Repeat {
  count: number;
  /** When a repeated test passes: every run, one run, or the mean score over the threshold. */
  strategy: (typeof STRATEGIES)[number];
}

export interface EvalTest {
  id: string;
  /** Line in its file. */
  line: number;
  input: readonly Message[];
  criteria: string | null;
  expected_output: unknown;
  metadata: Readonly<Record<string, unknown>>;
  assertions: readonly Assertion[];
  threshold: number;
  repeat: Repeat;
  /** From the file; a flag takes precedence. */
  target: string | null;
  timeout_ms: number | null;
  /** A folder that is copied for each run; null if runs work in the folder of their target. */
  workspace: string | null;
}

export interface EvalFile {
  path: string;
  name: string;
  tests: readonly EvalTest[];
  /** Known fields that have no effect in tacho. */
  notes: readonly string[];
}

export interface CommandResult {
  /** Why it gave no answer; null if it ended normally. */
  failure: string | null;
  code: number | null;
  stdout: string;
  stderr: string;
  /** Bytes at the beginning of stdout and stderr that were not kept. */
  dropped: number;
}

export interface ModelRequest {
  api: 'openai' | 'anthropic';
  base_url: string | null;
  model: string;
  api_key_env: string | null;
  system: string;
  prompt: string;
  temperature: number | null;
  timeout_ms: number;
  retries: number;
}

/** Effects that graders may have. Nothing here rejects: a failure is part of the result. */
export interface Tools {
  /** Redacts a value of the run. Call it before any part is shown or sent. */
  safe<T>(value: T): T;
  /** One answer per text. `failure`: why there are none, such as a pattern that took too long. */
  matches(
    pattern: string,
    flags: string,
    texts: readonly string[],
  ): Promise<{ matched: boolean[]; failure: string | null }>;
  run(request: {
    command: readonly string[];
    cwd: string | null;
    timeout_ms: number;
    input: string;
    /** Additional environment variables of the command. */
    env: readonly string[];
    /** Handling of too much output: `refuse` ends the command, `tail` keeps the last part. */
    much_output: 'refuse' | 'tail';
  }): Promise<CommandResult>;
  ask(request: ModelRequest): Promise<{ text: string; failure: string | null }>;
}

/** A file in the folder of a run. */
export interface FileFacts {
  /** Why nothing is known about the file; null if the other fields are valid. */
  failure: string | null;
  exists: boolean;
  /** Whether the run changed, created or deleted it; null if unknown. */
  changed: boolean | null;
  /** Null if it is not a readable text file. */
  text: string | null;
}

/** The folder that a run worked in, as far as graders may use it. */
export interface RunPlace {
  /** Its normalised paths, as recorded and without symbolic links; empty when unknown. */
  roots: readonly string[];
  /** Where commands may run; null for nowhere, with the reason in `refusal`. */
  folder: string | null;
  refusal: string;
  /** `path` is relative to the folder and inside it. */
  file(path: string): FileFacts;
}

export interface GradeContext {
  transcript: Transcript;
  place: RunPlace;
  test: EvalTest;
  tools: Tools;
  /** Grades a member of a composite. */
  grade(member: Assertion): Promise<AssertionResult>;
}

export type Grader = (options: Options, context: GradeContext) => Grade | Promise<Grade>;

export const fact = (text: string, passed: boolean, call_id: string | null = null): Evidence => ({
  text,
  passed,
  call_id,
});

/** A fact on one line. */
export const factText = ({ text, detail }: Evidence) =>
  detail === undefined ? text : `${text}; ${detail}`;

export const broken = (reason: string): Grade => ({ score: 0, reason, evidence: [], broken: true });

/** The weighted mean; 0 without any weight, because nothing is asserted. */
export function weightedScore(parts: readonly { score: number; weight: number }[]): number {
  const weight = parts.reduce((sum, part) => sum + part.weight, 0);
  if (weight === 0) return 0;
  return parts.reduce((sum, part) => sum + part.score * part.weight, 0) / weight;
}
