/** Starts an agent through the client program, which speaks the protocol with it. Pure. */
import { TachoError } from '../../lib/errors.ts';
import type { LaunchPlan, LaunchRequest } from '../../model/agent.ts';
import { lineOf } from './input.ts';

const USAGE =
  'name the program that speaks the protocol: tacho run --agent acp PROMPT -- PROGRAM [ARGUMENT…], or a command in tacho.yaml';

export function launch(request: LaunchRequest): LaunchPlan {
  const { node, entry } = request.self;
  const agent = [...(request.command ?? []), ...request.args];
  if (agent.length === 0) throw new TachoError('usage', USAGE, { stage: 'request' });
  const args = [entry, '--approve', request.approve];
  if (request.model !== null) args.push('--model', request.model);
  if (request.resume !== null) args.push('--resume', request.resume);
  if (request.accept_input) args.push('--input');
  args.push('--', ...agent);
  const stdin = request.accept_input ? lineOf({ say: request.prompt }) : request.prompt;
  return { command: node, args, env: {}, stdin };
}
