/**
 * The command line of the CLI. Pure. The prompt is passed on stdin: any length, no quoting. As an argument, words with
 * a leading `-` or `@` would be flags and files. Text deltas are always sent.
 */
import type { LaunchPlan, LaunchRequest } from '../../model/agent.ts';

export function launch(request: LaunchRequest): LaunchPlan {
  const [command = 'pi', ...leading] = request.command ?? [];
  const args = [...leading, '-p', '--mode', 'json'];
  if (request.model !== null) args.push('--model', request.model);
  // Tools need no approval. The flag makes the CLI trust the project's own skills, extensions and settings.
  if (request.approve === 'all') args.push('--approve');
  if (request.resume !== null) args.push('--session', request.resume);
  args.push(...request.args);
  return { command, args, env: {}, stdin: request.prompt };
}
