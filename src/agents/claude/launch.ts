/** How the CLI is started. Pure. The prompt goes through stdin: any length, no quoting. */
import type { LaunchPlan, LaunchRequest } from '../../model/agent.ts';
import type { ApproveMode } from '../../model/words.ts';

const PERMISSION_MODE: Record<ApproveMode, string | null> = {
  default: null,
  edits: 'acceptEdits',
  all: 'bypassPermissions',
};

export function launch(request: LaunchRequest): LaunchPlan {
  const [command = 'claude', ...leading] = request.command ?? [];
  // Without --verbose the CLI refuses stream-json.
  const args = [...leading, '-p', '--output-format', 'stream-json', '--verbose'];
  if (request.stream) args.push('--include-partial-messages');
  if (request.model !== null) args.push('--model', request.model);
  const mode = PERMISSION_MODE[request.approve];
  if (mode !== null) args.push('--permission-mode', mode);
  if (request.resume !== null) args.push('--resume', request.resume);
  args.push(...request.args);
  return { command, args, env: {}, stdin: request.prompt };
}
