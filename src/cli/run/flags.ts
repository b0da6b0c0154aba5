/** `tacho run`: the flags. The action is loaded only when it runs. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { APPROVE_MODES, OUTPUT_MODES } from '../../model/words.ts';
import { redactOption } from '../arguments.ts';
import type { Done, Io } from '../command.ts';
import { ACCEPT_INPUT_FLAG, limitFlags, liveFlags, seconds } from '../run-flags.ts';
import { TRUST_FLAG } from '../state.ts';
import type { RunFlags } from './action.ts';

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

export function defineRun(program: Command, io: Io, done: Done): void {
  // Where the run goes to is first in the help.
  const command = liveFlags(program.command('run'))
    .description('run an agent and record it')
    .argument(
      '[prompt...]',
      'what the agent is told; - or nothing with a piped stdin: read from there; after --: passed to the agent',
    )
    .option('--agent <id>', 'which agent (see tacho agents)')
    .option('--target <name>', 'a named entry of tacho.yaml')
    .option('--command <program>', "the program to start instead of the agent's own")
    .option('--model <model>', 'the model the agent shall use')
    .option('--cwd <dir>', 'the folder the agent works in (default: this one)')
    .addOption(
      new Option('--output <mode>', 'human text, or one JSON record a line')
        .choices(OUTPUT_MODES)
        .default('human'),
    )
    .option('--tui', 'show the run full-screen; q leaves the view, the run continues')
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
    .option('--timeout <seconds>', 'end the agent after this time', seconds);
  limitFlags(command)
    .option('--resume <session>', "go on with one of the agent's sessions")
    .option('--env <name=value>', "add to the agent's environment (repeatable)", pair)
    .option('--label <name=value>', 'label the run (repeatable)', pair)
    .addOption(redactOption())
    .option(...ACCEPT_INPUT_FLAG)
    .option('--keep-raw', "keep the agent's raw output after the run is recorded")
    .option(...TRUST_FLAG)
    .addHelpText('after', EXAMPLES)
    .action(async (words: string[], flags: RunFlags) => {
      const { runCommand } = await import('./action.ts');
      done(await runCommand({ ...splitArguments(words, process.argv), flags, io }));
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
