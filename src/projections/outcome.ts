/**
 * Events → RunOutcome: the same fields whether the run succeeded, failed or was never finished (RO-1).
 * With `onCall` the fold keeps no finished call, so that memory stays flat for any number of events.
 */
import { LIMITS } from '../lib/limits.ts';
import type { DataOf, Event, EventOf } from '../model/event.ts';
import type { RunOutcome } from '../model/outcome.ts';
import type { Completeness, Usage } from '../model/parts.ts';
import { OUTCOME_SCHEMA } from '../model/words.ts';
import { createArtifactFold } from './artifacts.ts';
import { CallFold, type CallPatch, type OutcomeOptions } from './outcome-calls.ts';
import { createSkillFold } from './skills.ts';
import { createWarningFold } from './warnings.ts';

export type { CallPatch, OutcomeOptions } from './outcome-calls.ts';

export interface OutcomeFold {
  push(event: Event): void;
  /** The outcome so far. Calls still open are ended here: cancelled in a finished run, else unknown. */
  finish(): RunOutcome;
  /** Late changes of calls already given to `onCall`, by index. */
  readonly patches: ReadonlyMap<number, CallPatch>;
}

export function createOutcomeFold(options: OutcomeOptions): OutcomeFold {
  const calls = new CallFold(options);
  const artifacts = createArtifactFold();
  const skills = createSkillFold();
  const warnings = createWarningFold();
  const facts = createFacts();
  return {
    patches: calls.patches,
    push(event) {
      calls.push(event);
      skills.push(event);
      warnings.push(event);
      takeFacts(facts, event);
      if (event.kind === 'file_changed') artifacts.push(event.data);
      else if (event.kind === 'run_started') artifacts.base(event.data.cwd);
      else if (event.kind === 'session_started') artifacts.base(event.data.cwd);
    },
    finish() {
      const end = facts.finished;
      calls.closeOpen(end === null ? 'unknown' : 'cancelled');
      const completeness = end === null ? unfinished(facts) : end.data.completeness;
      const extra = overflowGaps(artifacts.dropped(), skills.dropped(), calls, facts);
      return {
        schema_version: OUTCOME_SCHEMA,
        run_id: facts.run_id,
        session_id: sessionOf(facts),
        agent: facts.started?.data.agent ?? '',
        agent_version: facts.agent_version,
        success: end?.data.ok ?? false,
        exit_reason: end?.data.exit_reason ?? 'incomplete',
        terminal_evidence: end?.data.terminal_evidence ?? 'none',
        completeness,
        message: end?.data.final_output ?? facts.text.value.trim(),
        error_details: errorDetails(end),
        artifacts: artifacts.list(),
        tool_calls: calls.list(),
        skills_used: skills.names(),
        warnings: warnings.list([...completeness.gaps, ...extra]),
        metrics: metricsOf(facts, calls.count),
        metadata: metadataOf(facts),
      };
    },
  };
}

/** What the fold remembers of a run besides its calls; the figures matter only where run_finished never came. */
interface Facts {
  run_id: string;
  first_ms: number | null;
  started: EventOf<'run_started'> | null;
  finished: EventOf<'run_finished'> | null;
  session_id: string | null;
  agent_version: string | null;
  model: string | null;
  prompt: string | null;
  /** The last message, within its limit; `chars` counts all of it. */
  text: { id: string | null; value: string; chars: number };
  usage: Usage;
  cost: number | null;
  steps: number;
  provider_retries: number;
  provider_errors: number;
  events: number;
}

const NO_TEXT: Facts['text'] = { id: null, value: '', chars: 0 };
const NO_USAGE: Usage = {
  input: null,
  output: null,
  cache_read: null,
  cache_write: null,
  reasoning: null,
};

function createFacts(): Facts {
  return {
    run_id: '',
    first_ms: null,
    started: null,
    finished: null,
    session_id: null,
    agent_version: null,
    model: null,
    prompt: null,
    text: NO_TEXT,
    usage: NO_USAGE,
    cost: null,
    steps: 0,
    provider_retries: 0,
    provider_errors: 0,
    events: 0,
  };
}

function takeFacts(facts: Facts, event: Event): void {
  facts.events += 1;
  facts.first_ms ??= event.at_ms;
  if (facts.run_id === '') facts.run_id = event.run_id;
  switch (event.kind) {
    case 'run_started':
      facts.started = event;
      facts.prompt = event.data.prompt ?? facts.prompt;
      takeNames(facts, event.data);
      break;
    case 'session_started':
      takeNames(facts, event.data);
      break;
    case 'step_started':
      facts.steps += 1;
      facts.text = NO_TEXT;
      break;
    case 'message_finished':
      takeMessage(facts, event.data);
      break;
    case 'usage_reported':
      takeUsage(facts, event.data);
      break;
    case 'provider_retried':
      facts.provider_retries += 1;
      break;
    case 'provider_failed':
      facts.provider_errors += 1;
      break;
    case 'run_finished':
      facts.finished = event;
      break;
  }
}

function takeNames(
  facts: Facts,
  names: { session_id: string | null; model: string | null; agent_version: string | null },
): void {
  facts.session_id = names.session_id ?? facts.session_id;
  facts.model = names.model ?? facts.model;
  facts.agent_version = names.agent_version ?? facts.agent_version;
}

function takeMessage(facts: Facts, message: DataOf<'message_finished'>): void {
  if (message.parent_call_id !== null || message.synthetic) return;
  if (message.role === 'user') facts.prompt ??= message.text;
  if (message.role !== 'assistant' || !/\S/.test(message.text)) return;
  const same = message.message_id !== null && message.message_id === facts.text.id;
  const { value, chars } = same ? facts.text : NO_TEXT;
  const more = same ? `\n${message.text}` : message.text;
  const room = LIMITS.final_output_chars_max - chars;
  // Whole or not at all, as in the record of a run: it may not be redacted yet.
  const kept = more.length <= room ? more : chars === 0 ? more.slice(0, room) : '';
  facts.text = { id: message.message_id, value: value + kept, chars: chars + more.length };
}

function takeUsage(facts: Facts, report: DataOf<'usage_reported'>): void {
  const { mode, usage, cost_usd } = report;
  const sum = (a: number | null, b: number | null) =>
    mode === 'total' || a === null || b === null ? (b ?? a) : a + b;
  facts.usage = {
    input: sum(facts.usage.input, usage.input),
    output: sum(facts.usage.output, usage.output),
    cache_read: sum(facts.usage.cache_read, usage.cache_read),
    cache_write: sum(facts.usage.cache_write, usage.cache_write),
    reasoning: sum(facts.usage.reasoning, usage.reasoning),
  };
  facts.cost = sum(facts.cost, cost_usd);
  facts.model = report.model ?? facts.model;
}

function sessionOf(facts: Facts): string | null {
  return facts.finished?.data.session_id ?? facts.session_id;
}

function unfinished(facts: Facts): Completeness {
  const grade = facts.events > 1 ? 'partial' : 'unavailable';
  return { grade, gaps: ['not_finished'], filled: [] };
}

function overflowGaps(
  artifacts: number,
  skills: number,
  calls: CallFold,
  { text }: Facts,
): string[] {
  const { missed, unlisted } = calls;
  const gaps: string[] = [];
  const unsaid = text.chars - text.value.length;
  if (unsaid > 0) gaps.push(`characters of the final output beyond those kept: ${unsaid}`);
  if (artifacts > 0) gaps.push(`changed files beyond the number kept: ${artifacts}`);
  if (skills > 0) gaps.push(`uses of skills beyond the number kept: ${skills}`);
  if (missed > 0) gaps.push(`late updates of calls not known any more: ${missed}`);
  if (unlisted > 0)
    gaps.push(`calls beyond those listed here; the transcript has all: ${unlisted}`);
  return gaps;
}

function errorDetails(end: EventOf<'run_finished'> | null): RunOutcome['error_details'] {
  if (end === null) return { type: 'incomplete', message: 'the record ends before the run did' };
  const { error, exit_reason } = end.data;
  return error === null ? null : { type: exit_reason, message: error };
}

/** Events of a recording without times are all at 0. */
function knownTime(at_ms: number | null): number | null {
  return at_ms === null || at_ms <= 0 ? null : at_ms;
}

function metricsOf(facts: Facts, tool_calls_count: number): RunOutcome['metrics'] {
  const end = facts.finished;
  const tokens = end === null ? facts.usage : (end.data.usage ?? NO_USAGE);
  const known = [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write].filter(
    (figure) => figure !== null,
  );
  const cost = end === null ? facts.cost : end.data.cost_usd;
  return {
    start_time_ms: knownTime(facts.started?.at_ms ?? facts.first_ms),
    end_time_ms: knownTime(end?.at_ms ?? null),
    duration_ms: end?.data.duration_ms ?? null,
    tokens_used: known.length === 0 ? null : known.reduce((sum, figure) => sum + figure, 0),
    tokens: { ...tokens },
    cost,
    cost_source: end?.data.cost_source ?? (cost === null ? 'unknown' : 'agent'),
    model_name: end?.data.model ?? facts.model,
    steps: end?.data.steps ?? facts.steps,
    provider_retries: end?.data.provider_retries ?? facts.provider_retries,
    provider_errors: end?.data.provider_errors ?? facts.provider_errors,
    api_calls_count: null,
    tool_calls_count,
  };
}

function metadataOf(facts: Facts): RunOutcome['metadata'] {
  const config = facts.started?.data.config ?? null;
  const attempt = config?.attempt;
  const took_ms = facts.finished?.data.duration_ms ?? null;
  return {
    session_id: sessionOf(facts),
    attempt_number: attempt?.number ?? 1,
    retry_count: (attempt?.number ?? 1) - 1,
    phase_total_duration_ms: took_ms === null ? null : took_ms + (attempt?.earlier_ms ?? 0),
    initial_prompt: facts.prompt,
    fingerprint: facts.started?.data.fingerprint ?? null,
    output_mode: config?.output_mode ?? null,
    labels: { ...config?.labels },
  };
}
