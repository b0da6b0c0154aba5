/** An audit for people: findings by severity and run, then the completeness of the records behind them. */
import type { AuditReport } from '../../app/audit/audit.ts';
import { plural } from '../../lib/figures.ts';
import { shortRunIds } from '../../lib/ids.ts';
import { localMinute } from '../../lib/local-time.ts';
import { gapText } from '../../lib/record-words.ts';
import { oneLine } from '../../lib/terminal-text.ts';
import type { AuditFinding, AuditSummary, AuditUnread } from '../../model/audit.ts';
import { AUDIT_SEVERITIES, type AuditSeverity } from '../../model/words.ts';
import type { Colours, HumanStyle } from '../../projections/human-parts.ts';

const PAINTS: Readonly<Record<AuditSeverity, keyof Colours>> = {
  high: 'red',
  medium: 'yellow',
  low: 'cyan',
  info: 'dim',
};
/** Findings of one severity that are listed. */
const LISTED_MAX = 200;
const NAMED_MAX = 5;

type Names = ReadonlyMap<string, string>;

export function auditText({ findings, not_analysed, summary }: AuditReport, style: HumanStyle) {
  const names = namesOf([...findings, ...not_analysed]);
  const parts = [
    ...AUDIT_SEVERITIES.map((severity) => severityLines(severity, findings, names, style)),
    unreadLines(not_analysed, summary, names, style),
    summaryLines(summary),
  ];
  const shown = parts.filter((lines) => lines.length > 0).map((lines) => `${lines.join('\n')}\n`);
  return shown.join('\n');
}

function namesOf(lines: readonly { run_id: string }[]): Names {
  const ids = [...new Set(lines.map(({ run_id }) => run_id))];
  const short = shortRunIds(ids);
  return new Map(ids.map((id, at) => [id, short[at] as string]));
}

const headOf = ({ run_id, agent, project, at_ms }: AuditUnread | AuditFinding, names: Names) =>
  `${names.get(run_id)}  ${localMinute(at_ms) ?? 'unknown time'}  ${agent}  ${project ?? ''}`.trimEnd();

function severityLines(
  severity: AuditSeverity,
  all: readonly AuditFinding[],
  names: Names,
  style: HumanStyle,
): string[] {
  const findings = all.filter((one) => one.severity === severity);
  if (findings.length === 0) return [];
  const { colour, width } = style;
  const lines = [colour[PAINTS[severity]](`${severity}: ${plural(findings.length, 'finding')}`)];
  const shown = findings.slice(0, LISTED_MAX);
  for (const [, some] of Map.groupBy(shown, ({ run_id }) => run_id)) {
    lines.push(colour.bold(oneLine(headOf(some[0] as AuditFinding, names), width)));
    for (const one of some) lines.push(...findingLines(one, style));
  }
  const more = findings.length - shown.length;
  return more > 0 ? [...lines, `and ${more} more: see --json`] : lines;
}

const SEQ_COLUMNS = 7;

function findingLines(finding: AuditFinding, { width, colour }: HumanStyle): string[] {
  const { seq, rule, subject, status, approved_by, detail } = finding;
  const by = status === 'denied' ? '' : `, approved by ${approved_by ?? '-'}`;
  const place = `  ${`#${seq}`.padEnd(SEQ_COLUMNS)}`;
  const state = `(${status}${by})`;
  const lines = [
    `${place}${rule}: ${oneLine(subject, Math.max(20, width - place.length - rule.length - 2))}`,
    colour.dim(`${' '.repeat(place.length)}${oneLine(state, width - place.length)}`),
  ];
  if (detail !== null)
    lines.push(`${' '.repeat(place.length)}${oneLine(detail, width - place.length)}`);
  return lines;
}

function unreadLines(
  unread: readonly AuditUnread[],
  { not_analysed }: AuditSummary,
  names: Names,
  { width }: HumanStyle,
): string[] {
  if (not_analysed === 0) return [];
  const shown = unread.slice(0, LISTED_MAX).map((one) => {
    const place = `  ${names.get(one.run_id)} #${one.seq}  `;
    return place + oneLine(`${one.why}: ${one.subject}`, width - place.length);
  });
  const more = not_analysed - shown.length;
  return [
    `not analysed: ${plural(not_analysed, 'part')} of commands`,
    ...shown,
    ...(more > 0 ? [`and ${more} more: see --json`] : []),
  ];
}

const listed = (names: readonly string[]) =>
  [...names.slice(0, NAMED_MAX), ...(names.length > NAMED_MAX ? ['…'] : [])].join(', ');

function summaryLines(summary: AuditSummary): string[] {
  const { runs, calls, findings, decisions, unknown_paths, completeness } = summary;
  const counts = AUDIT_SEVERITIES.map((severity) => `${findings[severity]} ${severity}`);
  const by = (decision: string) =>
    decisions
      .filter((one) => one.decision === decision)
      .map((one) => `${one.by ?? 'unknown'} ${one.calls}`)
      .join(', ');
  const [allowed, denied] = [by('allow'), by('deny')];
  return [
    `${plural(runs, 'run')}, ${plural(calls, 'call')}; findings: ${counts.join(', ')}`,
    ...(allowed === '' ? [] : [`calls by who approved them: ${allowed}`]),
    ...(denied === '' ? [] : [`calls by who denied them: ${denied}`]),
    ...(unknown_paths === 0
      ? []
      : [`${plural(unknown_paths, 'path')} in commands with an unknown value, not checked`]),
    ...recordLines(completeness),
    ...ruleLines(summary),
    ...verifiedLines(summary),
  ];
}

/** How far the result can be trusted. */
function recordLines(given: AuditSummary['completeness']): string[] {
  const { with_gaps, unfinished, unlisted, without_inputs, unreadable } = given;
  const { agents_without_denials: no_denials, agents_without_decisions: no_decisions } = given;
  const gaps = [...new Set(with_gaps.flatMap((one) => one.gaps))].map(gapText);
  const lines = [
    with_gaps.length > 0 && `${plural(with_gaps.length, 'run')} with gaps: ${listed(gaps)}`,
    unfinished.length > 0 &&
      `${plural(unfinished.length, 'run')} without an end: ${listed(unfinished)}`,
    unlisted > 0 && `${plural(unlisted, 'unfinished run')} not audited: name one to audit it`,
    without_inputs.length > 0 &&
      `${plural(without_inputs.length, 'run')} without inputs of calls: nothing in them can be found`,
    unreadable.length > 0 &&
      `${plural(unreadable.length, 'run')} cannot be read: ${listed(unreadable.map(({ run_id, why }) => `${run_id}: ${why}`))}`,
    no_denials.length > 0 && `denials are never reported by: ${listed(no_denials)}`,
    no_decisions.length > 0 && `approvals are never reported by: ${listed(no_decisions)}`,
  ].filter((line) => line !== false);
  return lines.length === 0 ? ['records: complete'] : lines.map((line) => `records: ${line}`);
}

function ruleLines({ changed_rules }: AuditSummary): string[] {
  return changed_rules.flatMap(({ path, project, added, off, refused }) => {
    const where = `${path}${project === null ? '' : ` (runs of ${project})`}`;
    return [
      ...(added.length > 0 ? [`rules: ${where} adds ${added.join(', ')}`] : []),
      ...(off.length > 0 ? [`rules: ${where} switches off ${off.join(', ')}`] : []),
      ...(refused.length > 0
        ? [
            `rules: ${where} asks to switch off ${refused.join(', ')}: not done without your consent (tacho trust)`,
          ]
        : []),
    ];
  });
}

function verifiedLines({ verified }: AuditSummary): string[] {
  if (verified === null) return [];
  const { runs, faults, chain } = verified;
  const intact = `digests: ${runs - faults.length} of ${plural(runs, 'run')} intact`;
  const wrong = faults.map(({ run_id, faults: some }) => `digests: ${run_id}: ${some.join('; ')}`);
  if (chain === null) return [intact, ...wrong, 'chain: none yet; tacho audit --head begins one'];
  const { entries, runs: chained, removed, not_chained } = chain;
  return [
    ...[intact, ...wrong],
    `chain: ${plural(entries, 'entry', 'entries')}, ${plural(chained, 'run')} as recorded, ${not_chained} not in it yet`,
    ...(removed.length > 0
      ? [
          `chain: ${plural(removed.length, 'run')} removed by commands of tacho: ${listed(removed.map(({ run_id }) => run_id))}`,
        ]
      : []),
    ...chain.faults.map((fault) => `chain: ${fault}`),
  ];
}
