/** What the `runs` sub-commands do. */

import { mayAct, NOT_RECOVERED } from '../../app/config/own-state.ts';
import { EXIT_USAGE } from '../../app/run/exit-codes.ts';
import type { FailedView } from '../../app/run/recorder.ts';
import type { RecoverOptions, Recovery } from '../../app/run/recover.ts';
import { catchUp } from '../../app/runs/catch-up.ts';
import { findRunId } from '../../app/runs/replay.ts';
import { isRunId } from '../../lib/ids.ts';
import { isoText } from '../../lib/iso-time.ts';
import { LIMITS } from '../../lib/limits.ts';
import { forTerminal, oneLine } from '../../lib/terminal-text.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import { type Index, openIndex, type RunQuery, type RunRow } from '../../store/index/index-db.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { actingOf } from '../acting.ts';
import type { Io } from '../command.ts';
import { sayTo } from '../state.ts';

const when = (at_ms: number | null) =>
  isoText(at_ms)?.slice(0, 16).replace('T', ' ') ?? 'unknown time    ';
const money = (cost: number | null) => (cost === null ? '' : ` $${cost.toFixed(4)}`);

const NO_RUNS = 'No runs yet. Try: tacho run --agent demo "try it"\n';

export async function listRuns(
  state: StateDir | null,
  flags: { limit: number; agent?: string; status?: string; json?: true },
  io: Io,
): Promise<void> {
  if (state === null) {
    if (!flags.json) await io.out.write(NO_RUNS);
    return;
  }
  const index = openIndex(state);
  try {
    const { limit, agent, status } = flags;
    const query = { limit, ...(agent && { agent }), ...(status && { status }) };
    const rows = await listed(state, index, query, io);
    if (flags.json) await io.out.json(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    else if (rows.length === 0)
      await io.out.write(agent === undefined && status === undefined ? NO_RUNS : 'No such runs.\n');
    else await io.out.write(rows.map((row) => `${rowText(row, io.width)}\n`).join(''));
  } finally {
    index.close();
  }
}

/** Damage may show only when the rows are read: then the index was begun anew, and is filled before it is read again. */
async function listed(state: StateDir, index: Index, query: RunQuery, io: Io): Promise<RunRow[]> {
  await catchUp(state, index, sayTo(io));
  const { moved_to } = index;
  try {
    return index.listRuns(query);
  } catch (error) {
    if (index.moved_to === moved_to) throw error;
  }
  await catchUp(state, index, sayTo(io));
  return index.listRuns(query);
}

function rowText(row: RunRow, width: number): string {
  const head = `${row.run_id}  ${when(row.started_ms)}  ${row.agent.padEnd(8)} ${row.exit_reason.padEnd(17)} ${String(row.tool_calls).padStart(4)} ${row.tool_calls === 1 ? 'call ' : 'calls'}${money(row.cost)}  `;
  return head + oneLine(row.prompt ?? '', Math.max(20, width - head.length));
}

export async function showRun(
  state: StateDir,
  run: string,
  flags: { json?: true },
  io: Io,
): Promise<void> {
  const run_id = await findRunId(state, run);
  const index = openIndex(state);
  try {
    const outcome = index.getRun(run_id) as RunOutcome;
    if (flags.json) await io.out.json(`${JSON.stringify(outcome, null, 2)}\n`);
    else await io.out.write(outcomeText(outcome));
  } finally {
    index.close();
  }
}

function outcomeText(outcome: RunOutcome): string {
  const { metrics, completeness, metadata } = outcome;
  const gaps = completeness.gaps.length === 0 ? '' : ` (${completeness.gaps.join(', ')})`;
  const rows: [string, string | null][] = [
    ['run', outcome.run_id],
    ['agent', `${outcome.agent} ${outcome.agent_version ?? ''}`.trim()],
    ['model', metrics.model_name],
    ['session', outcome.session_id],
    ['started', when(metrics.start_time_ms)],
    ['prompt', metadata.initial_prompt === null ? null : oneLine(metadata.initial_prompt, 90)],
    ['result', `${outcome.exit_reason} (${outcome.terminal_evidence})`],
    ['error', outcome.error_details?.message ?? null],
    ['record', `${completeness.grade}${gaps}`],
    ['steps', String(metrics.steps)],
    ['calls', callsText(outcome)],
    ['tokens', metrics.tokens_used === null ? 'not known' : String(metrics.tokens_used)],
    ['cost', metrics.cost === null ? 'not known' : `$${metrics.cost.toFixed(4)}`],
    [
      'duration',
      metrics.duration_ms === null ? 'not known' : `${(metrics.duration_ms / 1000).toFixed(1)} s`,
    ],
    [
      'files',
      outcome.artifacts.map((file) => `${file.path} (${file.operation})`).join(', ') || null,
    ],
    ['skills', outcome.skills_used.join(', ') || null],
    ['warnings', outcome.warnings.join('; ') || null],
  ];
  const lines = rows
    .filter(([, value]) => value)
    .map(([name, value]) => `${name.padEnd(9)} ${forTerminal(value as string)}`);
  return `${lines.join('\n')}\n${outcome.message === '' ? '' : `\n${forTerminal(outcome.message)}\n`}`;
}

function callsText({ tool_calls }: RunOutcome): string {
  const failed = tool_calls.filter((call) => call.status !== 'ok').length;
  return failed === 0 ? `${tool_calls.length}` : `${tool_calls.length}, ${failed} not ok`;
}

export async function verify(
  state: StateDir,
  run: string,
  flags: { json?: true },
  io: Io,
): Promise<number> {
  const { verifyRun } = await import('../../app/runs/verify.ts');
  const report = await verifyRun(state, run);
  if (flags.json) await io.out.json(`${JSON.stringify(report, null, 2)}\n`);
  else if (report.ok) {
    const { grade, gaps } = report.completeness ?? { grade: 'unknown', gaps: [] };
    await io.out.write(
      `${report.run_id}: ${report.events} events hold: sequence, hashes, form. Completeness: ${[grade, ...gaps].join(', ')}.\n`,
    );
  } else await io.out.write(`${report.run_id}: ${report.faults.join('; ')}\n`);
  return report.ok ? 0 : 1;
}

const RECOVERY_TEXT: Record<Recovery['state'], (recovery: never) => string> = {
  recovered: ({ run_id, result }: Extract<Recovery, { state: 'recovered' }>) =>
    `${run_id}: recovered, ${result.exit_reason}, ${result.outcome.tool_calls.length} calls${failedText(result.failed_views)}`,
  failed: whyText,
  busy: whyText,
  running: ({ run_id, pid }: Extract<Recovery, { state: 'running' }>) =>
    `${run_id}: its agent still runs (process ${pid}); leave out --no-wait to wait for it`,
  left: whyText,
  unreadable: whyText,
};

function whyText({ run_id, why }: Extract<Recovery, { why: string }>): string {
  return forTerminal(`${run_id}: ${why}`);
}

const failedText = (views: readonly FailedView[]) =>
  views.map(({ view, why }) => `; ${view} failed: ${forTerminal(why)}`).join('');

/** The recovery of a new run, in a process of its own: one line per finished run, one for all that are left. */
export async function recoverInBackground(
  state: StateDir,
  trust: true | undefined,
  io: Io,
): Promise<number> {
  if (!mayAct(state.path, NOT_RECOVERED, actingOf(trust, io))) return EXIT_USAGE;
  const { recoverAll } = await import('../../app/run/recover.ts');
  const auto = { until_ms: LIMITS.auto_recover_ms / 2 };
  const left: string[] = [];
  for await (const recovery of recoverAll(state, { wait: false, auto })) {
    const { state: end, run_id } = recovery;
    if (end === 'recovered')
      await io.out.write(`note: finished the record of ${run_id}: its recorder was killed\n`);
    else if (end === 'left' || end === 'failed' || end === 'unreadable') left.push(run_id);
  }
  const [first] = left;
  if (first !== undefined) {
    const which = left.length === 1 ? `${first} is` : `${first} and ${left.length - 1} more are`;
    await io.out.write(`note: ${which} not finished yet: see tacho runs recover\n`);
  }
  return 0;
}

export async function recover(
  state: StateDir,
  options: RecoverOptions & { json: boolean; trust: true | undefined },
  io: Io,
): Promise<number> {
  let failed = false;
  let found = 0;
  const acting = actingOf(options.trust, io);
  if (!mayAct(state.path, NOT_RECOVERED, acting)) return EXIT_USAGE;
  const { recoverAll } = await import('../../app/run/recover.ts');
  for await (const recovery of recoverAll(state, options)) {
    found += 1;
    failed ||= recovery.state === 'failed' || recovery.state === 'unreadable';
    if (options.json) await io.out.json(`${JSON.stringify(recovery)}\n`);
    else await io.out.write(`${RECOVERY_TEXT[recovery.state](recovery as never)}\n`);
  }
  if (found === 0 && !options.json) await io.out.write('Nothing to recover.\n');
  const { deliverLeft } = await import('../../app/live/deliver-left.ts');
  await deliverLeft(state.path, acting)();
  return failed ? 1 : 0;
}

export async function reindexRuns(
  state: StateDir,
  { json, force }: { json?: true; force?: true },
  io: Io,
): Promise<number> {
  const { reindex } = await import('../../app/runs/reindex.ts');
  const done = await reindex(state, { force, say: sayTo(io) });
  const { runs, unfinished, damaged, torn, foreign, unreadable } = done;
  const more = foreign === 0 ? '' : `; ${foreign} with damaged entries: see tacho runs verify`;
  const text = `${runs} runs; ${unfinished} unfinished, ${damaged} damaged lines, ${torn} torn${more}`;
  if (json) await io.out.json(`${JSON.stringify(done)}\n`);
  else await io.out.write(`${text}\n`);
  for (const segment of unreadable)
    await io.err.write(
      `warning: journal/${segment} cannot be read; the index keeps what it has of its runs\n`,
    );
  return unreadable.length === 0 ? 0 : 1;
}

export async function removeNamed(
  state: StateDir,
  names: string[],
  { force }: { force?: true },
  io: Io,
): Promise<number> {
  const ids: string[] = [];
  for (const name of names) ids.push(isRunId(name) ? name : await findRunId(state, name));
  const { removeRuns } = await import('../../app/runs/remove.ts');
  const { deleted, missing, running, left, sending } = await removeRuns(state, ids, {
    force,
    say: sayTo(io),
  });
  for (const run_id of deleted) await io.out.write(`${run_id}: deleted\n`);
  for (const run_id of missing) await io.out.write(`${run_id}: there is no such run\n`);
  for (const run_id of running)
    await io.out.write(`${run_id}: is being recorded by a running tacho; end that first\n`);
  for (const run_id of sending)
    await io.out.write(`${run_id}: a running tacho sends its messages; try again after that\n`);
  for (const segment of left)
    await io.err.write(
      `note: journal/${segment} still holds deleted runs: a running tacho writes it; tacho runs gc frees them later\n`,
    );
  return missing.length + running.length + sending.length > 0 ? 1 : 0;
}
