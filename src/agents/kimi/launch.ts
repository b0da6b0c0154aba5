/**
 * The command line of the CLI. Pure. The CLI takes a prompt only as an argument. It is joined with its option, so that a
 * leading dash is not read as another option.
 */
import { TachoError } from '../../lib/errors.ts';
import { utf8Bytes } from '../../lib/utf8.ts';
import type { LaunchPlan, LaunchRequest } from '../../model/agent.ts';

/** Linux accepts no longer argument, including the option and a zero byte. */
const ARGUMENT_BYTES_MAX = 128 * 1024 - 16;

export function launch(request: LaunchRequest): LaunchPlan {
  const { prompt } = request;
  if (utf8Bytes(prompt) > ARGUMENT_BYTES_MAX) {
    const text = `Kimi Code takes its prompt as an argument, which is limited to ${ARGUMENT_BYTES_MAX} bytes; put the text into a file and name the file in the prompt`;
    throw new TachoError('usage', text, { stage: 'request' });
  }
  const [command = 'kimi', ...leading] = request.command ?? [];
  const args = [...leading, `--prompt=${prompt}`, '--output-format', 'stream-json'];
  if (request.model !== null) args.push('--model', request.model);
  if (request.resume !== null) args.push('--session', request.resume);
  args.push(...request.args);
  return { command, args, env: { KIMI_CODE_NO_AUTO_UPDATE: '1' }, stdin: null };
}
