/** A run for CI: JUnit XML, annotations and the step summary of GitHub Actions. Pure. */
import { costText, countText, durationText, knownText, plural } from '../../lib/figures.ts';
import type { OutcomeCall, RunOutcome } from '../../model/outcome.ts';
import { type Annotation, markdownText, summaryMarkdown } from '../../projections/github.ts';
import { junitXml } from '../../projections/junit.ts';

const titleOf = ({ agent, exit_reason }: RunOutcome) => `tacho run ${agent}: ${exit_reason}`;
const errorOf = ({ error_details, exit_reason }: RunOutcome) =>
  error_details?.message ?? exit_reason;

/** A call that did not go well is no failed test: the agent may have meant it to fail. */
export function junitOfRun(outcome: RunOutcome): string {
  const { agent, success, metrics, metadata, completeness, warnings } = outcome;
  const text = [errorOf(outcome), ...warnings].join('\n');
  const kind = outcome.exit_reason === 'capture_error' ? 'error' : 'failure';
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
          problem: success ? null : { kind, message: errorOf(outcome), text },
          output: outcome.message,
        },
      ],
    },
  ]);
}

const badCalls = ({ tool_calls }: RunOutcome) =>
  tool_calls.filter(({ status }) => status !== 'ok' && status !== 'unknown');

function endOf({ status, exit_code }: OutcomeCall): string {
  return exit_code === null ? status : `${status}, exit code ${exit_code}`;
}

export function annotationsOfRun(outcome: RunOutcome): Annotation[] {
  const failure: Annotation[] = outcome.success
    ? []
    : [{ level: 'error', title: titleOf(outcome), message: errorOf(outcome) }];
  const calls = badCalls(outcome).map((call): Annotation => {
    const message = `${call.name} (${call.id}): ${endOf(call)}`;
    return { level: 'warning', title: `${call.name} did not go well`, message };
  });
  const warnings = outcome.warnings.map(
    (message): Annotation => ({ level: 'notice', title: 'tacho', message }),
  );
  return [...failure, ...calls, ...warnings];
}

const CALLS_SHOWN_MAX = 100;

export function summaryOfRun(outcome: RunOutcome): string {
  const { metrics, completeness, tool_calls, artifacts } = outcome;
  const facts: [string, string][] = [
    ['agent', markdownText(`${outcome.agent} ${outcome.agent_version ?? ''}`)],
    ['model', markdownText(metrics.model_name ?? 'not known')],
    [
      'result',
      markdownText(outcome.success ? 'ok' : `${outcome.exit_reason}: ${errorOf(outcome)}`),
    ],
    ['duration', knownText(metrics.duration_ms, durationText)],
    ['cost', knownText(metrics.cost, costText)],
    ['tokens', knownText(metrics.tokens_used, countText)],
    ['record', markdownText([completeness.grade, ...completeness.gaps].join(', '))],
    ['run', `\`${outcome.run_id}\``],
  ];
  const rows = tool_calls
    .slice(0, CALLS_SHOWN_MAX)
    .map((call) => [
      call.status === 'ok' ? '✅' : '❌',
      markdownText(call.name),
      markdownText(endOf(call)),
      knownText(call.duration_ms, durationText),
    ]);
  const more = tool_calls.length - rows.length;
  const files = artifacts
    .slice(0, CALLS_SHOWN_MAX)
    .map(({ path, operation }) => [markdownText(path), operation]);
  return summaryMarkdown([
    { title: markdownText(titleOf(outcome)), table: { head: ['', ''], rows: facts } },
    ...(outcome.message === '' ? [] : [{ text: `> ${markdownText(outcome.message, 2000)}` }]),
    ...(rows.length === 0
      ? []
      : [
          {
            text: `${plural(tool_calls.length, 'call')}${more > 0 ? `, the first ${rows.length}` : ''}:`,
            table: { head: ['', 'tool', 'status', 'duration'], rows },
          },
        ]),
    ...(files.length === 0 ? [] : [{ table: { head: ['file', ''], rows: files } }]),
  ]);
}
