/** `tacho serve`: the flags. The action is loaded only when it runs. */
import { type Command, Option } from 'commander';
import { numberLike } from '../arguments.ts';
import type { Done, Io } from '../command.ts';
import { TRUST_FLAG } from '../state.ts';
import type { ServeFlags } from './action.ts';

const seconds = numberLike(
  'a number of seconds from 0.1 to 86400',
  (value) => value >= 0.1 && value <= 86_400,
);

const EXAMPLES = `
Examples:
  $ tacho serve                                   on the unix socket of the state folder
  $ tacho serve --tcp 127.0.0.1:7070 --json       on a port of this machine; says when it is ready
  $ tacho serve --tcp 0.0.0.0:7070 --token-file tokens.json --tls-cert cert.pem --tls-key key.pem`;

export function defineServe(program: Command, io: Io, done: Done): void {
  program
    .command('serve')
    .description(
      'collect live events from agents, store them durably and forward them to subscribers',
    )
    .option('--socket <path>', 'listen on this unix socket (default: one in the state folder)')
    .option(
      '--tcp <host:port>',
      'listen on this address; other than loopback needs a token and TLS',
    )
    .option('--pipe <path>', 'listen on the named pipes PATH.in and PATH.out')
    .option('--stdio', 'speak the protocol on stdin and stdout; ends with stdin')
    .option(
      '--token-file <file>',
      'tokens and what each may do; needed by every TCP connection then',
    )
    .option('--tls-cert <file>', 'certificate for TCP, PEM')
    .option('--tls-key <file>', 'its key, PEM')
    .option('--heartbeat <seconds>', 'between two signs of life (default: 30)', seconds)
    // Scripts of earlier versions pass it; there is no dashboard that it could switch off.
    .addOption(new Option('--no-dashboard').hideHelp())
    .option(
      '--force',
      'take over from a collector that holds the state folder; risks its record if it lives',
    )
    .option('--json', 'say on stdout, as one line of JSON, where it listens')
    .option(...TRUST_FLAG)
    .addHelpText('after', EXAMPLES)
    .action(async (flags: ServeFlags) => {
      const { serveCommand } = await import('./action.ts');
      done(await serveCommand(flags, io));
    });
}
