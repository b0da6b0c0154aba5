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
  $ tacho serve                                on a socket in the state folder
  $ tacho serve --tcp 127.0.0.1:7070 --json    on a port of this machine
  $ tacho serve --tcp 0.0.0.0:7070 --token-file tokens.json \\
      --tls-cert cert.pem --tls-key key.pem`;

export function defineServe(program: Command, io: Io, done: Done): void {
  program
    .command('serve')
    .description(
      'Collect live events from agents, store them durably and forward them to subscribers, and follow the sessions of agents as tacho watch does. Runs until Ctrl-C.',
    )
    .option('--socket <path>', 'listen on this unix socket (default: a socket in the state folder)')
    .option(
      '--tcp <host:port>',
      'listen on this address; any address but loopback needs --token-file and TLS',
    )
    .option('--pipe <path>', 'listen on the named pipes PATH.in and PATH.out')
    .option('--stdio', 'use standard input and output as a connection; exit when the input ends')
    .option(
      '--token-file <file>',
      'file with a token, or JSON with several and their permissions; TCP connections must send one',
    )
    .option('--tls-cert <file>', 'TLS certificate (PEM) for --tcp')
    .option('--tls-key <file>', 'private key (PEM) of the certificate')
    .option(
      '--heartbeat <seconds>',
      'interval of heartbeats to idle connections (default: 30)',
      seconds,
    )
    // Accepted for scripts of earlier versions; it has no effect.
    .addOption(new Option('--no-dashboard').hideHelp())
    .option(
      '--force',
      'take the state folder over from another collector; messages may be lost if it still runs',
    )
    .option(
      '--no-watch',
      'do not follow the sessions of agents; otherwise a second process runs tacho watch',
    )
    .option('--json', 'print the addresses as a line of JSON when it is ready')
    .option(...TRUST_FLAG)
    .addHelpText('after', EXAMPLES)
    .action(async (flags: ServeFlags) => {
      const { serveCommand } = await import('./action.ts');
      done(await serveCommand(flags, io));
    });
}
