/** The facts of a run that its text begins with. */
import type { Artifact, OutcomeCall, RunOutcome } from '../model/outcome.ts';
import type { Completeness, Usage } from '../model/parts.ts';
import type { CallStatus, CostSource, ExitReason, TerminalEvidence } from '../model/words.ts';
import type { TranscriptView } from './transcript.ts';

/** The facts of a run, from its outcome or from its transcript. */
export interface RunHead {
  run_id: string;
  agent: string;
  model: string | null;
  session_id: string | null;
  project: string | null;
  labels: Readonly<Record<string, string>>;
  prompt: string | null;
  started_ms: number | null;
  duration_ms: number | null;
  success: boolean;
  exit_reason: ExitReason;
  evidence: TerminalEvidence;
  error: string | null;
  completeness: Completeness;
  steps: number;
  calls: number;
  /** Null when unknown, because not all calls are listed. */
  failed: number | null;
  denied: number | null;
  usage: Usage;
  cost: number | null;
  cost_source: CostSource;
  files: readonly Artifact[];
  skills: readonly string[];
  warnings: readonly string[];
}

const isFailed = (status: CallStatus) => status === 'error' || status === 'timeout';
const isDenied = (status: CallStatus) => status === 'denied';

function countsOf(calls: readonly Pick<OutcomeCall, 'status'>[], total: number) {
  const counted = (holds: (status: CallStatus) => boolean) =>
    calls.length === total ? calls.filter(({ status }) => holds(status)).length : null;
  return { calls: total, failed: counted(isFailed), denied: counted(isDenied) };
}

const named = (agent: string, version: string | null) => `${agent} ${version ?? ''}`.trim();

export function headOfOutcome(outcome: RunOutcome): RunHead {
  const { metrics, metadata, tool_calls } = outcome;
  return {
    run_id: outcome.run_id,
    agent: named(outcome.agent, outcome.agent_version),
    model: metrics.model_name,
    session_id: outcome.session_id,
    project: metadata.project?.path ?? null,
    labels: metadata.labels,
    prompt: metadata.initial_prompt,
    started_ms: metrics.start_time_ms,
    duration_ms: metrics.duration_ms,
    success: outcome.success,
    exit_reason: outcome.exit_reason,
    evidence: outcome.terminal_evidence,
    error: outcome.error_details?.message ?? null,
    completeness: outcome.completeness,
    steps: metrics.steps,
    ...countsOf(tool_calls, metrics.tool_calls_count),
    usage: metrics.tokens,
    cost: metrics.cost,
    cost_source: metrics.cost_source,
    files: outcome.artifacts,
    skills: outcome.skills_used,
    warnings: newWarnings(outcome),
  };
}

/** A transcript file has no changed files, labels or warnings. */
export function headOfTranscript({ facts, count, at }: TranscriptView): RunHead {
  const calls = Array.from({ length: count }, (_, index) => at(index).tool_calls).flat();
  return {
    run_id: facts.run_id,
    agent: named(facts.agent, facts.agent_version),
    model: facts.model,
    session_id: facts.session_id,
    project: facts.source.cwd,
    labels: {},
    prompt: null,
    started_ms: facts.start_time_ms,
    duration_ms: facts.duration_ms,
    success: facts.success,
    exit_reason: facts.exit_reason,
    evidence: facts.terminal_evidence,
    error: null,
    completeness: facts.completeness,
    steps: facts.steps,
    ...countsOf(calls, facts.tool_calls_count),
    usage: facts.token_usage,
    cost: facts.cost_usd,
    cost_source: facts.cost_source,
    files: [],
    skills: facts.skills_used,
    warnings: [],
  };
}

/** The warnings that the line about the record does not include. */
function newWarnings({ warnings, completeness }: RunOutcome): string[] {
  const known = new Set(completeness.gaps.map((gap) => `gap: ${gap}`));
  const plain = /^no_end_record\b/;
  return warnings
    .filter((text) => !known.has(text) && !plain.test(text))
    .map((text) => text.replace(/^gap: /, ''));
}
