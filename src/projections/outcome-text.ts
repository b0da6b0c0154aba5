/** The outcome of a run as text for people. Contract: the text contains no foreign control characters. */
import { callsText, costText, durationText, plural, tokensText } from '../lib/figures.ts';
import { localTime } from '../lib/local-time.ts';
import { evidenceText, recordText, resultText } from '../lib/record-words.ts';
import type { Artifact, OutcomeCall, RunOutcome } from '../model/outcome.ts';
import type { Completeness, Usage } from '../model/parts.ts';
import { tokensUsed } from '../model/run-fold.ts';
import type { CallStatus, ExitReason, TerminalEvidence } from '../model/words.ts';
import { dotOf, type HumanStyle, markOf, wrappedLines } from './human-parts.ts';
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
  /** Null if unknown, because not all calls are listed. */
  failed: number | null;
  denied: number | null;
  usage: Usage;
  cost: number | null;
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

const FILES_MAX = 50;
const PROMPT_LINES_MAX = 4;
const NAME_COLUMNS = 10;

type Row = [name: string, value: string | null, paint?: 'red' | 'yellow'];

/** One line per fact. `prompt`: false if the transcript follows, which begins with it. */
export function headText(head: RunHead, style: HumanStyle, { prompt = true } = {}): string {
  const dot = dotOf(style);
  const joined = (...parts: (string | null)[]) =>
    parts.filter((part) => part !== null && part !== '').join(dot);
  const { completeness, duration_ms, cost } = head;
  const labels = Object.entries(head.labels).map(([name, value]) => `${name}=${value}`);
  const rows: Row[] = [
    ['run', head.run_id],
    ['agent', joined(head.agent, head.model)],
    ['session', head.session_id],
    ['project', head.project],
    ['labels', labels.join(', ')],
    [
      'started',
      joined(
        localTime(head.started_ms) ?? 'at an unknown time',
        duration_ms === null ? 'duration unknown' : `took ${durationText(duration_ms)}`,
      ),
    ],
    ['prompt', prompt ? head.prompt : null],
    ['error', head.error, 'red'],
    ['record', recordText(completeness).replace(/^record /, ''), ...unlessWhole(completeness)],
    ['work', joined(plural(head.steps, 'step'), callsText(head.calls, head.failed, head.denied))],
    [
      'usage',
      joined(
        tokensText(tokensUsed(head.usage), head.usage),
        cost === null ? 'cost unknown' : costText(cost),
      ),
    ],
    ['files', filesText(head.files)],
    ['skills', head.skills.join(', ')],
    ...head.warnings.map((text): Row => ['warning', text, 'yellow']),
  ];
  const shown = rows.filter(([, value]) => value !== null && value !== '');
  const at = shown.findIndex(([name]) => name === 'error' || name === 'record');
  const lines = shown.map((row) => rowText(row, style));
  lines.splice(at, 0, resultLine(head, style));
  return lines.join('');
}

const unlessWhole = ({ grade }: Completeness): ['yellow'] | [] =>
  grade === 'complete' ? [] : ['yellow'];

function resultLine({ success, exit_reason, evidence }: RunHead, style: HumanStyle): string {
  const status = success ? 'ok' : exit_reason === 'cancelled' ? 'cancelled' : 'error';
  const mark = style.unicode ? `${markOf(status, style)} ` : '';
  const { bold, dim } = style.colour;
  const text = `${mark}${bold(resultText(exit_reason))} ${dim(`(${evidenceText(evidence)})`)}`;
  return `${dim('result'.padEnd(NAME_COLUMNS))}${text}\n`;
}

function rowText([name, value, paint]: Row, style: HumanStyle): string {
  const most = name === 'prompt' ? PROMPT_LINES_MAX : undefined;
  return wrappedLines(value ?? '', NAME_COLUMNS, style, most)
    .map((line, at) => {
      const head =
        at === 0 ? style.colour.dim(name.padEnd(NAME_COLUMNS)) : ' '.repeat(NAME_COLUMNS);
      return `${head}${paint === undefined ? line : style.colour[paint](line)}\n`;
    })
    .join('');
}

function filesText(files: readonly Artifact[]): string {
  const shown = files.slice(0, FILES_MAX).map(({ path, operation }) => `${path} ${operation}`);
  const more = files.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(', ');
}
