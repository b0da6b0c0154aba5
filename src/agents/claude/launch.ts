/** The command line of the CLI. Pure. The prompt is passed on stdin: any length, no quoting. */
import type { LaunchPlan, LaunchRequest } from '../../model/agent.ts';
import type { ApproveMode } from '../../model/words.ts';
import { userLine } from './input.ts';

const PERMISSION_MODE: Record<ApproveMode, readonly string[]> = {
  default: [],
  edits: ['--permission-mode', 'acceptEdits'],
  all: ['--permission-mode', 'bypassPermissions'],
};

export function launch(request: LaunchRequest): LaunchPlan {
  const [command = 'claude', ...leading] = request.command ?? [];
  // Without --verbose the CLI refuses stream-json.
  const args = [...leading, '-p', '--output-format', 'stream-json', '--verbose'];
  if (request.stream) args.push('--include-partial-messages');
  if (request.model !== null) args.push('--model', request.model);
  args.push(...PERMISSION_MODE[request.approve]);
  if (request.resume !== null) args.push('--resume', request.resume);
  // The CLI repeats each text that it accepts on stdout. Only this shows when no text is pending.
  if (request.accept_input) args.push('--input-format', 'stream-json', '--replay-user-messages');
  args.push(...request.args);
  const stdin = request.accept_input ? userLine(request.prompt) : request.prompt;
  return { command, args, env: {}, stdin };
}
