/** `tacho run`: the flags. The action is loaded only when it runs. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { APPROVE_MODES, OUTPUT_MODES } from '../../model/words.ts';
import { countFrom, INSECURE_HELP, redactOption } from '../arguments.ts';
import type { Done, Io } from '../command.ts';
import { stateFlag, TRUST_FLAG } from '../state.ts';
import type { RunFlags } from './action.ts';

function seconds(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0)
    throw new InvalidArgumentError('Give a number of seconds over 0.');
  return value;
}

function dollars(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0)
    throw new InvalidArgumentError('Give an amount in US dollars over 0.');
  return value;
}

function pair(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Give NAME=VALUE.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

const EXAMPLES = `
Exit codes: 0 ok · 1 the agent failed or stopped without its end record · 2 usage · 3 model API failed · 4 refused
  5 limit reached · 70 tacho could not start or record the run · 124 timeout · 127 agent not installed · 130/143 cancelled

Examples:
  $ tacho run --agent demo "try it"
  $ tacho run --agent claude --approve edits "fix the failing test"
  $ tacho run --agent claude --output json --timeout 600 - < prompt.md > run.jsonl
  $ tacho run --target review "look at the last commit" -- --max-turns 5`;

/** They stand first in the help: where a run goes to. */
function liveOptions(command: Command): Command {
  return command
    .option(
      '--live <url>',
      'send the run to a collector while it goes on (unix:PATH, tcp://HOST:PORT …)',
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

export function defineRun(program: Command, io: Io, done: Done): void {
  liveOptions(program.command('run'))
    .description('run an agent and record it')
    .argument(
      '[prompt...]',
      'what the agent is told; - or nothing with a piped stdin: read from there; after --: passed to the agent',
    )
    .option('--agent <id>', 'which agent (see tacho agents)')
    .option('--target <name>', 'a named entry of tacho.yaml')
    .option('--model <model>', 'the model the agent shall use')
    .option('--cwd <dir>', 'the folder the agent works in (default: this one)')
    .addOption(
      new Option('--output <mode>', 'human text, or one JSON record a line')
        .choices(OUTPUT_MODES)
        .default('human'),
    )
    .option('--tui', 'a full-screen live view')
    .addOption(
      new Option(
        '--approve <what>',
        "what the agent may do without asking (default: the agent's own default)",
      ).choices(APPROVE_MODES),
    )
    .option('--events <path>', 'also write the internal events there, as JSONL')
    .option('--stream', 'show text as it arrives (json: as model_delta records)')
    .option('--final-output <path>', 'write the whole final text there')
    .option('--junit <path>', 'write the result as JUnit XML')
    .option('--github', 'annotations and a step summary (default: in GitHub Actions)')
    .option('--no-github', 'neither')
    .option('--timeout <seconds>', 'end the agent after this time', seconds)
    .option('--max-cost <usd>', 'end the run when it has cost more', dollars)
    .option(
      '--max-tokens <n>',
      'end the run when it has used more, cached ones counted',
      countFrom(1),
    )
    .option('--max-tool-calls <n>', 'end the run at the call after so many', countFrom(0))
    .option('--max-steps <n>', 'end the run at the step after so many', countFrom(1))
    .option('--loop-guard <n>', 'end the run at the nth call with the same input', countFrom(2))
    .option(
      '--retries <n>',
      'run the agent again, up to so often, when the model API failed or it stopped at once',
      countFrom(0),
    )
    .option(
      '--retry-wait <seconds>',
      'before the first retry; each next one waits twice as long (default: 2)',
      seconds,
    )
    .option('--resume <session>', "go on with one of the agent's sessions")
    .option('--env <name=value>', "add to the agent's environment (repeatable)", pair)
    .option('--label <name=value>', 'label the run (repeatable)', pair)
    .addOption(redactOption())
    .option(
      '--accept-input',
      'let others talk to the agent while it runs, where it can take that: with --live, whoever may inject at the collector',
    )
    .option('--keep-raw', "keep the agent's raw output after the run is recorded")
    .option(...TRUST_FLAG)
    .addHelpText('after', EXAMPLES)
    .action(async (words: string[], flags: RunFlags, command: Command) => {
      const { runCommand } = await import('./action.ts');
      const { prompt, args } = splitArguments(words, process.argv);
      done(await runCommand({ prompt, args, flags, state_dir: stateFlag(command), io }));
    });
}

/** Everything behind the first `--` is the agent's. */
function splitArguments(
  words: string[],
  argv: readonly string[],
): { prompt: string | null; args: string[] } {
  const mark = argv.indexOf('--');
  const args = mark < 0 ? [] : argv.slice(mark + 1);
  const own = words.slice(0, words.length - args.length);
  return { prompt: own.length === 0 ? null : own.join(' '), args };
}
