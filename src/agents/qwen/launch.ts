/** How the CLI is started. Pure. Without a prompt among the arguments it reads the whole of stdin as one: any length, no quoting. */
import type { LaunchPlan, LaunchRequest } from '../../model/agent.ts';
import type { ApproveMode } from '../../model/words.ts';

const APPROVAL_MODE: Record<ApproveMode, string | null> = {
  default: null,
  edits: 'auto-edit',
  all: 'yolo',
};

export function launch(request: LaunchRequest): LaunchPlan {
  const [command = 'qwen', ...leading] = request.command ?? [];
  const args = [...leading, '--output-format', 'stream-json'];
  if (request.stream) args.push('--include-partial-messages');
  if (request.model !== null) args.push('--model', request.model);
  const mode = APPROVAL_MODE[request.approve];
  if (mode !== null) args.push('--approval-mode', mode);
  if (request.resume !== null) args.push('--resume', request.resume);
  args.push(...request.args);
  return { command, args, env: {}, stdin: request.prompt };
}
