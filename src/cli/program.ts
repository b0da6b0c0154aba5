/** The command line as data: every command with its flags and help. Nothing is run here. */
import { Command, Option } from 'commander';
import { defineAgents } from './agents/flags.ts';
import { type Define, type Done, type Io, namedOf } from './command.ts';
import { defineCompletion } from './completion/flags.ts';
import { defineConvert } from './convert/flags.ts';
import { defineDoctor } from './doctor/flags.ts';
import { defineDrift } from './drift/flags.ts';
import { defineEmit } from './emit/flags.ts';
import { defineEval } from './eval/flags.ts';
import { defineImport } from './import/flags.ts';
import { defineInit } from './init/flags.ts';
import { defineReplay } from './replay/flags.ts';
import { defineReview } from './review/flags.ts';
import { defineRun } from './run/flags.ts';
import { defineRuns } from './runs/flags.ts';
import { defineSchema } from './schema/flags.ts';
import { defineServe } from './serve/flags.ts';
import { defineShow } from './show/flags.ts';
import { defineTail } from './tail/flags.ts';
import { defineTrust } from './trust/flags.ts';
import { defineValidate } from './validate/flags.ts';
import { VERSION } from './version.ts';

const EXAMPLES = `
Examples:
  $ tacho run --agent demo "try it"                       a recorded run without any model or network
  $ tacho run --agent claude --output json "fix the test"  one JSON record a line, for scripts and CI
  $ tacho runs list                                       what was recorded
  $ tacho replay last                                     the last run again, from its record`;

const HELP_WIDTH = 100;

/** In the order of the help. */
const COMMANDS: Readonly<Record<string, Define>> = {
  run: defineRun,
  eval: defineEval,
  convert: defineConvert,
  import: defineImport,
  serve: defineServe,
  show: defineShow,
  replay: defineReplay,
  runs: defineRuns,
  tail: defineTail,
  agents: defineAgents,
  init: defineInit,
  doctor: defineDoctor,
  drift: defineDrift,
  validate: defineValidate,
  review: defineReview,
  trust: defineTrust,
  emit: defineEmit,
  schema: defineSchema,
  // Its script has the words of all commands.
  completion: (program, io) => defineCompletion(program, io, () => createProgram([], io, () => {})),
};

/**
 * The program with the command that the arguments name, and no other: defining all of them is a good part of a start.
 * With all of them where none is named, as help needs it.
 */
export function createProgram(args: readonly string[], io: Io, done: Done): Command {
  const program = new Command('tacho')
    .description(
      'The flight recorder for coding agents: run any agent CLI, get one record you can trust.',
    )
    .version(VERSION, '-V, --version', 'print the version')
    .addOption(
      new Option(
        '--state-dir <dir>',
        "the folder that stores the runs (default: $TACHO_HOME, else .tacho here or above, else the user's store)",
      ),
    )
    .helpOption('-h, --help', 'show help')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(see --help)')
    .addHelpText('after', EXAMPLES)
    .configureOutput({
      getOutHelpWidth: () => HELP_WIDTH,
      getErrHelpWidth: () => HELP_WIDTH,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      writeOut: (text) => void io.out.write(text),
      writeErr: (text) => void io.err.write(text),
    })
    .exitOverride()
    .hook('preAction', (_, command) => {
      io.state_flag = (command.optsWithGlobals() as { stateDir?: string }).stateDir;
    });
  const [name, ...rest] = args;
  for (const define of namedOf(COMMANDS, name)) define(program, io, done, rest);
  for (const command of program.commands) inherit(command);
  return program;
}

/** Sub-commands report mistakes as the program does. */
function inherit(command: Command): void {
  command.exitOverride().showHelpAfterError('(see --help)');
  for (const child of command.commands) inherit(child);
}
