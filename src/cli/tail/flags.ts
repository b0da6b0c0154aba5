/** `tacho tail`: what a collector gets, as it comes. */
import type { Command } from 'commander';
import { each, INSECURE_HELP } from '../arguments.ts';
import type { Done, Io } from '../command.ts';
import type { TailFlags } from './action.ts';

const EXAMPLES = `
Examples:
  $ tacho tail                                     every session of this folder's collector
  $ tacho tail --to tcp://127.0.0.1:7070 --json    the messages as they came, one per line
  $ tacho tail --no-follow --from 1 --type tool_call_response`;

export function defineTail(program: Command, io: Io, done: Done): void {
  program
    .command('tail')
    .description('watch the sessions of a collector: calls, texts and errors as they happen')
    .option('--to <url>', "the collector (default: the socket of the state folder's)")
    .option(
      '--session <id>',
      'only this session, by its id or the end of it that is shown; may be given several times',
      each,
    )
    .option(
      '--from <seq>',
      'from this message of each session on (default: what comes from now on)',
    )
    .option('--type <type>', 'only messages of this type; may be given several times', each)
    .option('--json', 'the messages as they came')
    .option('--no-follow', 'end when everything that is stored has been shown')
    .option('--token-file <file>', 'the token that the collector asks for')
    .option('--ca <file>', "certificates that vouch for the collector's")
    .option('--insecure', INSECURE_HELP)
    .addHelpText('after', EXAMPLES)
    .action(async (flags: TailFlags) => {
      const { tailCommand } = await import('./action.ts');
      done(await tailCommand(flags, io));
    });
}
