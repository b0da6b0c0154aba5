/** The command line of the CLI. Pure. Without a prompt argument the CLI reads stdin: any length, no quoting. */
import type { LaunchPlan, LaunchRequest } from '../../model/agent.ts';
import type { ApproveMode } from '../../model/words.ts';

const APPROVAL_MODE: Record<ApproveMode, readonly string[]> = {
  default: [],
  edits: ['--approval-mode', 'auto-edit'],
  all: ['--approval-mode', 'yolo'],
};

export function launch(request: LaunchRequest): LaunchPlan {
  const [command = 'qwen', ...leading] = request.command ?? [];
  const args = [...leading, '--output-format', 'stream-json'];
  if (request.stream) args.push('--include-partial-messages');
  if (request.model !== null) args.push('--model', request.model);
  args.push(...APPROVAL_MODE[request.approve]);
  if (request.resume !== null) args.push('--resume', request.resume);
  args.push(...request.args);
  return { command, args, env: {}, stdin: request.prompt };
}
