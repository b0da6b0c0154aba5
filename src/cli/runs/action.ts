/** What the `runs` sub-commands do. */

import { catchUp } from '../../app/runs/catch-up.ts';
import { findRunId, findRunIds } from '../../app/runs/replay.ts';
import { knownText } from '../../lib/figures.ts';
import { isoText } from '../../lib/iso-time.ts';
import { forTerminal, oneLine } from '../../lib/terminal-text.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import type { RunRow } from '../../store/index/runs-table.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { type Io, print, printPretty } from '../command.ts';
import { sayTo } from '../state.ts';
import { writeGathered } from './gathered.ts';

const when = (at_ms: number | null) =>
  isoText(at_ms)?.slice(0, 16).replace('T', ' ') ?? 'unknown time    ';
const money = (cost: number | null) => (cost === null ? '' : ` $${cost.toFixed(4)}`);

const NO_RUNS = 'No runs yet. Try: tacho run --agent demo "try it"\n';

export interface ListFlags {
  /** Infinity: all. */
  limit: number;
  agent?: string;
  status?: string;
  json?: true;
}

export async function listRuns(state: StateDir | null, flags: ListFlags, io: Io): Promise<void> {
  if (state === null) {
    if (!flags.json) await io.out.write(NO_RUNS);
    return;
  }
  using index = openIndex(state);
  const { limit, agent, status, json } = flags;
  const query = {
    ...(Number.isFinite(limit) && { limit }),
    ...(agent && { agent }),
    ...(status && { status }),
  };
  const any = await listed(state, index, io, (write) => {
    const texts = index
      .listRuns(query)
      .map((row) => `${json ? JSON.stringify(row) : rowText(row, io.width)}\n`);
    return writeGathered(texts, (text) =>
      write(() => (json ? io.out.json(text) : io.out.write(text))),
    );
  });
  if (!any && !json)
    await io.out.write(agent === undefined && status === undefined ? NO_RUNS : 'No such runs.\n');
}

/**
 * Damage may show only when the rows are read: then the index was begun anew, and is filled before it is read again. Once
 * rows are written there is no second try: the command says what happened, and that it has to be run again.
 */
async function listed(
  state: StateDir,
  index: Index,
  io: Io,
  list: (write: (piece: () => Promise<void>) => Promise<void>) => Promise<boolean>,
): Promise<boolean> {
  await catchUp(state, index, sayTo(io));
  const { moved_to } = index;
  let written = false;
  const write = (piece: () => Promise<void>) => {
    written = true;
    return piece();
  };
  try {
    return await list(write);
  } catch (error) {
    if (written || index.moved_to === moved_to) throw error;
  }
  await catchUp(state, index, sayTo(io));
  return list(write);
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
  using index = openIndex(state);
  const outcome = index.getRun(run_id) as RunOutcome;
  await printPretty(io, flags, outcome, () => outcomeText(outcome));
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
    ['tokens', knownText(metrics.tokens_used, String)],
    ['cost', knownText(metrics.cost, (usd) => `$${usd.toFixed(4)}`)],
    ['duration', knownText(metrics.duration_ms, (ms) => `${(ms / 1000).toFixed(1)} s`)],
    ['files', outcome.artifacts.map((file) => `${file.path} (${file.operation})`).join(', ')],
    ['skills', outcome.skills_used.join(', ')],
    ['warnings', outcome.warnings.join('; ')],
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
  const { run_id, ok, events, faults, completeness } = report;
  const { grade, gaps } = completeness ?? { grade: 'unknown', gaps: [] };
  const whole = `${events} events hold: sequence, hashes, form. Completeness: ${[grade, ...gaps].join(', ')}.`;
  await printPretty(io, flags, report, () => `${run_id}: ${ok ? whole : faults.join('; ')}\n`);
  return ok ? 0 : 1;
}

export async function reindexRuns(
  state: StateDir,
  flags: { json?: true; force?: true },
  io: Io,
): Promise<number> {
  const { reindex } = await import('../../app/runs/reindex.ts');
  const done = await reindex(state, { force: flags.force, say: sayTo(io) });
  const { runs, unfinished, damaged, torn, foreign, unreadable } = done;
  const more = foreign === 0 ? '' : `; ${foreign} with damaged entries: see tacho runs verify`;
  const text = `${runs} runs; ${unfinished} unfinished, ${damaged} damaged lines, ${torn} torn${more}`;
  await print(io, flags, done, () => `${text}\n`);
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
  const ids = findRunIds(state, names);
  const { removeRuns } = await import('../../app/runs/remove.ts');
  const options = { force, say: sayTo(io) };
  const { deleted, missing, running, left, sending } = await removeRuns(state, ids, options);
  for (const run_id of deleted) await io.out.write(`${run_id}: deleted\n`);
  for (const run_id of missing) await io.out.write(`${run_id}: there is no such run\n`);
  for (const run_id of running)
    await io.out.write(`${run_id}: is being recorded by a running tacho; end that first\n`);
  for (const run_id of sending)
    await io.out.write(`${run_id}: a running tacho sends its messages; try again after that\n`);
  for (const segment of left)
    await io.err.write(
      `note: journal/${segment} still holds deleted runs: a running tacho writes it, or a part of it cannot be read; tacho runs gc frees them once it can\n`,
    );
  return missing.length + running.length + sending.length > 0 ? 1 : 0;
}
