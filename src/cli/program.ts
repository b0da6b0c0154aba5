/** The command line as data: every command with its flags and help. Nothing is run here. */
import { Command, Option } from 'commander';
import { own } from '../lib/own.ts';
import { defineAgents } from './agents/flags.ts';
import { defineAudit } from './audit/flags.ts';
import { type Define, type Done, type Io, namedOf } from './command.ts';
import { defineCompare } from './compare/flags.ts';
import { defineComplete, defineCompletion } from './completion/flags.ts';
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
import { defineSearch } from './search/flags.ts';
import { defineServe } from './serve/flags.ts';
import { defineShow } from './show/flags.ts';
import { defineTail } from './tail/flags.ts';
import { defineTrust } from './trust/flags.ts';
import { defineUsage } from './usage/flags.ts';
import { defineValidate } from './validate/flags.ts';
import { VERSION } from './version.ts';
import { defineWatch } from './watch/flags.ts';

const EXAMPLES = `
Examples:
  $ tacho import --last                  store the session your agent used last
  $ tacho show last                      read the last run
  $ tacho run --agent demo "try it"      record a run, no model needed
  $ tacho runs list                      list the recorded runs`;

const HELP_WIDTH_MIN = 80;
const HELP_WIDTH_MAX = 100;

/** A command and its line in the help, which fits 80 columns. */
type Listed = Readonly<Record<string, readonly [Define, summary: string]>>;

/** Groups and commands in the order of the help: the most used ones first. */
const GROUPS: Readonly<Record<string, Listed>> = {
  'Record:': {
    run: [defineRun, 'run an agent and record what it does'],
    watch: [defineWatch, 'follow the sessions of all agents and store them'],
    import: [defineImport, 'store sessions that agents recorded themselves'],
    convert: [defineConvert, "convert an agent's output or session file"],
  },
  'Read:': {
    show: [defineShow, 'read a run: what was asked, said and called'],
    runs: [defineRuns, 'list, check, remove and count the recorded runs'],
    search: [defineSearch, 'find runs by their texts, tools, files and errors'],
    usage: [defineUsage, 'sum up tokens and costs by day, agent, model or project'],
    replay: [defineReplay, 'print the output of a run again'],
    compare: [defineCompare, 'compare runs call by call'],
  },
  'Check:': {
    eval: [defineEval, 'run tests with an agent, or grade recorded runs'],
    audit: [defineAudit, 'list risky commands, secrets, network use and denials'],
    validate: [defineValidate, 'check that a stream follows the rules of its format'],
    drift: [defineDrift, 'find records of an agent that tacho does not know'],
    review: [defineReview, 'judge sampled messages of live sessions'],
  },
  'Live:': {
    serve: [defineServe, 'collect live events from agents and forward them'],
    tail: [defineTail, 'watch live sessions'],
    emit: [defineEmit, "send another program's messages to a collector"],
  },
  'Manage:': {
    init: [defineInit, 'create a .tacho folder: a store for this project'],
    agents: [defineAgents, 'list the supported agents and what each reports'],
    doctor: [defineDoctor, 'check whether tacho can record here'],
    trust: [defineTrust, "agree to what a folder's files may do"],
    schema: [defineSchema, 'print the JSON Schema of a record'],
    completion: [defineCompletion, 'print a completion script for your shell'],
    // It completes the words of all commands.
    __complete: [
      (program, io) => defineComplete(program, io, () => createProgram([], io, () => {})),
      '',
    ],
  },
};

const LISTED: Listed = Object.assign({}, ...Object.values(GROUPS));
const COMMANDS = Object.fromEntries(
  Object.entries(LISTED).map(([name, [define]]) => [name, define]),
);

/**
 * The program with only the command that the arguments name: defining all of them takes a good part of a start. If
 * none is named, all are defined, as the help needs it.
 */
export function createProgram(args: readonly string[], io: Io, done: Done): Command {
  const width = () => Math.min(Math.max(io.width, HELP_WIDTH_MIN), HELP_WIDTH_MAX);
  const program: Command = new Command('tacho')
    .description('The flight recorder for coding agents.')
    .version(VERSION, '-V, --version', 'print the version')
    .addOption(
      new Option(
        '--state-dir <dir>',
        "the folder that stores the runs (default: $TACHO_HOME, else .tacho here or above, else the user's store)",
      ),
    )
    .helpOption('-h, --help', 'show help')
    .configureHelp({
      showGlobalOptions: true,
      subcommandTerm: (command) => command.name(),
      visibleGlobalOptions: (command) => (command === program ? [] : [...program.options]),
    })
    .showHelpAfterError('(see tacho --help)')
    .addHelpText('after', EXAMPLES)
    .configureOutput({
      getOutHelpWidth: width,
      getErrHelpWidth: width,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      writeOut: (text) => void io.out.write(text),
      writeErr: (text) => void io.err.write(text),
      outputError: (text, write) => write(withoutList(text)),
    })
    .exitOverride()
    .hook('preAction', (_, command) => {
      io.state_flag = (command.optsWithGlobals() as { stateDir?: string }).stateDir;
    });
  const [name, ...rest] = args;
  for (const define of namedOf(COMMANDS, name)) define(program, io, done, rest);
  for (const command of program.commands) inherit(command, 'tacho');
  list(program);
  return program;
}

const MESSAGE_CHARS_MAX = 300;

/** A shell pattern may give any number of arguments: a long list of them is left out. */
const withoutList = (text: string) =>
  text.length > MESSAGE_CHARS_MAX
    ? text.replace(/^(error: too many .* got \d+): .*/s, '$1.\n')
    : text;

const HELP_SUMMARY = 'show help for a command';

/** Puts the commands into their groups. */
function list(program: Command): void {
  const help = new Command('help').argument('[command]').helpGroup('Manage:');
  program.addHelpCommand(help.description(HELP_SUMMARY));
  for (const [group, listed] of Object.entries(GROUPS)) {
    for (const command of program.commands) {
      const summary = own(listed, command.name())?.[1];
      if (summary !== undefined) command.helpGroup(group).summary(summary);
    }
  }
}

/** The first sentence of a description as a line of a list: `Restore archived runs.` is `restore archived runs`. */
const summaryOf = (description: string) =>
  description.replace(/^[A-Z]/, (letter) => letter.toLowerCase()).replace(/\.(?: .*|$)/s, '');

/** Sub-commands report mistakes like the program. */
function inherit(command: Command, above: string): void {
  const name = `${above} ${command.name()}`;
  command.exitOverride().showHelpAfterError(`(see ${name} --help)`);
  if (command.summary() === '') command.summary(summaryOf(command.description()));
  if (command.commands.length > 0) command.helpCommand('help [command]', HELP_SUMMARY);
  for (const child of command.commands) inherit(child, name);
}
