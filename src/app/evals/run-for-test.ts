/** A run for a test, using the same code as `tacho run`; its transcript is graded. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileError } from '../../lib/errors.ts';
import type { Transcript } from '../../model/transcript.ts';
import type { ExitReason } from '../../model/words.ts';
import { transcriptPath } from '../../store/spool/run-files.ts';
import { stateDirAt } from '../../store/state-dir.ts';
import { withCostOf } from '../prices/costs.ts';
import type { AgentRunOptions } from '../run/options.ts';
import { prepareRun } from '../run/request.ts';
import { runAgent } from '../run/run-agent.ts';
import { transcriptsIn } from './subjects.ts';

/** Exit reasons after which an agent has done its work: these runs are graded, all others are failures. */
const GRADED: ReadonlySet<ExitReason> = new Set([
  'ok',
  'denied',
  'approval_required',
  'max_steps',
  'budget_exceeded',
]);

/** A copy of a folder for one run to work in, so that runs do not see each other's changes. */
export function copyWorkspace(template: string) {
  const path = mkdtempSync(join(tmpdir(), 'tacho-eval-'));
  const remove = () => rmSync(path, { recursive: true, force: true });
  try {
    cpSync(template, path, { recursive: true, verbatimSymlinks: true });
    return { path, [Symbol.dispose]: remove };
  } catch (cause) {
    remove();
    throw fileError(cause, template, 'workspace');
  }
}

/** `live`: receives problems of the run's live session. Returns in `error` why there is nothing to grade. */
export async function runForTest(
  options: AgentRunOptions,
  signal: AbortSignal,
  live: (text: string) => void,
) {
  const request = await prepareRun(options);
  const control = runAgent(request, { views: () => [], live });
  const abort = () => control.abort('SIGTERM');
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  const { run_id, outcome, exit_reason } = await control.result.finally(() =>
    signal.removeEventListener('abort', abort),
  );
  const path = transcriptPath(stateDirAt(request.state_dir), outcome.agent, run_id);
  let transcript: Transcript | null = null;
  let problem: string | null = null;
  const onProblem = (say: string) => {
    problem = say;
  };
  for await (const subject of transcriptsIn(path, onProblem))
    transcript = withCostOf(subject.transcript, outcome);
  const said = outcome.error_details?.message ?? '';
  const error = GRADED.has(exit_reason)
    ? problem
    : `the run ended with ${exit_reason}${said === '' ? '' : `: ${said}`}`;
  const changes = outcome.artifacts.map((artifact) => artifact.path);
  return { transcript, run_id, error, changes, cancelled: exit_reason === 'cancelled' };
}
