/** The command line of the CLI. Pure. The prompt is passed on stdin: any length, no quoting. */
import { own } from '../../lib/own.ts';
import type { LaunchPlan, LaunchRequest } from '../../model/agent.ts';

const APPROVALS: Readonly<Record<string, readonly string[]>> = {
  default: ['--approval-mode=always-ask'],
  edits: ['--approval-mode=write'],
  all: ['--auto-approve'],
};

export function launch(request: LaunchRequest): LaunchPlan {
  const [command = 'omp', ...leading] = request.command ?? [];
  const args = [...leading, '-p', '--mode', 'json', ...(own(APPROVALS, request.approve) ?? [])];
  if (request.model !== null) args.push('--model', request.model);
  if (request.resume !== null) args.push('--resume', request.resume);
  args.push(...request.args);
  return { command, args, env: {}, stdin: request.prompt };
}
