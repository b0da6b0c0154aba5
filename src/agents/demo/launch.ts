/** How the demo agent is started: this Node with the program's entry file, the prompt on stdin. Pure. */
import type { LaunchPlan, LaunchRequest } from '../../model/agent.ts';

/** The folder for session files; the same as `--session-dir`. */
export const SESSIONS_VARIABLE = 'TACHO_DEMO_SESSIONS';

export function launch(request: LaunchRequest): LaunchPlan {
  const [command, ...leading] = request.command ?? [request.self.node, request.self.entry];
  const args = [...leading];
  if (request.model !== null) args.push('--model', request.model);
  if (request.approve !== 'default') args.push('--approve', request.approve);
  if (request.resume !== null) args.push('--resume', request.resume);
  if (request.stream) args.push('--stream');
  args.push(...request.args);
  const folder = givenTo(request.args, '--session-dir');
  return {
    command: command ?? request.self.node,
    args,
    env: folder === null ? {} : { [SESSIONS_VARIABLE]: folder },
    stdin: request.prompt,
  };
}

function givenTo(args: readonly string[], flag: string): string | null {
  const place = args.lastIndexOf(flag);
  return place < 0 ? null : (args[place + 1] ?? null);
}
