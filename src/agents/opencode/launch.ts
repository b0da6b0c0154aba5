/** The command line of the CLI. Pure. The prompt is passed on stdin: an argument with a space would be quoted. */
import type { LaunchPlan, LaunchRequest } from '../../model/agent.ts';

export function launch(request: LaunchRequest): LaunchPlan {
  const [command = 'opencode', ...leading] = request.command ?? [];
  // Without --thinking stdout has no reasoning.
  const args = [...leading, 'run', '--format', 'json', '--thinking'];
  if (request.model !== null) args.push('--model', request.model);
  if (request.resume !== null) args.push('--session', request.resume);
  const env: Record<string, string> = {};
  if (request.approve === 'all') args.push('--auto');
  else if (request.approve === 'edits') env.OPENCODE_PERMISSION = '{"edit":"allow"}';
  args.push(...request.args);
  return { command, args, env, stdin: request.prompt };
}
