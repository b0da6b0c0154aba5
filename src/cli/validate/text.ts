/** Reports of conformance for people and for CI. */
import type { BoardState } from '../../app/live/board.ts';
import type { ReviewTally } from '../../app/live/review.ts';
import type { Report, RuleReport } from '../../conformance/types.ts';
import type { Colours } from '../../lib/colours.ts';
import { plural } from '../../lib/figures.ts';
import { sessionName } from '../../lib/ids.ts';
import { isoTime } from '../../lib/iso-time.ts';
import { localTime } from '../../lib/local-time.ts';
import { oneLine, tableLines, wrapLines } from '../../lib/terminal-text.ts';
import { junitXml } from '../../projections/junit.ts';

const WHY_COLUMNS_MAX = 400;
const HEAD = ['verdict', 'rule', 'failed'];

/** The style of a report: on a terminal coloured and wrapped to its width, elsewhere neither. */
export interface ReportStyle {
  colour: Colours;
  width: number;
}

/** Never rounded up to 100 %. */
const percent = (rate: number) => `${Math.floor(rate * 1e4) / 100} %`;

function rowOf({ id, title, checked, failed, verdict, unjudged }: RuleReport): string[] {
  const part = unjudged.length > 0 ? ' *' : '';
  return [`${verdict}${part}`, `${id} ${title}`, checked === 0 ? '–' : `${failed} of ${checked}`];
}

const PAINTS = { passed: 'green', failed: 'red', 'not judged': 'dim' } as const;

/** One line per rule. The verdict is first, where a failed one is seen. */
function ruleLines(rules: readonly RuleReport[], { colour }: ReportStyle): string[] {
  const [head = '', ...lines] = tableLines([HEAD, ...rules.map(rowOf)], (column) => column === 2);
  const painted = lines.map((line, at) => {
    const { verdict } = rules[at] as RuleReport;
    return line.replace(verdict, colour[PAINTS[verdict]]);
  });
  return [colour.bold(head), ...painted];
}

function failureText({ line, session_id, seq, why }: RuleReport['failures'][number]): string {
  const place = [
    line === null ? null : `line ${line}`,
    session_id === null ? null : `session ${sessionName(session_id)}`,
    seq === null ? null : `seq ${seq}`,
  ].filter((part) => part !== null);
  const where = place.length === 0 ? '' : `${place.join(', ')}: `;
  return oneLine(`${where}${why}`, WHY_COLUMNS_MAX);
}

const failedText = ({ id, title, checked, failed, rate, threshold }: RuleReport) =>
  `${id} ${title}: ${failed} of ${checked} failed; ${percent(rate ?? 0)} passed, ${percent(threshold)} must pass`;

function* failuresOf(rules: readonly RuleReport[], width: number): Generator<string> {
  for (const rule of rules) {
    const { failed, failures } = rule;
    if (failures.length === 0) continue;
    yield '';
    yield* wrapLines(failedText(rule), width);
    for (const failure of failures) yield* below(failureText(failure), width);
    if (failed > failures.length) yield `  and ${failed - failures.length} more`;
  }
}

/** Wrapped, with the following lines indented. */
function* below(text: string, width: number): Generator<string> {
  const [first, ...rest] = wrapLines(text, width - 4);
  yield `  ${first}`;
  for (const line of rest) yield `    ${line}`;
}

function* remarks(rules: readonly RuleReport[], width: number): Generator<string> {
  yield* failuresOf(rules, width);
  const unjudged = rules.filter(
    ({ reason, unjudged: parts }) => reason !== null || parts.length > 0,
  );
  if (unjudged.length === 0) return;
  yield '';
  yield 'Not judged (*: in part):';
  for (const { id, reason, unjudged: parts } of unjudged)
    for (const why of reason === null ? parts : [reason])
      yield* below(`${id} ${oneLine(why, WHY_COLUMNS_MAX)}`, width);
}

function summary(report: Report): string {
  const { format, verdict, lines, faulty, sessions, duplicates, open_calls } = report;
  const parts = [
    plural(lines, 'line'),
    faulty > 0 ? `${faulty} faulty` : null,
    format === 'live' ? plural(sessions, 'session') : null,
    open_calls > 0 ? plural(open_calls, 'open call') : null,
    duplicates > 0 ? plural(duplicates, 'duplicate') : null,
    ...report.over_limits,
  ].filter((part) => part !== null);
  return `${format}: ${parts.join(', ')}: ${verdict}`;
}

const reviewText = ({ sampled, accepted, rejected, open }: ReviewTally) =>
  `review of ${plural(sampled, 'sampled message')}: ${accepted} accepted, ${rejected} rejected, ${open} open`;

export function reportText(
  report: Report,
  style: ReportStyle,
  review: ReviewTally | null = null,
): string {
  return `${[
    ...ruleLines(report.rules, style),
    ...remarks(report.rules, style.width),
    '',
    ...(review === null ? [] : [reviewText(review)]),
    summary(report),
  ].join('\n')}\n`;
}

const SESSIONS_SHOWN = 20;

export function boardText(board: BoardState, running: boolean, style: ReportStyle): string {
  const shown = board.sessions.slice(-SESSIONS_SHOWN).reverse();
  const rows = shown.map(({ session_id, messages, faulty, failed }) => {
    const words = Object.entries(failed).map(([rule, count]) => `${rule}: ${count}`);
    const end = words.length === 0 ? '' : `; failed ${words.join(', ')}`;
    return `  ${oneLine(`${sessionName(session_id)}: ${plural(messages, 'message')}, ${faulty} faulty${end}`, 160)}`;
  });
  const more = board.sessions.length - shown.length + board.sessions_left_out;
  return [
    collectorText(board, running),
    '',
    reportText(board.report, style).trimEnd(),
    ...(rows.length === 0 ? [] : ['', 'Latest sessions:', ...rows]),
    ...(more > 0 ? [`  and ${more} more`] : []),
    ...refusedText(board.refused ?? {}),
    ...(board.failing_summed > 0
      ? [`${board.failing_summed} late messages are only counted in the log of failing messages`]
      : []),
    ...(board.failing_lost > 0
      ? [`${board.failing_lost} failing messages could not be written to the log`]
      : []),
    '',
  ].join('\n');
}

function collectorText({ pid, started_at, updated_at }: BoardState, running: boolean): string {
  const time = (iso: string) => localTime(isoTime(iso) ?? null) ?? iso;
  return running
    ? `Collector (process ${pid}), started ${time(started_at)}`
    : `The collector is not running. Its last counters, from ${time(started_at)} to ${time(updated_at)}:`;
}

/** Refused messages are not judged by any rule. */
function refusedText(refused: Readonly<Record<string, number>>): string[] {
  const words = Object.entries(refused).map(([code, count]) => `${count} ${code}`);
  return words.length === 0 ? [] : [`Refused messages, which are not judged: ${words.join(', ')}`];
}

/** `path`: null if there is only one stream. */
interface Judged {
  path: string | null;
  report: Report;
}

/** One line per file, with the failures of files that did not pass. */
export function filesText(
  judged: readonly (Judged & { complaint: string | null })[],
  unread: number,
): string {
  const lines: string[] = [];
  let failed = 0;
  for (const { path, report, complaint } of judged) {
    const is_ok = report.verdict !== 'failed' && complaint === null;
    if (!is_ok) failed += 1;
    const end = complaint === null ? '' : `: ${complaint}`;
    lines.push(`${is_ok ? 'ok  ' : 'FAIL'} ${oneLine(`${path}: ${summary(report)}${end}`, 400)}`);
    for (const remark of failuresOf(report.rules, Number.POSITIVE_INFINITY))
      if (remark !== '') lines.push(`       ${remark}`);
  }
  const more = unread === 0 ? '' : `, ${unread} not readable`;
  const files = plural(judged.length + unread, 'file');
  const hint = failed === 0 ? '' : '\nThe report of one file: tacho validate FILE';
  return `${lines.join('\n')}\n${files}: ${judged.length - failed} passed, ${failed} failed${more}${hint}\n`;
}

export function junitOf(judged: readonly Judged[]): string {
  const [first] = judged;
  const name = judged.length === 1 ? `tacho validate: ${first?.report.format}` : 'tacho validate';
  return junitXml(name, judged.flatMap(suitesOf));
}

function suitesOf({ path, report }: Judged) {
  const sections = Map.groupBy(report.rules, ({ section }) => section);
  return [...sections].map(([name, rules]) => ({
    name: path === null ? name : `${path}: ${name}`,
    cases: rules.map((rule) => ({
      name: `${rule.id} ${rule.title}`,
      classname: `conformance.${report.format}`,
      duration_ms: null,
      problem:
        rule.verdict === 'failed'
          ? {
              kind: 'failure' as const,
              message: `${rule.failed} of ${rule.checked} failed`,
              text: rule.failures.map(failureText).join('\n'),
            }
          : null,
      skipped: rule.reason,
      output: rule.unjudged.length === 0 ? null : `not judged: ${rule.unjudged.join('; ')}`,
    })),
  }));
}
