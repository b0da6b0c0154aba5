/**
 * Events → RunOutcome: the same fields whether the run succeeded, failed or was never finished (RO-1).
 * With `onCall` the fold keeps no finished call, so that memory stays flat for any number of events.
 */
import { LIMITS } from '../lib/limits.ts';
import type { DataOf, Event } from '../model/event.ts';
import type { RunOutcome } from '../model/outcome.ts';
import type { Completeness, Project, Usage } from '../model/parts.ts';
import { FinalText, RunFold, tokensUsed } from '../model/run-fold.ts';
import type { MeasuredRun, UsageRow } from '../model/usage.ts';
import { OUTCOME_SCHEMA } from '../model/words.ts';
import { type ArtifactFold, createArtifactFold } from './artifacts.ts';
import { CallFold, type CallPatch, type OutcomeOptions } from './outcome-calls.ts';
import { createSkillFold, type SkillFold } from './skills.ts';
import { UsageRows } from './usage-rows.ts';
import { createWarningFold, type WarningFold } from './warnings.ts';

export type { CallPatch, OutcomeOptions } from './outcome-calls.ts';

export function createOutcomeFold(options: OutcomeOptions): OutcomeFold {
  return outcomeFold({
    run: new RunFold(),
    text: new FinalText(LIMITS.final_output_chars_max),
    calls: new CallFold(options),
    artifacts: createArtifactFold(),
    skills: createSkillFold(options.byte_text),
    warnings: createWarningFold(options.byte_text),
    usage: new UsageRows(),
    facts: { run_id: '', first_ms: null, prompt: null, events: 0 },
  });
}

interface Folds {
  run: RunFold;
  text: FinalText;
  calls: CallFold;
  artifacts: ArtifactFold;
  skills: SkillFold;
  warnings: WarningFold;
  usage: UsageRows;
  facts: Facts;
}

export interface OutcomeFold {
  /** Late changes of calls already given to `onCall`, by index. */
  patches: ReadonlyMap<number, CallPatch>;
  /** A copy that continues separately, for an end that may not be the last. */
  fork(): OutcomeFold;
  push(event: Event): void;
  /** The outcome so far. Calls without an end are cancelled in a finished run, otherwise unknown; `onCall` gets them. */
  finish(): RunOutcome;
  /** The usage of this outcome by time and model. */
  usageOf(outcome: RunOutcome): UsageRow[];
}

function outcomeFold(folds: Folds): OutcomeFold {
  const { run, text, calls, artifacts, skills, warnings, usage, facts } = folds;
  return {
    fork: () =>
      outcomeFold({
        run: run.fork(),
        text: text.fork(),
        calls: calls.fork(),
        artifacts: artifacts.fork(),
        skills: skills.fork(),
        warnings: warnings.fork(),
        usage: usage.fork(),
        facts: { ...facts },
      }),
    patches: calls.patches,
    push(event) {
      run.push(event);
      text.push(event);
      calls.push(event);
      skills.push(event);
      warnings.push(event);
      takeFacts(facts, event);
      if (event.kind === 'file_changed') artifacts.push(event.data);
      else if (event.kind === 'usage_reported') usage.push(event);
      else if (event.kind === 'run_started') artifacts.base(event.data.cwd);
      else if (event.kind === 'session_started') artifacts.base(event.data.cwd);
    },
    finish() {
      const end = run.finished?.data ?? null;
      const { session_id } = run.names;
      const tool_calls = calls.finish(end === null ? 'unknown' : 'cancelled');
      const completeness = end?.completeness ?? unfinished(facts);
      const lost = {
        output: text.missing,
        artifacts: artifacts.dropped(),
        skills: skills.dropped(),
      };
      const gaps = [...completeness.gaps, ...overflowGaps(lost, calls)];
      return {
        schema_version: OUTCOME_SCHEMA,
        run_id: facts.run_id,
        session_id,
        agent: run.started?.data.agent ?? '',
        agent_version: run.agent_version,
        success: end?.ok ?? false,
        exit_reason: end?.exit_reason ?? 'incomplete',
        terminal_evidence: end?.terminal_evidence ?? 'none',
        completeness,
        message: end?.final_output ?? text.value,
        error_details: errorDetails(end),
        artifacts: artifacts.list(),
        tool_calls,
        skills_used: skills.names(),
        warnings: warnings.list(gaps),
        metrics: metricsOf(run, facts, calls.count),
        metadata: metadataOf(run, facts),
      };
    },
    usageOf: (outcome) => usage.rowsOf(outcome),
  };
}

/** The outcome so far, with its usage. */
export function measuredBy(fold: OutcomeFold): MeasuredRun {
  const outcome = fold.finish();
  return { outcome, usage: fold.usageOf(outcome) };
}

/** Facts of a run that only an outcome needs. */
interface Facts {
  run_id: string;
  first_ms: number | null;
  prompt: string | null;
  events: number;
}

const NO_USAGE: Usage = {
  input: null,
  output: null,
  cache_read: null,
  cache_write: null,
  reasoning: null,
};

function takeFacts(facts: Facts, event: Event): void {
  facts.events += 1;
  facts.first_ms ??= event.at_ms;
  if (facts.run_id === '') facts.run_id = event.run_id;
  if (event.kind === 'run_started') facts.prompt = event.data.prompt ?? facts.prompt;
  else if (event.kind === 'message_finished') {
    const { role, parent_call_id, synthetic, text } = event.data;
    // Empty: it was removed, or there is only an image.
    if (role === 'user' && parent_call_id === null && !synthetic) facts.prompt ??= text || null;
  }
}

function unfinished(facts: Facts): Completeness {
  const grade = facts.events > 1 ? 'partial' : 'unavailable';
  return { grade, gaps: ['not_finished'], filled: [] };
}

function overflowGaps(
  lost: { output: number; artifacts: number; skills: number },
  { missed, unlisted }: CallFold,
): string[] {
  const counts: [number, string][] = [
    [lost.output, 'characters of the final output beyond those kept'],
    [lost.artifacts, 'changed files beyond the number kept'],
    [lost.skills, 'uses of skills beyond the number kept'],
    [missed, 'late updates of calls not known any more'],
    [unlisted, 'calls beyond those listed here; the transcript has all'],
  ];
  return counts.filter(([count]) => count > 0).map(([count, what]) => `${what}: ${count}`);
}

function errorDetails(end: DataOf<'run_finished'> | null): RunOutcome['error_details'] {
  if (end === null) return { type: 'incomplete', message: 'the record ends before the run did' };
  return end.error === null ? null : { type: end.exit_reason, message: end.error };
}

/** Events of a recording without times have the time 0. */
export function knownTime(at_ms: number | null): number | null {
  return at_ms !== null && at_ms > 0 ? at_ms : null;
}

function metricsOf(run: RunFold, facts: Facts, tool_calls_count: number): RunOutcome['metrics'] {
  const end = run.finished?.data ?? null;
  const tokens = (end === null ? run.usage.tokens : end.usage) ?? NO_USAGE;
  const cost = end === null ? run.usage.cost_usd : end.cost_usd;
  return {
    start_time_ms: knownTime(run.started?.at_ms ?? facts.first_ms),
    end_time_ms: knownTime(run.finished?.at_ms ?? null),
    duration_ms: end?.duration_ms ?? null,
    tokens_used: tokensUsed(tokens),
    tokens: { ...tokens },
    cost,
    cost_source: end?.cost_source ?? (cost === null ? 'unknown' : 'agent'),
    model_name: run.names.model,
    steps: end?.steps ?? run.step,
    provider_retries: end?.provider_retries ?? run.provider_retries,
    provider_errors: end?.provider_errors ?? run.provider_errors,
    api_calls_count: null,
    tool_calls_count,
  };
}

function metadataOf(run: RunFold, { prompt }: Facts): RunOutcome['metadata'] {
  const config = run.started?.data.config ?? null;
  const attempt = config?.attempt;
  const took_ms = run.finished?.data.duration_ms ?? null;
  return {
    session_id: run.names.session_id,
    attempt_number: attempt?.number ?? 1,
    retry_count: (attempt?.number ?? 1) - 1,
    phase_total_duration_ms: took_ms === null ? null : took_ms + (attempt?.earlier_ms ?? 0),
    initial_prompt: prompt,
    fingerprint: run.started?.data.fingerprint ?? null,
    output_mode: config?.output_mode ?? null,
    labels: { ...config?.labels },
    project: projectOf(run),
  };
}

/** A recording names the folder of the agent, but not its repository. */
function projectOf({ started, names }: RunFold): Project | null {
  const path = names.cwd;
  return started?.data.project ?? (path === null ? null : { path, remote: null });
}
