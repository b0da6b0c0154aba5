/** The command line of the CLI. Pure. */
import { utf8Bytes } from '../../lib/utf8.ts';
import type { LaunchPlan, LaunchRequest } from '../../model/agent.ts';
import type { ApproveMode } from '../../model/words.ts';

const ALLOW: Record<ApproveMode, readonly string[]> = {
  default: [],
  edits: ['--allow-tool=write'],
  all: ['--allow-all'],
};

/** An argument that every system accepts. Without `-p` the CLI reads a longer prompt from stdin, as documented. */
const ARGUMENT_BYTES_MAX = 30_000;

export function launch(request: LaunchRequest): LaunchPlan {
  const { prompt } = request;
  const [command = 'copilot', ...leading] = request.command ?? [];
  const piped = utf8Bytes(prompt) > ARGUMENT_BYTES_MAX;
  const args = [...leading];
  // Joined with its option, so that a prompt with a leading dash is not read as an option.
  if (!piped) args.push(...(prompt.startsWith('-') ? [`--prompt=${prompt}`] : ['-p', prompt]));
  args.push('--output-format', 'json', '--stream', request.stream ? 'on' : 'off');
  if (request.model !== null) args.push('--model', request.model);
  args.push(...ALLOW[request.approve]);
  if (request.resume !== null) args.push(`--resume=${request.resume}`);
  args.push(...request.args);
  return { command, args, env: {}, stdin: piped ? prompt : null };
}
