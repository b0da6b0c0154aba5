/**
 * The command line of the CLI. Pure. The CLI takes a prompt only as an argument; text on stdin would be added to it. A
 * prompt with a leading dash follows `--`, so that it is not read as an option.
 */
import { TachoError } from '../../lib/errors.ts';
import { utf8Bytes } from '../../lib/utf8.ts';
import type { LaunchPlan, LaunchRequest } from '../../model/agent.ts';

/** Linux accepts no longer argument, including a zero byte. */
const ARGUMENT_BYTES_MAX = 128 * 1024 - 16;

export function launch(request: LaunchRequest): LaunchPlan {
  const { prompt } = request;
  if (utf8Bytes(prompt) > ARGUMENT_BYTES_MAX) {
    const text = `Cline takes its prompt as an argument, which is limited to ${ARGUMENT_BYTES_MAX} bytes; put the text into a file and name the file in the prompt`;
    throw new TachoError('usage', text, { stage: 'request' });
  }
  if (request.resume !== null) {
    const text = 'Cline cannot continue a session with a prompt; start it with: cline --id SESSION';
    throw new TachoError('usage', text, { stage: 'request' });
  }
  const [command = 'cline', ...leading] = request.command ?? [];
  const args = [...leading, '--json'];
  // Without the option, every tool is approved.
  if (request.approve !== 'all') args.push('--auto-approve', 'false');
  if (request.model !== null) args.push('--model', request.model);
  args.push(...request.args, ...(prompt.startsWith('-') ? ['--'] : []), prompt);
  // Otherwise it starts a daemon that outlives the run.
  return { command, args, env: { CLINE_SESSION_BACKEND_MODE: 'local' }, stdin: null };
}
