/** The action of `tacho audit`. */
import { type AuditReport, audit } from '../../app/audit/audit.ts';
import { chainHead, checkHead } from '../../app/audit/chain.ts';
import { type RuleSources, ruleSources } from '../../app/audit/rule-sources.ts';
import { EXIT_CAUGHT } from '../../app/run/exit-codes.ts';
import { findRunIds, noRuns } from '../../app/runs/replay.ts';
import { TachoError } from '../../lib/errors.ts';
import { plural } from '../../lib/figures.ts';
import { tableLines } from '../../lib/terminal-text.ts';
import type { AuditFinding } from '../../model/audit.ts';
import { AUDIT_SEVERITIES, type AuditSeverity } from '../../model/words.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { actingOf } from '../acting.ts';
import { type Io, print } from '../command.ts';
import { filterText, type RunFilterFlags, runQuery } from '../run-filter.ts';
import { runsOf } from '../state.ts';
import { styleOf } from '../style.ts';
import { auditText } from './text.ts';

export interface AuditFlags extends RunFilterFlags {
  severity?: AuditSeverity;
  rules?: string;
  listRules?: true;
  verify?: true;
  failOn?: AuditSeverity;
  head?: true;
  checkHead?: string;
  json?: true;
  trust?: true;
}

const usage = (text: string) => new TachoError('usage', text, { stage: 'audit' });

/** Whether the finding is of this severity, or worse. */
const reaches = (level: AuditSeverity) => {
  const most = AUDIT_SEVERITIES.indexOf(level);
  return ({ severity }: AuditFinding) => AUDIT_SEVERITIES.indexOf(severity) <= most;
};

export async function auditCommand(
  run: string | undefined,
  flags: AuditFlags,
  io: Io,
): Promise<number> {
  if (run !== undefined && filterText(flags) !== '')
    throw usage(`give a run or ${filterText(flags)}, not both`);
  const rules = await ruleSources(flags.rules, actingOf(flags.trust, io));
  if (flags.listRules) return listRules(rules, flags, io);
  const state = await runsOf(io);
  if (flags.head) return printHead(state, flags, io);
  if (flags.checkHead !== undefined) return printHeadCheck(state, flags.checkHead, flags, io);
  const [run_id] = run === undefined ? [] : findRunIds(state, [run]);
  const runs = run_id === undefined ? { query: await runQuery(state, flags) } : { run_id };
  const report = await audit(state, { runs, rules, verify: flags.verify ?? false });
  await write(report, flags, io);
  return exitCode(report, flags);
}

function exitCode({ findings, summary }: AuditReport, { failOn }: AuditFlags): number {
  const { verified } = summary;
  const broken = [verified?.faults.length, verified?.chain?.faults.length].some(Boolean);
  const isBad = reaches(failOn ?? 'high');
  const bad = failOn !== undefined && findings.some((one) => one.status !== 'denied' && isBad(one));
  return broken || bad ? EXIT_CAUGHT : 0;
}

async function write(report: AuditReport, flags: AuditFlags, io: Io): Promise<void> {
  const findings = report.findings.filter(reaches(flags.severity ?? 'info'));
  const shown = { ...report, findings };
  if (!flags.json) return io.out.write(auditText(shown, styleOf(io)));
  for (const line of [...findings, ...report.not_analysed, report.summary]) {
    if (io.out.gone) return;
    await io.out.json(`${JSON.stringify(line)}\n`);
  }
}

async function listRules({ all }: RuleSources, flags: AuditFlags, io: Io): Promise<number> {
  const rows = all.map(({ id, severity, category, about }) => [id, severity, category, about]);
  const text = () =>
    `${tableLines([['RULE', 'SEVERITY', 'CATEGORY', 'ABOUT'], ...rows], () => false).join('\n')}\n`;
  await print(io, flags, all, text);
  return 0;
}

async function printHead(state: StateDir, _flags: AuditFlags, io: Io): Promise<number> {
  const head = await chainHead(state, Date.now());
  if (head === null) throw noRuns(state.path);
  await io.out.json(`${JSON.stringify(head)}\n`);
  return 0;
}

async function printHeadCheck(
  state: StateDir,
  given: string,
  flags: AuditFlags,
  io: Io,
): Promise<number> {
  const check = checkHead(state, given);
  const { ok, entry, entries_since, removed_since, faults } = check;
  const text = () => {
    if (!ok) return faults.map((fault) => `${fault}\n`).join('');
    const since = `the chain contains it as entry ${entry}; ${plural(entries_since, 'entry', 'entries')} since`;
    const removed = removed_since.map((run_id) => `${run_id} was removed by a command of tacho\n`);
    return `${since}\n${removed.join('')}`;
  };
  await print(io, flags, check, text);
  return ok ? 0 : EXIT_CAUGHT;
}
