/** The command line of the CLI. Pure. The prompt is passed on stdin, where any length and any text is possible. */

import { own } from '../../lib/own.ts';
import type { LaunchPlan, LaunchRequest } from '../../model/agent.ts';

const APPROVALS: Readonly<Record<string, readonly string[]>> = {
  edits: ['--permission-mode', 'acceptEdits'],
  all: ['--always-approve'],
};

export function launch(request: LaunchRequest): LaunchPlan {
  const [command = 'grok', ...leading] = request.command ?? [];
  const args = [...leading, '--prompt-file', '/dev/stdin', '--verbatim'];
  args.push('--output-format', 'streaming-json');
  if (request.model !== null) args.push('--model', request.model);
  args.push(...(own(APPROVALS, request.approve) ?? []));
  if (request.resume !== null) args.push('--resume', request.resume);
  args.push(...request.args);
  return { command, args, env: {}, stdin: request.prompt };
}
