/** The command line of a CLI of the family. Pure. */
import type { LaunchPlan, LaunchRequest } from '../../../model/agent.ts';

/** `variable`: with permissions that the CLI adds to its configuration. */
export const launchOf =
  (program: string, variable: string) =>
  (request: LaunchRequest): LaunchPlan => {
    const [command = program, ...leading] = request.command ?? [];
    // Without --thinking stdout has no reasoning.
    const args = [...leading, 'run', '--format', 'json', '--thinking'];
    if (request.model !== null) args.push('--model', request.model);
    if (request.resume !== null) args.push('--session', request.resume);
    if (request.approve === 'all') args.push('--auto');
    const env = request.approve === 'edits' ? { [variable]: '{"edit":"allow"}' } : {};
    args.push(...request.args);
    // An argument with a space would reach the model in quotation marks.
    return { command, args, env, stdin: request.prompt };
  };
