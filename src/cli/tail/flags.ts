/** `tacho tail`: the flags. The action is loaded only when it runs. */
import type { Command } from 'commander';
import { CA_HELP, each, INSECURE_HELP, TOKEN_HELP } from '../arguments.ts';
import type { Done, Io } from '../command.ts';
import type { TailFlags } from './action.ts';

const EXAMPLES = `
Each line has the local time, the session and what happened. A run's session is
named by the beginning of its id, which tacho show accepts if it has the run.

Examples:
  $ tacho tail                                     every session
  $ tacho tail --to tcp://127.0.0.1:7070 --json    the messages, one per line
  $ tacho tail --no-follow --type tool_call_response`;

export function defineTail(program: Command, io: Io, done: Done): void {
  program
    .command('tail')
    .description('Watch the sessions of a collector: calls, texts and errors as they happen.')
    .option('--to <url>', 'address of the collector (default: socket in the state folder)')
    .option('--session <id>', 'show only this session: its id or its name here (repeatable)', each)
    .option('--from <seq>', 'start with message number SEQ of each session (default: new messages)')
    .option('--type <type>', 'show only messages of this type (repeatable)', each)
    .option('--json', 'print the messages unchanged, one per line')
    .option('--no-follow', 'show what is stored, then exit')
    .option('--token-file <file>', TOKEN_HELP)
    .option('--ca <file>', CA_HELP)
    .option('--insecure', INSECURE_HELP)
    .addHelpText('after', EXAMPLES)
    .action(async (flags: TailFlags) => {
      const { tailCommand } = await import('./action.ts');
      done(await tailCommand(flags, io));
    });
}
