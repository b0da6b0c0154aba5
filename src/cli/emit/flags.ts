/** `tacho emit`: any program's messages to a collector. */
import type { Command } from 'commander';
import { INSECURE_HELP, numberLike, redactOption } from '../arguments.ts';
import type { Done, Io } from '../command.ts';
import { TRUST_FLAG } from '../state.ts';
import type { EmitFlags } from './action.ts';

const seconds = numberLike('a number of seconds', (value) => value >= 0);

const EXAMPLES = `
A line is a message, or the part of one that cannot be guessed: its type and its data. Time, session, number, ids are added.

Exit codes: 0 all is stored at the collector · 1 lines were bad, or the collector refused · 2 usage
  75 not delivered yet: what is left is in the outbox, and the next tacho sends it
Secrets are redacted before a message is stored or sent: known shapes of keys, secret-looking variables of the environment,
  patterns of tacho.yaml and of --redact. Everything else arrives as it was given.
Ctrl-C ends the input, as its end would; a second one leaves at once.

Examples:
  $ tacho emit --session build-7 messages.jsonl
  $ my-agent | tacho emit --to tcp://127.0.0.1:7070 --json`;

export function defineEmit(program: Command, io: Io, done: Done): void {
  program
    .command('emit')
    .description('send messages of the live protocol to a collector, one JSON object a line')
    .argument('[file]', 'the messages; - or nothing: standard input')
    .option('--to <url>', "the collector (default: the state folder's unix socket)")
    .option('--session <id>', 'the session of messages that name none (default: a new one)')
    .option('--token-file <file>', 'the token for the collector')
    .option('--ca <file>', "certificates that vouch for the collector's")
    .option('--insecure', INSECURE_HELP)
    .option('--no-end', 'leave the sessions open, for a later emit to go on with')
    .option('--wait <seconds>', 'how long to wait for the acknowledgements', seconds, 30)
    .addOption(redactOption())
    .option('--no-redact', 'send every message as it is')
    .option('--json', 'print what was acknowledged as JSON')
    .option(...TRUST_FLAG)
    .addHelpText('after', EXAMPLES)
    .action(async (file: string | undefined, flags: EmitFlags) => {
      const { emitCommand } = await import('./action.ts');
      done(await emitCommand(file, flags, io));
    });
}
