/**
 * Every start finishes runs that a killed tacho left, if their agents have exited (ST-3). Contract: this happens in a
 * separate process with a budget, concurrently with the new run, which starts immediately and is recorded in any case.
 */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { OutboxTarget } from '../../store/outbox/lines.ts';
import { mayLive } from '../../store/owner.ts';
import { isRecorded, listSpools, type Spool, sweepRemoved } from '../../store/spool/spool.ts';
import { type StateDir, stateDirAt } from '../../store/state-dir.ts';
import { isOwnState } from '../../store/state-mark.ts';
import { type Acting, mayAct, NOT_RECOVERED } from '../config/own-state.ts';
import { packageRoot } from '../config/paths.ts';
import { APP_LIMITS } from '../limits.ts';
import { deliverLeft } from '../live/deliver-left.ts';

/** Waits for the recovery, at most until its time is over, and returns its messages: complete lines, or an empty text. */
type Sweep = () => Promise<string>;

/** Waits, within a budget, until leftovers are finished. Messages are written as complete lines. */
export type FinishLeft = (write: (text: string) => Promise<void>) => Promise<void>;

/** Starts recovering killed runs and delivering the outbox. */
export async function startLeft(
  state_dir: string,
  options: Acting & { target?: OutboxTarget | null },
): Promise<FinishLeft> {
  const swept = await startSweep(state_dir, options);
  const deliverNow = () => deliverLeft(state_dir, options);
  // Messages that a recovery adds to the outbox are sent too.
  const left = swept === null ? deliverNow() : null;
  return async (write) => {
    if (swept !== null) await write(await swept());
    await (left ?? deliverNow())();
  };
}

/** Null if there is nothing to recover. */
async function startSweep(state_dir: string, acting: Acting): Promise<Sweep | null> {
  const state = stateDirAt(state_dir);
  try {
    if (acting.trust || isOwnState(state_dir)) sweepRemoved(state);
    if (!(await needsRecovery(state)) || !mayAct(state_dir, NOT_RECOVERED, acting)) return null;
    return await startChild(state.path, acting.trust);
  } catch {
    // The run itself reports an unusable state folder.
    return null;
  }
}

/** A larger meta.json is not read here. */
const META_BYTES_MAX = 1024 * 1024;

async function needsRecovery(state: StateDir): Promise<boolean> {
  for (const spool of listSpools(state)) if (await mayNeedRecovery(state, spool)) return true;
  return false;
}

async function mayNeedRecovery(state: StateDir, spool: Spool): Promise<boolean> {
  if (isRecorded(spool)) return false;
  const { isBeginning, triedEnough } = await import('./recover-budget.ts');
  if (triedEnough(spool)) return false;
  if ((lstatSync(spool.meta, { throwIfNoEntry: false })?.size ?? 0) > META_BYTES_MAX) return true;
  const { readSpoolMeta } = await import('./spool-meta.ts');
  const read = await readSpoolMeta(spool);
  if ('meta' in read) return !mayLive(read.meta.owner, state.journal);
  return read.fault !== null || !isBeginning(spool);
}

const SAID_CHARS_MAX = 16 * 1024;

async function startChild(state_dir: string, trust: boolean): Promise<Sweep> {
  const { spawn } = await import('node:child_process');
  const program = join(packageRoot(), 'bin', 'tacho.cjs');
  const args = [program, '--state-dir', state_dir, 'runs', 'recover', '--auto', '--no-wait'];
  if (trust) args.push('--trust');
  const child = spawn(process.execPath, args, {
    // The last pipe ends the child with this process, however this process ends.
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    env: { ...process.env, TACHO_LAUNCHER_FD: '3' },
  });
  let said = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    if (said.length < SAID_CHARS_MAX) said += text;
  });
  const ended = new Promise<void>((resolve) => {
    child.on('close', () => resolve()).on('error', () => resolve());
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), APP_LIMITS.auto_recover_ms);
  // The run waits for it only at its own end.
  timer.unref();
  child.unref();
  return async () => {
    child.ref();
    await ended;
    child.stdio[3]?.destroy();
    clearTimeout(timer);
    return said.slice(0, said.lastIndexOf('\n') + 1);
  };
}
