/**
 * How the CLI is started. Pure. The prompt goes through stdin: any length, no quoting; as an argument, words that begin
 * with `-` or `@` would be flags and files. Text deltas always come.
 */
import type { LaunchPlan, LaunchRequest } from '../../model/agent.ts';

export function launch(request: LaunchRequest): LaunchPlan {
  const [command = 'pi', ...leading] = request.command ?? [];
  const args = [...leading, '-p', '--mode', 'json'];
  if (request.model !== null) args.push('--model', request.model);
  // Tools need no approval; the flag makes the CLI trust the project's own skills, extensions and settings.
  if (request.approve === 'all') args.push('--approve');
  if (request.resume !== null) args.push('--session', request.resume);
  args.push(...request.args);
  return { command, args, env: {}, stdin: request.prompt };
}
