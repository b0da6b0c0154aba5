/** A run made for a test, through the same code as `tacho run`; its transcript is what is graded. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileError } from '../../lib/errors.ts';
import type { RandomSource } from '../../lib/ids.ts';
import type { Transcript } from '../../model/transcript.ts';
import type { ExitReason } from '../../model/words.ts';
import { transcriptPath } from '../../store/spool/run-files.ts';
import { stateDirAt } from '../../store/state-dir.ts';
import type { RunResult } from '../run/close-run.ts';
import { prepareRun, type RunOptions } from '../run/request.ts';
import { attemptAfter, FIRST_ATTEMPT, waitBefore, watchAttempt } from '../run/retry.ts';
import { startRun } from '../run/run.ts';
import { transcriptsIn } from './subjects.ts';

export interface LiveOptions {
  options: RunOptions;
  retries: number;
  retry_wait_ms: number;
  random: RandomSource;
}

export interface LiveResult {
  transcript: Transcript | null;
  run_id: string;
  /** Why there is nothing to grade. */
  error: string | null;
  cancelled: boolean;
}

/** Ends with which an agent has done what it could: these are graded, the others are failures of the run. */
const GRADED: ReadonlySet<ExitReason> = new Set([
  'ok',
  'denied',
  'approval_required',
  'max_steps',
  'budget_exceeded',
]);

async function runToEnd(live: LiveOptions, signal: AbortSignal): Promise<RunResult> {
  let attempt = FIRST_ATTEMPT;
  for (;;) {
    const watch = watchAttempt();
    const request = await prepareRun({ ...live.options, attempt });
    const control = await startRun(request, [{ name: 'the watch for retries', take: watch.sink }]);
    const abort = () => control.abort('SIGTERM');
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
    const result = await control.result.finally(() => signal.removeEventListener('abort', abort));
    const again = attempt.number <= live.retries && watch.worthAnother(result.outcome);
    if (!again || signal.aborted) return result;
    attempt = attemptAfter(attempt, result.outcome);
    await sleep(waitBefore(attempt.number, live.retry_wait_ms, live.random), undefined, {
      signal,
    }).catch(() => {});
    if (signal.aborted) return result;
  }
}

export interface Workspace {
  path: string;
  remove(): void;
}

/** A copy of a folder for one run to work in, so that runs do not see what others did. */
export function copyWorkspace(template: string): Workspace {
  const path = mkdtempSync(join(tmpdir(), 'tacho-eval-'));
  const remove = () => rmSync(path, { recursive: true, force: true });
  try {
    cpSync(template, path, { recursive: true, verbatimSymlinks: true });
    return { path, remove };
  } catch (cause) {
    remove();
    throw fileError(cause, template, 'workspace');
  }
}

export async function runForTest(live: LiveOptions, signal: AbortSignal): Promise<LiveResult> {
  const { state_dir } = await prepareRun(live.options);
  const { run_id, outcome, exit_reason } = await runToEnd(live, signal);
  const path = transcriptPath(stateDirAt(state_dir), outcome.agent, run_id);
  let transcript: Transcript | null = null;
  let problem: string | null = null;
  const onProblem = (say: string) => {
    problem = say;
  };
  for await (const subject of transcriptsIn(path, onProblem)) transcript = subject.transcript;
  const said = outcome.error_details?.message ?? '';
  const error = GRADED.has(exit_reason)
    ? problem
    : `the run ended with ${exit_reason}${said === '' ? '' : `: ${said}`}`;
  return { transcript, run_id, error, cancelled: exit_reason === 'cancelled' };
}
