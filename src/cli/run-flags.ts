/** Flags of the commands that run agents. */
import type { Command } from 'commander';
import { COST_IN_TIME } from '../agents/cost-in-time.ts';
import { countFrom, INSECURE_HELP, numberLike } from './arguments.ts';

export const seconds = numberLike('a number of seconds greater than 0', (value) => value > 0);
const dollars = numberLike('an amount in US dollars greater than 0', (value) => value > 0);

export function liveFlags(command: Command): Command {
  return collectorFlags(command, 'send the run to a collector while it runs').option(
    '--call-timeout <seconds>',
    'report a call as timed out at the collector after this time; the call itself continues',
    seconds,
  );
}

/** Where to send, and how. */
export function collectorFlags(command: Command, what: string): Command {
  return command
    .option(
      '--live [url]',
      `${what}: unix:PATH, tcp://HOST:PORT … (default: the collector of the state folder)`,
    )
    .option('--live-token-file <file>', 'file with the token for the collector')
    .option('--live-ca <file>', "file with the certificates that sign the collector's")
    .option('--insecure', INSECURE_HELP);
}

export function limitFlags(command: Command): Command {
  return command
    .option(
      '--max-cost <usd>',
      `stop the run when it costs more; in time only with ${COST_IN_TIME.join(', ')}`,
      dollars,
    )
    .option(
      '--max-tokens <n>',
      'stop the run when it uses more tokens, cached ones included',
      countFrom(1),
    )
    .option('--max-tool-calls <n>', 'stop the run after N tool calls', countFrom(0))
    .option('--max-steps <n>', 'stop the run after N steps', countFrom(1))
    .option('--loop-guard <n>', 'stop the run at the nth call with the same input', countFrom(2))
    .option(
      '--best-effort-limits',
      'accept limits on figures that the agent reports too late; check them when the run has ended',
    )
    .option(
      '--retries <n>',
      'retry at most N times when the model API failed or the agent stopped immediately',
      countFrom(0),
    )
    .option(
      '--retry-wait <seconds>',
      'wait before the first retry; each further retry waits twice as long (default: 2)',
      seconds,
    );
}

export const ACCEPT_INPUT_FLAG = [
  '--accept-input',
  'let clients of the collector talk to the agent while it runs, if the agent supports it',
] as const;
