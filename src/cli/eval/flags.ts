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
Exit codes: 0 every test passed · 1 one failed · 2 a bad file, with line and field · 130 cancelled

Examples:
  $ tacho eval evals/skills.yaml --target review
  $ tacho eval evals/skills.yaml --transcript .tacho/transcripts/*/*.jsonl --each
  $ tacho eval evals/skills.yaml --run last --junit report.xml
  $ tacho eval evals/skills.yaml --target review --repeat 5 --results now.jsonl
  $ tacho eval compare before.jsonl now.jsonl --fail-on-regression`;

export function defineEval(program: Command, io: Io, done: Done): void {
  const command = program
    .command('eval')
    .description('grade runs: those that tests ask for, recorded ones, or transcripts')
    .argument('[file...]', 'eval files')
    .option('--target <name>', 'run the tests with this entry of tacho.yaml')
    .option('--agent <id>', 'run the tests with this agent')
    .option('--transcript <file...>', 'grade the transcripts in these files instead')
    .option('--each', 'grade every transcript by every test')
    .option('--run <run...>', 'grade recorded runs: ids, beginnings of ids, or last')
    .option('--threshold <x>', 'score from which a test passes (default: 0.8)', share)
    .option('--repeat <n>', 'run each test so many times', whole)
    .option('--workers <n>', 'so many at a time (default: 1 agent, 4 gradings)', workers)
    .option('--fail-fast', 'stop at the first test that fails')
    .option('--results <path>', 'write one JSON line a result, as they come')
    .option('--resume <path>', 'write results there, and leave out what it has already')
    .option('--junit <path>', 'write JUnit XML')
    .option('--github', 'annotations and a step summary (default: in GitHub Actions)')
    .option('--no-github', 'neither')
    .addOption(
      new Option('--output <mode>', 'human text, or one JSON object')
        .choices(OUTPUT_MODES)
        .default('human'),
    );
  limitFlags(liveFlags(command))
    .option(...ACCEPT_INPUT_FLAG)
    .option(...TRUST_FLAG)
    .addHelpText('after', EXAMPLES)
    .action(async (files: string[], flags: EvalFlags) => {
      const { evalCommand } = await import('./action.ts');
      done(await evalCommand({ files, flags, io }));
    });
  defineCompare(command, io, done);
}

function defineCompare(parent: Command, io: Io, done: Done): void {
  parent
    .command('compare')
    .description('compare two results files: what got better, worse, dearer, slower')
    .argument('<a>', 'the results before')
    .argument('<b>', 'the results now')
    .option('--fail-on-regression', 'exit 1 when a test got worse')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      '\nExample:\n  $ tacho eval compare main.jsonl now.jsonl --fail-on-regression',
    )
    .action(async (a: string, b: string, flags: { failOnRegression?: true; json?: true }) => {
      const { compareCommand } = await import('./compare.ts');
      done(await compareCommand([a, b], flags, io));
    });
}
