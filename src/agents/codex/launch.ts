/** How the CLI is started. Pure. The prompt goes through stdin (`-`): any length, no quoting. */
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
  // Not every flag of `exec` is one of `exec resume`: all stand before it.
  if (request.resume !== null) args.push('resume', request.resume);
  args.push('-');
  return { command, args, env: {}, stdin: request.prompt };
}
