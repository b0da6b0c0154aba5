/** The command line of the CLI. Pure. The prompt is passed on stdin (`-`): any length, no quoting. */
import type { LaunchPlan, LaunchRequest } from '../../model/agent.ts';
import type { ApproveMode } from '../../model/words.ts';

const PERMISSIONS: Record<ApproveMode, readonly string[]> = {
  default: [],
  edits: ['--sandbox', 'workspace-write'],
  all: ['--dangerously-bypass-approvals-and-sandbox'],
};

export function launch(request: LaunchRequest): LaunchPlan {
  const [command = 'codex', ...leading] = request.command ?? [];
  const args = [...leading, 'exec', '--json', ...PERMISSIONS[request.approve]];
  if (request.model !== null) args.push('--model', request.model);
  args.push(...request.args);
  // `exec resume` does not accept every flag of `exec`, so all flags come before it.
  if (request.resume !== null) args.push('resume', request.resume);
  args.push('-');
  return { command, args, env: {}, stdin: request.prompt };
}
