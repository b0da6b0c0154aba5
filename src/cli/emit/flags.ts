/** `tacho emit`: the flags. The action is loaded only when it runs. */
import type { Command } from 'commander';
import { AGENT_MESSAGE_TYPES } from '../../model/live-words.ts';
import { CA_HELP, INSECURE_HELP, numberLike, redactOption, TOKEN_HELP } from '../arguments.ts';
import type { Done, Io } from '../command.ts';
import { TRUST_FLAG } from '../state.ts';
import type { EmitFlags } from './action.ts';

const seconds = numberLike('a number of seconds', (value) => value >= 0);

/** At most 80 columns. */
const TYPES = [...AGENT_MESSAGE_TYPES, 'error'].join(', ').replace(/(.{1,76})(, |$)/g, '  $1$2\n');

const EXAMPLES = `
Each line is a JSON object with a type and its data. Missing fields (time,
session, number, ids) are added. docs/reference/live-protocol.md describes the
types:
${TYPES}
Secrets are redacted before a message is stored or sent: keys of known formats,
values of environment variables that look like secrets, and the patterns of
tacho.yaml and --redact. Ctrl-C ends the input, a second Ctrl-C the program.

Exit codes: 0 everything is stored · 1 bad lines, or the collector refused
  2 usage · 75 not delivered yet: the rest is in the outbox and is sent later

Examples:
  $ tacho emit --session build-7 messages.jsonl
  $ my-agent | tacho emit --to tcp://127.0.0.1:7070 --json`;

export function defineEmit(program: Command, io: Io, done: Done): void {
  program
    .command('emit')
    .description(
      'Send messages of the live protocol to a collector, one JSON object per line. Use it for programs that tacho does not start.',
    )
    .argument('[file]', 'the messages; "-" or nothing reads standard input')
    .option('--to <url>', 'address of the collector (default: socket in the state folder)')
    .option('--session <id>', 'session of messages that name none (default: a new session)')
    .option('--token-file <file>', TOKEN_HELP)
    .option('--ca <file>', CA_HELP)
    .option('--insecure', INSECURE_HELP)
    .option('--no-end', 'leave the sessions open, so that a later emit can continue them')
    .option('--wait <seconds>', 'how long to wait for acknowledgements', seconds, 30)
    .addOption(redactOption())
    .option('--no-redact', 'send every message unchanged')
    .option('--json', 'print the counts and the acknowledged numbers as JSON')
    .option(...TRUST_FLAG)
    .addHelpText('after', EXAMPLES)
    .action(async (file: string | undefined, flags: EmitFlags) => {
      const { emitCommand } = await import('./action.ts');
      done(await emitCommand(file, flags, io));
    });
}
