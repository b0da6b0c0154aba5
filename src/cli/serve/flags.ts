/** `tacho serve`: the flags. The action is loaded only when it runs. */
import { type Command, InvalidArgumentError } from 'commander';
import type { Done, Io } from '../command.ts';
import { stateFlag, TRUST_FLAG } from '../state.ts';
import type { ServeFlags } from './action.ts';

function seconds(text: string): number {
  const value = Number(text);
  if (!(value >= 0.1 && value <= 86_400))
    throw new InvalidArgumentError('Give a number of seconds from 0.1 to 86400.');
  return value;
}

const EXAMPLES = `
Examples:
  $ tacho serve                                   on the unix socket of the state folder
  $ tacho serve --tcp 127.0.0.1:7070 --json       on a port of this machine; says when it is ready
  $ tacho serve --tcp 0.0.0.0:7070 --token-file tokens.json --tls-cert cert.pem --tls-key key.pem`;

export function defineServe(program: Command, io: Io, done: Done): void {
  program
    .command('serve')
    .description(
      'collect what agents tell by the live protocol: keep it durably, acknowledge it, pass it on to those who subscribe',
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
    .option(
      '--force',
      'take over from a collector that holds the state folder; risks its record if it lives',
    )
    .option('--json', 'say on stdout, as one line of JSON, where it listens')
    .option(...TRUST_FLAG)
    .addHelpText('after', EXAMPLES)
    .action(async (flags: ServeFlags, command: Command) => {
      const { serveCommand } = await import('./action.ts');
      done(await serveCommand({ flags, state_flag: stateFlag(command) }, io));
    });
}
