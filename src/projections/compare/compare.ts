/** Two or more runs side by side: figures, aligned calls, shared calls, distribution and medoid. Pure. */
import type { CallAlignment, ComparedRun, RunComparison } from '../../model/comparison.ts';
import { COMPARISON_SCHEMA } from '../../model/words.ts';
import { type AlignOptions, alignCalls } from './align.ts';
import type { RunFacts } from './call-facts.ts';
import { sharedOf, spreadOf } from './shared.ts';

function comparedOf({ outcome, finished, calls, calls_not_compared }: RunFacts): ComparedRun {
  const { metrics, metadata } = outcome;
  const withStatus = (...statuses: string[]) =>
    calls.filter(({ call }) => statuses.includes(call.status)).length;
  return {
    run_id: outcome.run_id,
    agent: outcome.agent,
    model: metrics.model_name,
    project: metadata.project?.path ?? null,
    started_ms: metrics.start_time_ms,
    finished,
    success: outcome.success,
    exit_reason: outcome.exit_reason,
    duration_ms: metrics.duration_ms,
    cost_usd: metrics.cost,
    cost_source: metrics.cost_source,
    tokens: metrics.tokens_used,
    steps: metrics.steps,
    calls: metrics.tool_calls_count,
    calls_not_compared,
    failed_calls: withStatus('error', 'timeout'),
    denied_calls: withStatus('denied'),
    files: outcome.artifacts,
    completeness: outcome.completeness,
  };
}

/** The index of the run that is nearest to all others; the first of several. */
function medoidOf(distances: readonly (readonly number[])[]): number {
  const sums = distances.map((row) => row.reduce((sum, distance) => sum + distance, 0));
  // Sums of the same distances in another order may differ in the last digits.
  const least = Math.min(...sums) + 1e-9;
  return sums.findIndex((sum) => sum <= least);
}

export function compare(
  facts: readonly RunFacts[],
  { ignoreOutputs = false }: AlignOptions = {},
): RunComparison {
  const runs = facts.map(comparedOf);
  // Agents print the same result differently.
  const outputs_compared = !ignoreOutputs && new Set(runs.map(({ agent }) => agent)).size <= 1;
  const align = (a: number, b: number): CallAlignment =>
    alignCalls(facts[a]?.calls ?? [], facts[b]?.calls ?? [], { ignoreOutputs: !outputs_compared });
  const two = facts.length === 2;
  const first = two ? align(0, 1) : null;
  const distances = runs.map((_, a) =>
    runs.map((_, b) => (a === b ? 0 : b < a ? -1 : (first ?? align(a, b)).distance)),
  );
  for (const [a, row] of distances.entries())
    for (let b = 0; b < a; b++) row[b] = distances[b]?.[a] as number;
  const medoid = two ? null : medoidOf(distances);
  const reference = medoid ?? 0;
  const alignments = runs
    .map((_, run) => run)
    .filter((run) => run !== reference)
    .map((run) => ({ run, ...(first ?? align(reference, run)) }));
  const figures = (figure: (run: ComparedRun) => number | null) => spreadOf(runs.map(figure));
  return {
    schema_version: COMPARISON_SCHEMA,
    runs,
    reference,
    medoid,
    distances,
    diverges: alignments.some(({ first_divergence }) => first_divergence !== null),
    outputs_compared,
    alignments,
    ...sharedOf({ runs: facts.map(({ calls }) => calls), reference, alignments }),
    spread: {
      cost_usd: figures(({ cost_usd }) => cost_usd),
      duration_ms: figures(({ duration_ms }) => duration_ms),
      tokens: figures(({ tokens }) => tokens),
      steps: figures(({ steps }) => steps),
      calls: figures(({ calls }) => calls),
    },
  };
}
