/** `tacho eval`: the flags. The action is loaded only when it runs. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { APP_LIMITS } from '../../app/limits.ts';
import { OUTPUT_MODES } from '../../model/words.ts';
import { countFrom, numberLike } from '../arguments.ts';
import type { Done, Io } from '../command.ts';
import { ACCEPT_INPUT_FLAG, limitFlags, liveFlags } from '../run-flags.ts';
import { TRUST_FLAG } from '../state.ts';
import type { EvalFlags } from './action.ts';

const whole = countFrom(1);

function workers(text: string): number {
  const value = whole(text);
  if (value > APP_LIMITS.eval_workers_max)
    throw new InvalidArgumentError(`Give at most ${APP_LIMITS.eval_workers_max}.`);
  return value;
}

const share = numberLike('a number from 0 to 1', (value) => value >= 0 && value <= 1);

const EXAMPLES = `
Exit codes:
  0 every test passed; 1 not every test passed; 2 mistake in a file or flag; 130 cancelled

Examples:
  $ tacho eval init
  $ tacho eval evals/first.yaml --agent demo
  $ tacho eval evals/skills.yaml --target review
  $ tacho eval evals/skills.yaml --transcript .tacho/transcripts/*/*.jsonl --each
  $ tacho eval evals/skills.yaml --run last --junit report.xml
  $ tacho eval evals/skills.yaml --target review --repeat 5 --results now.jsonl
  $ tacho eval evals/*.yaml --list
  $ tacho eval evals/skills.yaml --target review --test greets
  $ tacho eval compare before.jsonl now.jsonl --fail-on-regression`;

const GROUPS = {
  runs: 'Which runs to grade:',
  grading: 'Grading:',
  output: 'Output:',
  limits: 'Limits and retries of new runs:',
  live: 'New runs, live:',
} as const;

export function defineEval(program: Command, io: Io, done: Done): void {
  const command = program
    .command('eval')
    .description('Run tests with an agent, or grade recorded runs and transcripts.')
    .argument('[file...]', 'eval files')
    .option(...TRUST_FLAG)
    .optionsGroup(GROUPS.runs)
    .option('--target <name>', 'start a run per test with this target of tacho.yaml')
    .option('--agent <id>', 'start a run per test with this agent')
    .option('--run <run...>', 'grade recorded runs: last, last~1, ids or their beginnings')
    .option('--transcript <file...>', 'grade the transcripts in these files')
    .option('--each', 'grade every recorded run or transcript by every test')
    .optionsGroup(GROUPS.grading)
    .option('--test <id...>', 'only the tests with these ids; * matches any text')
    .option('--list', 'check the files and list the tests, without running or grading')
    .option('--threshold <x>', 'score from which a test passes, 0 to 1 (default: 0.8)', share)
    .option('--repeat <n>', 'run each test N times', whole)
    .option(
      '--workers <n>',
      'run N agents at a time, which needs a workspace in the eval file (default: 1), or grade N transcripts at a time (default: 4)',
      workers,
    )
    .option('--fail-fast', 'stop at the first test that fails')
    .optionsGroup(GROUPS.output)
    .option('-v, --verbose', 'also list the assertions that pass')
    .addOption(
      new Option('--output <mode>', 'human text, or one JSON object')
        .choices(OUTPUT_MODES)
        .default('human'),
    )
    .option('--results <path>', 'write one JSON line per result, each as soon as it is known')
    .option(
      '--resume <path>',
      'resume an interrupted eval: skip the results in this file, add the rest',
    )
    .option('--junit <path>', 'write a JUnit XML report')
    .option('--github', 'write annotations and a step summary (default: in GitHub Actions)')
    .option('--no-github', 'do not write annotations or a step summary')
    .optionsGroup(GROUPS.limits);
  limitFlags(command).optionsGroup(GROUPS.live);
  liveFlags(command)
    .option(...ACCEPT_INPUT_FLAG)
    .addHelpText('after', EXAMPLES)
    .action(async (files: string[], flags: EvalFlags) => {
      const { evalCommand } = await import('./action.ts');
      done(await evalCommand({ files, flags, io }));
    });
  defineInit(command, io, done);
  defineCompare(command, io, done);
}

function defineInit(parent: Command, io: Io, done: Done): void {
  parent
    .command('init')
    .description('Write a first eval file, with comments. Existing files are kept.')
    .argument('[folder]', 'folder to write to', 'evals')
    .addHelpText(
      'after',
      '\nExample:\n  $ tacho eval init && tacho eval evals/first.yaml --agent demo',
    )
    .action(async (folder: string) => {
      const { initCommand } = await import('./init.ts');
      done(await initCommand(folder, io));
    });
}

function defineCompare(parent: Command, io: Io, done: Done): void {
  parent
    .command('compare')
    .description('Compare two results files: better, worse, more expensive, slower.')
    .argument('<before>', 'results file of the earlier eval')
    .argument('<after>', 'results file of the later eval')
    .option('--fail-on-regression', 'exit with 1 when a test got worse')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExample:\n  $ tacho eval compare main.jsonl now.jsonl --fail-on-regression',
    )
    .action(async (a: string, b: string, flags: { failOnRegression?: true; json?: true }) => {
      const { compareCommand } = await import('./compare.ts');
      done(await compareCommand([a, b], flags, io));
    });
}
