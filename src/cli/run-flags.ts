/** Flags of the commands that run agents. */
import type { Command } from 'commander';
import { countFrom, INSECURE_HELP, numberLike } from './arguments.ts';

export const seconds = numberLike('a number of seconds over 0', (value) => value > 0);
const dollars = numberLike('an amount in US dollars over 0', (value) => value > 0);

export function liveFlags(command: Command): Command {
  return command
    .option(
      '--live <url>',
      'send the run to a collector while it runs: unix: (the one of this state folder), unix:PATH, tcp://HOST:PORT …',
    )
    .option('--live-token-file <file>', 'the token for the collector')
    .option('--live-ca <file>', "certificates that vouch for the collector's")
    .option('--insecure', INSECURE_HELP)
    .option(
      '--call-timeout <seconds>',
      'with --live: a call that runs longer is reported as timed out; it is not ended',
      seconds,
    );
}

export function limitFlags(command: Command): Command {
  return command
    .option('--max-cost <usd>', 'end the run when it has cost more', dollars)
    .option(
      '--max-tokens <n>',
      'end the run when it has used more, cached ones counted',
      countFrom(1),
    )
    .option('--max-tool-calls <n>', 'stop after N tool calls', countFrom(0))
    .option('--max-steps <n>', 'stop after N steps', countFrom(1))
    .option('--loop-guard <n>', 'end the run at the nth call with the same input', countFrom(2))
    .option(
      '--retries <n>',
      'retry up to N times when the model API failed or the agent stopped at once',
      countFrom(0),
    )
    .option(
      '--retry-wait <seconds>',
      'before the first retry; each next one waits twice as long (default: 2)',
      seconds,
    );
}

export const ACCEPT_INPUT_FLAG = [
  '--accept-input',
  'let others talk to the agent while it runs, where it can take that: with --live, whoever may inject at the collector',
] as const;
