/** The action of `runs recover`. */
import { mayAct, NOT_RECOVERED } from '../../app/config/own-state.ts';
import { APP_LIMITS } from '../../app/limits.ts';
import { EXIT_USAGE } from '../../app/run/exit-codes.ts';
import type { Recovery } from '../../app/run/recover-run.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { actingOf } from '../acting.ts';
import { type Io, print } from '../command.ts';

export interface RecoverFlags {
  wait: boolean;
  auto?: true;
  force?: true;
  trust?: true;
  json?: true;
}

type RecoverRequest = RecoverFlags & { run_id: string | undefined };

function textOf(recovery: Recovery): string {
  const { run_id } = recovery;
  if (recovery.state === 'running')
    return `${run_id}: its agent is still running (process ${recovery.pid}); omit --no-wait to wait for it\n`;
  if (recovery.state !== 'recovered') return `${forTerminal(`${run_id}: ${recovery.why}`)}\n`;
  const { exit_reason, outcome, failed_views } = recovery.result;
  const failed = failed_views.map(({ view, why }) => `; ${view} failed: ${forTerminal(why)}`);
  return `${run_id}: recovered, ${exit_reason}, ${outcome.tool_calls.length} calls${failed.join('')}\n`;
}

/** The recovery at a new run, in a separate process: one line per finished run, one for all unfinished ones. */
export async function recoverInBackground(
  state: StateDir,
  { trust }: RecoverRequest,
  io: Io,
): Promise<number> {
  if (!mayAct(state.path, NOT_RECOVERED, actingOf(trust, io))) return EXIT_USAGE;
  const { recoverAll } = await import('../../app/run/recover.ts');
  const auto = { until_ms: APP_LIMITS.auto_recover_ms / 2 };
  const left: string[] = [];
  for await (const { state: end, run_id } of recoverAll(state, { wait: false, auto })) {
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

/** Throws if there is no such run at all. */
async function checkFinished(state: StateDir, run_id: string): Promise<void> {
  const { findRunId } = await import('../../app/runs/replay.ts');
  await findRunId(state, run_id);
}

export async function recover(state: StateDir, flags: RecoverRequest, io: Io): Promise<number> {
  const { wait, force, trust, run_id } = flags;
  let failed = false;
  let found = 0;
  const acting = actingOf(trust, io);
  if (!mayAct(state.path, NOT_RECOVERED, acting)) return EXIT_USAGE;
  const { recoverAll } = await import('../../app/run/recover.ts');
  for await (const recovery of recoverAll(state, { wait, force, run_id })) {
    found += 1;
    failed ||= recovery.state === 'failed' || recovery.state === 'unreadable';
    await print(io, flags, recovery, () => textOf(recovery));
  }
  if (found === 0 && run_id !== undefined) await checkFinished(state, run_id);
  if (found === 0 && !flags.json) await io.out.write('Nothing to recover.\n');
  const { deliverLeft } = await import('../../app/live/deliver-left.ts');
  await deliverLeft(state.path, acting)();
  return failed ? 1 : 0;
}
