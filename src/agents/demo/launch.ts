/** Starts the demo agent: this Node with the program's entry file, the prompt on stdin. Pure. */
import type { LaunchPlan, LaunchRequest } from '../../model/agent.ts';

/** The folder for session files, like `--session-dir`. */
export const SESSIONS_VARIABLE = 'TACHO_DEMO_SESSIONS';

export function launch(request: LaunchRequest): LaunchPlan {
  const { node, entry } = request.self;
  const [command = node, ...args] = request.command ?? [node, entry];
  if (request.model !== null) args.push('--model', request.model);
  if (request.approve !== 'default') args.push('--approve', request.approve);
  if (request.resume !== null) args.push('--resume', request.resume);
  if (request.stream) args.push('--stream');
  args.push(...request.args);
  const at = request.args.lastIndexOf('--session-dir');
  const folder = at < 0 ? null : (request.args[at + 1] ?? null);
  const env = folder === null ? {} : { [SESSIONS_VARIABLE]: folder };
  return { command, args, env, stdin: request.prompt };
}
