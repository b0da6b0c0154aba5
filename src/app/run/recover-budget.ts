/**
 * The budget of the automatic recovery at a new run: time, bytes, and attempts per spool. Contract: an attempt is
 * recorded in the spool before it begins, so that an attempt that crashes its process counts too.
 */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { bytesText } from '../../lib/figures.ts';
import { appendDurably, unlinkQuietly } from '../../store/files.ts';
import type { Spool } from '../../store/spool/spool.ts';
import { APP_LIMITS } from '../limits.ts';

export interface AutoBudget {
  /** No spool is started after this moment of `performance.now()`. */
  until_ms: number;
}

const bytesAt = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** One byte per attempt. */
const attemptsAt = (spool: Spool) => join(spool.path, 'attempts');

/** Whether only `tacho runs recover` may still try this spool. */
export function triedEnough(spool: Spool): boolean {
  return bytesAt(attemptsAt(spool)) >= APP_LIMITS.auto_recover_attempts_max;
}

function whyNotAuto(spool: Spool): string | null {
  if (triedEnough(spool))
    return `automatic recovery failed ${APP_LIMITS.auto_recover_attempts_max} times`;
  const bytes = [spool.stdout, spool.stderr, spool.meta].reduce((sum, at) => sum + bytesAt(at), 0);
  if (bytes <= APP_LIMITS.auto_recover_bytes_max) return null;
  return `its ${bytesText(bytes)} exceed the limit for automatic recovery`;
}

/** Records an automatic attempt. Returns why it must not be made, or null. */
export function attemptAllowed(spool: Spool, auto: AutoBudget | null): string | null {
  if (auto === null) return null;
  const why = whyNotAuto(spool);
  if (why !== null) return why;
  if (performance.now() > auto.until_ms) return 'the time for automatic recoveries is used up';
  try {
    appendDurably(attemptsAt(spool), 'x');
    return null;
  } catch (error) {
    return `the attempt cannot be recorded: ${(error as Error).message}`;
  }
}

/** Called if the attempt did not fail. */
export function attemptOver(spool: Spool): void {
  unlinkQuietly(attemptsAt(spool));
}

/** How long a run may take from creating its spool to recording what it is about to start. */
const BEGINNING_MS = 60_000;

/** For a spool without meta.json: its run may just be starting. */
export function isBeginning(spool: Spool): boolean {
  const at = (path: string) => lstatSync(path, { throwIfNoEntry: false });
  // Not the folder's change time: locks and recorded attempts change it.
  const made = at(spool.stdout)?.mtimeMs ?? at(spool.path)?.birthtimeMs ?? 0;
  return Date.now() - made < BEGINNING_MS;
}
