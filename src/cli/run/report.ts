/** A run for CI: JUnit XML, annotations and the step summary of GitHub Actions. Pure. */
import type { AgentRunResult } from '../../app/run/run-agent.ts';
import { costText, countText, durationText, knownText, plural } from '../../lib/figures.ts';
import { own } from '../../lib/own.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { CallStatus } from '../../model/words.ts';
import { type Annotation, markdownText, summaryMarkdown } from '../../projections/github.ts';
import { junitXml } from '../../projections/junit.ts';
import { callName, type ReportedCall } from '../../projections/run-report.ts';

type Reported = Pick<AgentRunResult, 'outcome' | 'report' | 'caught'>;

/** The failure of the run, or the conditions of --fail-on that it meets; null: neither. */
function failureOf({ outcome, caught }: Reported): string | null {
  if (!outcome.success) return errorOf(outcome);
  const found = caught.map(({ condition, message }) => `--fail-on ${condition}: ${message}`);
  return found.length === 0 ? null : found.join('; ');
}

const errorOf = ({ error_details, exit_reason }: RunOutcome) =>
  error_details?.message ?? exit_reason;

function titleOf(reported: Reported): string {
  const { agent, exit_reason, success } = reported.outcome;
  const caught = success && failureOf(reported) !== null;
  return `tacho run ${agent}: ${caught ? `${exit_reason}, but --fail-on` : exit_reason}`;
}

/** Words for people; of a call that succeeded, or that may have, there is nothing to say. */
const ENDS: Readonly<Partial<Record<CallStatus, string>>> = {
  error: 'failed',
  timeout: 'timed out',
  denied: 'denied',
  cancelled: 'cancelled',
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

/** A call that failed is not a failed test: the agent may have expected it. */
export function junitOfRun(reported: Reported): string {
  const { outcome } = reported;
  const { agent, metrics, metadata, completeness, warnings } = outcome;
  const message = failureOf(reported);
  const bad = badCalls(reported).map(callLine);
  const kind = outcome.exit_reason === 'capture_error' ? 'error' : 'failure';
  const text = [message, ...bad, ...warnings].join('\n');
  return junitXml('tacho run', [
    {
      name: `tacho run ${agent}`,
      properties: {
        run_id: outcome.run_id,
        exit_reason: outcome.exit_reason,
        completeness: completeness.grade,
        ...(metrics.cost !== null && { cost_usd: String(metrics.cost) }),
        ...(metrics.tokens_used !== null && { tokens: String(metrics.tokens_used) }),
        tool_calls: String(metrics.tool_calls_count),
        attempt: String(metadata.attempt_number),
        ...metadata.labels,
      },
      cases: [
        {
          name: (metadata.initial_prompt ?? 'run').trim().split('\n')[0]?.slice(0, 200) || 'run',
          classname: agent,
          duration_ms: metrics.duration_ms,
          problem: message === null ? null : { kind, message, text },
          output: [outcome.message, ...bad].filter((line) => line !== '').join('\n'),
        },
      ],
    },
  ]);
}

/** One for the run if it failed, one per call that did not succeed, one per warning, one for an incomplete record. */
export function annotationsOfRun(reported: Reported): Annotation[] {
  const { outcome, report, caught } = reported;
  const failure = failureOf(reported);
  const causes = new Set(caught.flatMap(({ calls }) => calls));
  const calls = badCalls(reported).map((call): Annotation => {
    const level = causes.has(call) ? 'error' : 'warning';
    return { level, title: `${call.tool} ${own(ENDS, call.status)}`, message: callLine(call) };
  });
  const { grade, gaps } = outcome.completeness;
  const record = grade === 'complete' ? [] : [`the record is ${grade}: ${gaps.join(', ')}`];
  const notices = [...report.warnings, ...record].map(
    (message): Annotation => ({ level: 'notice', title: 'tacho', message }),
  );
  const run: Annotation[] =
    failure === null ? [] : [{ level: 'error', title: titleOf(reported), message: failure }];
  return [...run, ...calls, ...notices];
}

const CALLS_SHOWN_MAX = 100;

export function summaryOfRun(reported: Reported): string {
  const { outcome, report } = reported;
  const { metrics, completeness, tool_calls, artifacts } = outcome;
  const failure = failureOf(reported);
  const result = failure === null ? 'ok' : `${outcome.exit_reason}: ${failure}`;
  const facts: [string, string][] = [
    ['agent', markdownText(`${outcome.agent} ${outcome.agent_version ?? ''}`)],
    ['model', markdownText(metrics.model_name ?? 'not known')],
    ['result', markdownText(result)],
    ['duration', knownText(metrics.duration_ms, durationText)],
    ['cost', knownText(metrics.cost, costText)],
    ['tokens', knownText(metrics.tokens_used, countText)],
    ['record', markdownText([completeness.grade, ...completeness.gaps].join(', '))],
    ['run', `\`${outcome.run_id}\``],
  ];
  const rows = report.calls
    .slice(0, CALLS_SHOWN_MAX)
    .map((call) => [
      call.status === 'ok' ? '✅' : '❌',
      markdownText(callName(call)),
      markdownText(endOf(call)),
      markdownText(call.reason ?? ''),
      knownText(call.duration_ms, durationText),
    ]);
  const more = tool_calls.length - rows.length;
  const files = artifacts
    .slice(0, CALLS_SHOWN_MAX)
    .map(({ path, operation }) => [markdownText(path), operation]);
  return summaryMarkdown([
    { title: markdownText(titleOf(reported)), table: { head: ['', ''], rows: facts } },
    ...(outcome.message === '' ? [] : [{ text: `> ${markdownText(outcome.message, 2000)}` }]),
    ...(rows.length === 0
      ? []
      : [
          {
            text: `${callsText(reported)}${more > 0 ? `, the first ${rows.length}` : ''}:`,
            table: { head: ['', 'call', 'status', 'reason', 'duration'], rows },
          },
        ]),
    ...(files.length === 0 ? [] : [{ table: { head: ['file', ''], rows: files } }]),
  ]);
}

/** `10 calls, 1 failed, 2 denied`. */
function callsText({ outcome, report }: Reported): string {
  const parts = Object.entries(ENDS).flatMap(([status, end]) => {
    const count = report.counts.get(status as CallStatus) ?? 0;
    return count > 0 ? [`${count} ${end}`] : [];
  });
  return [plural(outcome.tool_calls.length, 'call'), ...parts].join(', ');
}
