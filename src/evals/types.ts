/** What an eval is made of: tests, what they assert, and what graders say. Graders read transcripts only (EV-1). */
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
  /** Where it stands in its file. */
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
  /** A folder of which each run gets a copy to work in; null: runs work where their target says. */
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

/** What graders may do beside thinking. Nothing here rejects: what went wrong is told. */
export interface Tools {
  /** A value of the run without its secrets: to be asked for before a part of it is shown or sent. */
  safe<T>(value: T): T;
  /** Null: no match; a text in `failure`: not finished in time. */
  matches(
    pattern: string,
    flags: string,
    text: string,
  ): Promise<{ matched: boolean; failure: string | null }>;
  run(request: {
    command: readonly string[];
    cwd: string | null;
    timeout_ms: number;
    input: string;
    /** Variables that the command gets beside the usual ones. */
    env: readonly string[];
  }): Promise<CommandResult>;
  ask(request: ModelRequest): Promise<{ text: string; failure: string | null }>;
}

export interface GradeContext {
  transcript: Transcript;
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
