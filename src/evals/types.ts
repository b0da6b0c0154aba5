/** The parts of an eval: tests, their assertions, and the results of graders. Graders read transcripts only (EV-1). */
import type { Transcript } from '../model/transcript.ts';

export const THRESHOLD = 0.8;

export type Verdict = 'pass' | 'fail';

/** One fact behind a verdict. */
export interface Evidence {
  text: string;
  /** Whether it speaks for the assertion. */
  passed: boolean;
  /** The call that shows it; null: no single call does. */
  call_id: string | null;
}

export interface Grade {
  /** 0 to 1. */
  score: number;
  reason: string;
  evidence: Evidence[];
  /** The grader could not judge: never a pass, also not when negated. */
  broken?: true;
  /** Of the members, where there are any. */
  assertions?: AssertionResult[];
}

export interface AssertionResult extends Grade {
  type: string;
  name: string;
  verdict: Verdict;
  weight: number;
  required: boolean;
}

/** Of an assertion, what belongs to its type. */
export type Options = Readonly<Record<string, unknown>>;

export interface Assertion {
  type: string;
  name: string;
  weight: number;
  /** The score below which the whole test fails; null: it only counts. */
  required: number | null;
  /** The score from which the assertion passes. */
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
  /** Named by the file; a flag goes before. */
  target: string | null;
  timeout_ms: number | null;
  /** A folder of which each run gets a copy to work in; null: runs work in the folder of their target. */
  workspace: string | null;
}

export interface EvalFile {
  path: string;
  name: string;
  tests: readonly EvalTest[];
  /** Fields that are known and have no effect here. */
  notes: readonly string[];
}

export interface CommandResult {
  /** Why it gave no answer; null: it ended by itself. */
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
  /** A value of the run without its secrets: to be asked for before a part of it is shown or sent. */
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
    /** Variables that the command gets beside the usual ones. */
    env: readonly string[];
    /** Of much output: `refuse` ends the command, `tail` keeps the last part. */
    much_output: 'refuse' | 'tail';
  }): Promise<CommandResult>;
  ask(request: ModelRequest): Promise<{ text: string; failure: string | null }>;
}

/** A file in the folder of a run. */
export interface FileFacts {
  /** Why nothing is known of it; null: the rest is known. */
  failure: string | null;
  exists: boolean;
  /** Whether the run changed, created or deleted it; null: not known. */
  changed: boolean | null;
  /** Null: it is no readable text file. */
  text: string | null;
}

/** The folder that a run worked in, as far as graders may use it. */
export interface RunPlace {
  /** Its paths, clean, as recorded and without symbolic links; none: not known. */
  roots: readonly string[];
  /** Where commands may be started; null: nowhere, as `refusal` says. */
  folder: string | null;
  refusal: string;
  /** `path` is relative to the folder and stays inside of it. */
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

export const broken = (reason: string): Grade => ({ score: 0, reason, evidence: [], broken: true });

/** The weighted mean. Without any weight: nothing is asserted, which is no success. */
export function weightedScore(parts: readonly { score: number; weight: number }[]): number {
  const weight = parts.reduce((sum, part) => sum + part.weight, 0);
  if (weight === 0) return 0;
  return parts.reduce((sum, part) => sum + part.score * part.weight, 0) / weight;
}
