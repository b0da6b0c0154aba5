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

const listed = (text: string, before: string[] = []) => [...before, ...text.split(',')];

const HELP = `
Permissions: nobody can answer the agent's questions, so it denies what it
would ask about.
  --approve default   the rules of the agent: most only read files
  --approve edits     may edit files; most agents still deny commands, such as
                      npm test
  --approve all       may do everything
tacho agents ID shows the exact effect on one agent. Allow single commands with
the agent's own flags, after --.

Exit codes:
  0    ok
  1    the agent failed, its output stopped early, or --fail-on
  2    bad flags or files; nothing was started
  3    the model API failed
  4    the run stopped because a call was denied
  5    a limit was reached
  70   tacho could not start or record the run
  124  timeout
  127  the agent is not installed
  130  cancelled by Ctrl-C (143: by SIGTERM)

Examples:
  $ tacho run --agent demo "try it"
  $ tacho run --agent claude --approve edits --fail-on denied \\
      "fix the failing test" -- --allowedTools "Bash(npm test)"
  $ tacho run --agent claude --json-file run.jsonl --timeout 600 - < prompt.md
  $ tacho run --target review "review the last commit" -- --max-turns 5`;

function agentFlags(command: Command): void {
  command
    .optionsGroup('Agent:')
    .option('--agent <id>', 'the agent to run (see tacho agents)')
    .option('--target <name>', 'use this entry of tacho.yaml')
    .option('--model <model>', 'model for the agent')
    .addOption(
      new Option(
        '--approve <what>',
        'what the agent may do without asking; see Permissions below',
      ).choices(APPROVE_MODES),
    )
    .option('--cwd <dir>', 'working directory of the agent (default: the current one)')
    .option('--env <name=value>', "add a variable to the agent's environment (repeatable)", pair)
    .option('--resume <session>', 'resume a session of the agent')
    .option('--command <program>', "start this program instead of the agent's own")
    .option(...ACCEPT_INPUT_FLAG);
}

function outputFlags(command: Command): void {
  command
    .optionsGroup('Output:')
    .addOption(
      new Option('--output <mode>', 'print text for people, or one JSON record per line')
        .choices(OUTPUT_MODES)
        .default('human'),
    )
    .option('--stream', 'print text while it arrives (json: as model_delta records)')
    .option('--tui', 'show the run full-screen; q leaves the view, the run continues')
    .option('--json-file <path>', 'also write the records of --output json to this file')
    .option('--final-output <path>', 'write the whole final text to this file')
    .option('--events <path>', 'write the internal events to this file, as JSONL');
}

function ciFlags(command: Command): void {
  command
    .optionsGroup('CI:')
    .option(
      '--fail-on <conditions>',
      'exit with 1 on any of these, separated by commas: denied, failed-call, incomplete',
      listed,
    )
    .option('--junit <path>', 'write the result to this file, as JUnit XML')
    .option(
      '--github',
      'write annotations and a step summary for GitHub Actions (default: when run there)',
    )
    .option('--no-github', 'do not write annotations and the step summary');
}

export function defineRun(program: Command, io: Io, done: Done): void {
  const command = program
    .command('run')
    .description('Run an agent and record what it does.')
    .argument(
      '[prompt...]',
      'prompt for the agent; - reads it from standard input; words after -- are passed to the agent',
    );
  agentFlags(command);
  outputFlags(command);
  ciFlags(command);
  command
    .optionsGroup('Limits and retries:')
    .option('--timeout <seconds>', 'stop the run after this time', seconds);
  limitFlags(command);
  liveFlags(command.optionsGroup('Live:'));
  command
    .optionsGroup('Record:')
    .option('--label <name=value>', 'add a label to the run (repeatable)', pair)
    .addOption(redactOption())
    .option('--keep-raw', "keep the agent's raw output when the run is recorded")
    .option(...TRUST_FLAG)
    .optionsGroup('Options:')
    .addHelpText('after', HELP)
    .action(async (words: string[], flags: RunFlags) => {
      const { runCommand } = await import('./action.ts');
      done(await runCommand({ ...splitArguments(words, process.argv), flags, io }));
    });
}

/** Everything after the first `--` is for the agent. */
function splitArguments(
  words: string[],
  argv: readonly string[],
): { prompt: string | null; args: string[] } {
  const mark = argv.indexOf('--');
  const args = mark < 0 ? [] : argv.slice(mark + 1);
  const own = words.slice(0, words.length - args.length);
  return { prompt: own.length === 0 ? null : own.join(' '), args };
}
