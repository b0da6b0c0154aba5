/** A run for CI: JUnit XML, annotations and the step summary of GitHub Actions. Pure. */
import type { AgentRunResult } from '../../app/run/run-agent.ts';
import {
  callsText,
  countText,
  durationText,
  knownText,
  plural,
  sourcedCost,
} from '../../lib/figures.ts';
import { own } from '../../lib/own.ts';
import { recordText, resultText } from '../../lib/record-words.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { CallStatus } from '../../model/words.ts';
import { incompleteText } from '../../projections/fail-on.ts';
import {
  type Annotation,
  markdownLines,
  markdownText,
  type SummaryPart,
  summaryMarkdown,
} from '../../projections/github.ts';
import { type JunitCase, junitXml } from '../../projections/junit.ts';
import { callName, type ReportedCall } from '../../projections/run-report.ts';

type Reported = Pick<AgentRunResult, 'outcome' | 'report' | 'caught'>;

/** A run that could not be started. Its prompt is not redacted, and not reported. */
export interface NotStarted {
  /** The agent or the target; null if the request names neither. */
  agent: string | null;
  error: string;
}

interface CiReport {
  junit(): string;
  annotations(): Annotation[];
  summary(): string;
}

export function reportOf(run: Reported | NotStarted): CiReport {
  return 'error' in run
    ? {
        junit: () => junitOfNone(run),
        annotations: () => [{ level: 'error', title: titleOfNone(run), message: run.error }],
        summary: () => summaryOfNone(run),
      }
    : {
        junit: () => junitOfRun(run),
        annotations: () => annotationsOfRun(run),
        summary: () => summaryOfRun(run),
      };
}

/** The failure of the run, or the conditions of --fail-on that it meets; null: neither. */
function failureOf({ outcome, caught }: Reported): string | null {
  if (!outcome.success) return outcome.error_details?.message ?? resultText(outcome.exit_reason);
  const found = caught.map(({ condition, message }) => `--fail-on ${condition}: ${message}`);
  return found.length === 0 ? null : found.join('; ');
}

function titleOf({ outcome, caught }: Reported): string {
  const { agent, exit_reason, success } = outcome;
  const found = success ? caught.map(({ condition }) => condition).join(',') : '';
  return `tacho run ${agent}: ${found === '' ? exit_reason : `--fail-on ${found}`}`;
}

const titleOfNone = ({ agent }: NotStarted) => `tacho run ${agent ?? ''}`.trim();

/** Words for people; of a call that succeeded, or that may have, there is nothing to say. */
const ENDS: Readonly<Partial<Record<CallStatus, string>>> = {
  error: 'failed',
  timeout: 'timed out',
  denied: 'denied',
  cancelled: 'cancelled',
};
const SIGNS: Readonly<Partial<Record<CallStatus, string>>> = {
  ok: '✅',
  error: '❌',
  timeout: '❌',
  denied: '🚫',
  cancelled: '⏹️',
};

const badCalls = ({ report }: Reported) =>
  report.calls.filter(({ status }) => own(ENDS, status) !== undefined);

function endOf({ status, exit_code }: ReportedCall): string {
  const end = own(ENDS, status) ?? status;
  return exit_code === null || exit_code === 0 ? end : `${end}, exit code ${exit_code}`;
}

function callLine(call: ReportedCall): string {
  return `${callName(call)}: ${endOf(call)}${call.reason === null ? '' : `: ${call.reason}`}`;
}

const PROMPT_CHARS_MAX = 200;
const caseName = (prompt: string | null) =>
  (prompt ?? '').trim().split('\n', 1)[0]?.slice(0, PROMPT_CHARS_MAX) || 'run';

/** A call that failed is not a failed test: the agent may have expected it. */
function junitOfRun(reported: Reported): string {
  const { outcome, report } = reported;
  const { agent, exit_reason, metrics, metadata, completeness } = outcome;
  const failure = failureOf(reported);
  const message = outcome.success ? failure : `${exit_reason}: ${failure}`;
  const bad = badCalls(reported).map(callLine);
  const kind = exit_reason === 'capture_error' ? 'error' : 'failure';
  const lacks = incompleteText(completeness);
  const text = [message, ...bad, ...report.warnings, ...(lacks === null ? [] : [lacks])].join('\n');
  return suiteOf(
    agent,
    {
      name: caseName(metadata.initial_prompt),
      classname: agent,
      duration_ms: metrics.duration_ms,
      problem: message === null ? null : { kind, message, text },
      output: [outcome.message, ...bad].filter((line) => line !== '').join('\n'),
    },
    {
      run_id: outcome.run_id,
      exit_reason,
      completeness: completeness.grade,
      ...(metrics.cost !== null && { cost_usd: String(Number(metrics.cost.toPrecision(6))) }),
      ...(metrics.cost_source === 'computed' && { cost_source: 'computed' }),
      ...(metrics.tokens_used !== null && { tokens: String(metrics.tokens_used) }),
      tool_calls: String(metrics.tool_calls_count),
      attempt: String(metadata.attempt_number),
      ...metadata.labels,
    },
  );
}

function junitOfNone({ agent, error }: NotStarted): string {
  const problem = { kind: 'error' as const, message: error, text: error };
  const name = agent ?? 'run';
  return suiteOf(name, { name: caseName(null), classname: name, duration_ms: null, problem });
}

function suiteOf(agent: string, test: JunitCase, properties: Record<string, string> = {}): string {
  return junitXml('tacho run', [{ name: `tacho run ${agent}`, properties, cases: [test] }]);
}

/** One for the run if it failed, one per call that did not succeed, one per warning, one for an incomplete record. */
function annotationsOfRun(reported: Reported): Annotation[] {
  const { outcome, report, caught } = reported;
  const failure = failureOf(reported);
  const causes = new Set(caught.flatMap(({ calls }) => calls));
  const calls = badCalls(reported).map((call): Annotation => {
    const level = causes.has(call) ? 'error' : 'warning';
    return { level, title: `${call.tool} ${own(ENDS, call.status)}`, message: callLine(call) };
  });
  const lacks = incompleteText(outcome.completeness);
  const found = caught.some(({ condition }) => condition === 'incomplete');
  const notices = [...report.warnings, ...(lacks === null || found ? [] : [lacks])].map(
    (message): Annotation => ({ level: 'notice', title: 'tacho', message }),
  );
  const run: Annotation[] =
    failure === null ? [] : [{ level: 'error', title: titleOf(reported), message: failure }];
  return [...run, ...calls, ...notices];
}

const ROWS_MAX = 100;
const MESSAGE_CHARS_MAX = 2000;

/** The result and its reason first, then the facts, the agent's last words, its calls, and the files. */
function summaryOfRun(reported: Reported): string {
  const { outcome } = reported;
  const failure = failureOf(reported);
  const title = `${failure === null ? '✅' : '❌'} ${markdownText(titleOf(reported))}`;
  return summaryMarkdown([
    { title, ...(failure !== null && { text: markdownLines(failure, MESSAGE_CHARS_MAX) }) },
    { table: { head: ['', ''], rows: factsOf(outcome) } },
    ...(outcome.message === ''
      ? []
      : [{ text: `> ${markdownLines(outcome.message, MESSAGE_CHARS_MAX)}` }]),
    ...callsPart(reported),
    ...filesPart(outcome),
  ]);
}

function summaryOfNone(none: NotStarted): string {
  const title = `❌ ${markdownText(titleOfNone(none))}: not started`;
  return summaryMarkdown([{ title, text: markdownLines(none.error, MESSAGE_CHARS_MAX) }]);
}

function factsOf({ agent, agent_version, metrics, metadata, completeness, run_id }: RunOutcome) {
  const { attempt_number, labels } = metadata;
  const named = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const facts: [string, string][] = [
    ['task', markdownText(metadata.initial_prompt ?? '', PROMPT_CHARS_MAX)],
    ['agent', markdownText(`${agent} ${agent_version ?? ''}`)],
    ['model', markdownText(metrics.model_name ?? 'unknown')],
    ['attempt', attempt_number > 1 ? String(attempt_number) : ''],
    ['duration', knownText(metrics.duration_ms, durationText)],
    ['cost', knownText(metrics.cost, (usd) => sourcedCost(usd, metrics.cost_source))],
    ['tokens', knownText(metrics.tokens_used, countText)],
    ['record', markdownText(recordText(completeness).replace(/^record /, ''))],
    ['labels', markdownText(named.join(', '))],
    ['run', `\`${run_id}\``],
  ];
  return facts.filter(([, value]) => value !== '');
}

function callsPart({ outcome, report }: Reported): SummaryPart[] {
  const rows = report.calls
    .slice(0, ROWS_MAX)
    .map((call) => [
      own(SIGNS, call.status) ?? '❔',
      markdownText(callName(call)),
      markdownText(endOf(call)),
      markdownText(call.reason ?? ''),
      call.duration_ms === null ? '' : durationText(call.duration_ms),
    ]);
  if (rows.length === 0) return [];
  const count = (...statuses: CallStatus[]) =>
    statuses.reduce((sum, status) => sum + (report.counts.get(status) ?? 0), 0);
  const all = outcome.metrics.tool_calls_count;
  const first = all > rows.length ? `, the first ${rows.length}` : '';
  const text = `${callsText(all, count('error', 'timeout'), count('denied'))}${first}:`;
  return [{ text, table: { head: ['', 'call', 'status', 'reason', 'duration'], rows } }];
}

function filesPart({ artifacts }: RunOutcome): SummaryPart[] {
  if (artifacts.length === 0) return [];
  const rows = artifacts
    .slice(0, ROWS_MAX)
    .map(({ path, operation }) => [markdownText(path), operation]);
  const first = artifacts.length > rows.length ? `, the first ${rows.length}` : '';
  const text = `${plural(artifacts.length, 'file')} changed${first}:`;
  return [{ text, table: { head: ['file', 'change'], rows } }];
}
