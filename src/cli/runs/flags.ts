/** `tacho runs …`: the recorded runs. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { DURATION, type Measure, SIZE } from '../../app/config/checks.ts';
import { countFrom, each, FORCE_FLAG, RUN_ARGUMENT, RUN_HELP } from '../arguments.ts';
import { type Define, type Done, type Io, namedOf } from '../command.ts';
import { noFullScreen } from '../full-screen.ts';
import { HERE_FLAG, LABEL_FLAG, PROJECT_FLAG, withRunFilters } from '../run-filter.ts';
import { caughtUp, runsOf, stateIfAny, stateOf, TRUST_FLAG } from '../state.ts';
import type { GcFlags, RestoreFlags } from './keep.ts';
import type { ListFlags } from './list.ts';
import type { RecoverFlags } from './recover.ts';
import type { RmFlags } from './remove.ts';
import type { StatsFlags } from './stats.ts';

const count = countFrom(1);
const countOrAll = (text: string) => {
  if (text === 'all') return Number.POSITIVE_INFINITY;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Give a number from 1, or all.');
  return Number(text);
};

/** In the order of the help. */
const SUBCOMMANDS: Readonly<Record<string, Define>> = {
  list: defineList,
  show: defineShow,
  verify: defineVerify,
  recover: defineRecover,
  reindex: defineReindex,
  rm: defineRm,
  gc: defineGc,
  restore: defineRestore,
  stats: defineStats,
};

const BROWSE_HELP = `
On a terminal, tacho runs without a command shows the runs full-screen:
Enter opens one, ? lists the keys.`;

export function defineRuns(program: Command, io: Io, done: Done, args: readonly string[]): void {
  const [name] = args.slice(args.indexOf('runs') + 1);
  const runs = program
    .command('runs')
    .description('List, show, check, repair, remove and count the recorded runs.')
    .addHelpText('after', BROWSE_HELP);
  for (const define of namedOf(SUBCOMMANDS, name)) define(runs, io, done, []);
  // With an action, the help would not be printed in a pipe, and a misspelt command would not be reported.
  const bare = name === undefined || name.startsWith('-');
  if (!bare || noFullScreen(io) !== null) return;
  runs.action(async () => {
    const { browseRuns } = await import('./browse.ts');
    await browseRuns(await stateIfAny(io), io);
  });
}

const LIST_EXAMPLES = `
Examples:
  $ tacho runs list --here --since yesterday
  $ tacho runs list --status failed --limit 5
  $ tacho runs list --label build=7 --json`;

function defineList(runs: Command, io: Io): void {
  withRunFilters(runs.command('list').description('List runs, newest first.'))
    .option('--limit <n>', 'at most N runs, or all', countOrAll, 20)
    .option('--json', 'print a JSON object per run, one per line')
    .addHelpText('after', LIST_EXAMPLES)
    .action(async (flags: ListFlags) => {
      const { listRuns } = await import('./list.ts');
      await listRuns(await stateIfAny(io), flags, io);
    });
}

function defineShow(runs: Command, io: Io): void {
  runs
    .command('show')
    .description('Show the stored outcome of a run. "tacho show" adds its transcript.')
    .argument(...RUN_ARGUMENT)
    .option('--json', 'print the outcome as JSON')
    .addHelpText('after', '\nExample:\n  $ tacho runs show last --json')
    .action(async (run: string, flags: { json?: true }) => {
      const { printSummary } = await import('../summary.ts');
      await printSummary(await runsOf(io), run, flags, io);
    });
}

function defineVerify(runs: Command, io: Io, done: Done): void {
  runs
    .command('verify')
    .description(
      "Check a run's record: sequence, hashes, form, completeness. Exits with 1 if something is wrong.",
    )
    .argument(...RUN_ARGUMENT)
    .option('--json', 'print the report as JSON')
    .addHelpText('after', '\nExample:\n  $ tacho runs verify last')
    .action(async (run: string, flags: { json?: true }) => {
      const { verify } = await import('./action.ts');
      done(await verify(await runsOf(io), run, flags, io));
    });
}

function defineRecover(runs: Command, io: Io, done: Done): void {
  runs
    .command('recover')
    .description(
      'Finish the records of runs after tacho was killed. Waits for agents that are still running.',
    )
    .argument('[run]', 'only this run, by its id or a prefix of it')
    .option('--no-wait', 'do not wait for agents that are still running')
    .option(
      '--auto',
      'recover only what tacho run recovers automatically: small spools that did not fail before',
    )
    .option(
      '--force',
      'take over a run from another recovery; if that one is still running, the record may be damaged',
    )
    .option('--json', 'print a JSON object per run, one per line')
    .option(...TRUST_FLAG)
    .addHelpText('after', '\nExample:\n  $ tacho runs recover')
    .action(async (run_id: string | undefined, flags: RecoverFlags) => {
      const { recover, recoverInBackground } = await import('./recover.ts');
      const work = flags.auto ? recoverInBackground : recover;
      done(await work(await stateOf(io), { ...flags, run_id }, io));
    });
}

function defineReindex(runs: Command, io: Io, done: Done): void {
  runs
    .command('reindex')
    .description('Rebuild the index from the journal.')
    .option(...FORCE_FLAG)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', '\nExample:\n  $ tacho runs reindex')
    .action(async (flags: { json?: true; force?: true }) => {
      const { reindexRuns } = await import('./action.ts');
      done(await reindexRuns(await stateOf(io), flags, io));
    });
}

const RM_EXAMPLES = `
On a terminal it shows the runs and asks first. Elsewhere, whole run ids are
deleted immediately; other names of runs need --yes.

Examples:
  $ tacho runs rm 01kx3
  $ tacho runs rm last --yes`;

function defineRm(runs: Command, io: Io, done: Done): void {
  runs
    .command('rm')
    .summary('delete runs for good')
    .description(
      'Delete runs for good: their rows, files and bytes in the journal. Archives, and messages that a collector stored, are kept.',
    )
    .argument('<runs...>', RUN_HELP)
    .option('-y, --yes', 'delete without asking')
    .option(...FORCE_FLAG)
    .addHelpText('after', RM_EXAMPLES)
    .action(async (names: string[], flags: RmFlags) => {
      const { removeNamed } = await import('./remove.ts');
      done(await removeNamed(await runsOf(io), names, flags, io));
    });
}

const GC_EXAMPLES = `
Without these limits, the policies in tacho.yaml apply
(see the guide: keeping the store small).

Examples:
  $ tacho runs gc --max-age 30d --keep-failed --dry-run
  $ tacho runs gc --max-runs 1000
  $ tacho runs gc --here --max-age 1d
  $ tacho runs gc`;

function defineGc(runs: Command, io: Io, done: Done): void {
  runs
    .command('gc')
    .description('Remove old runs. They are archived first, unless --no-archive is given.')
    .addOption(checked('--max-age <time>', 'remove runs that are older: 12h, 30d, 8w', DURATION))
    .option('--max-runs <n>', 'keep the newest N runs', countFrom(0))
    .addOption(
      checked(
        '--max-size <size>',
        'keep the newest runs that fit into this size: 500MB, 2GB',
        SIZE,
      ),
    )
    .option(...HERE_FLAG)
    .option(...PROJECT_FLAG)
    .option('--agent <id>', 'only runs of this agent')
    .option(...LABEL_FLAG)
    .option('--status <status>', 'only runs with this status: ok, failed, or an exit reason')
    .option('--keep-failed', 'keep failed runs')
    .option('--keep-successful', 'keep successful runs')
    .option('--no-archive', 'delete without keeping a compressed copy')
    .option('--dry-run', 'only show what would be removed')
    .option(...FORCE_FLAG)
    .option('--json', 'print the result as JSON')
    .option(...TRUST_FLAG)
    .addHelpText('after', GC_EXAMPLES)
    .action(async (flags: GcFlags) => {
      const { gcRuns } = await import('./keep.ts');
      done(await gcRuns(await stateOf(io), flags, io));
    });
}

function defineRestore(runs: Command, io: Io, done: Done): void {
  runs
    .command('restore')
    .description('Restore archived runs.')
    .argument('<archive>', 'path of an archive, or its name in the archive folder of the store')
    .argument('[runs...]', 'restore only these runs, by their ids or prefixes')
    .option('--any-size', 'do not limit the unpacked size')
    .option(...FORCE_FLAG)
    .addHelpText('after', '\nExample:\n  $ tacho runs restore 01m7fh2ppsd2sk517fc62fe8s4.jsonl.zst')
    .action(async (archive: string, runs: string[], flags: RestoreFlags) => {
      const { restoreRuns } = await import('./keep.ts');
      const state = await caughtUp(await stateOf(io), io);
      done(await restoreRuns(state, archive, { ...flags, runs }, io));
    });
}

function defineStats(runs: Command, io: Io): void {
  withRunFilters(
    runs
      .command('stats')
      .description(
        'Sum up runs by agent and local day. The sums are runs, success, calls, tokens, cost and size.',
      ),
  )
    .option('--days <n>', 'list the last N days', count, 14)
    .addOption(
      new Option('--by <group>', 'sum up by model or project too (repeatable)').argParser(
        oneOf('model', 'project'),
      ),
    )
    .option('--json', 'print the sums as JSON')
    .addHelpText('after', '\nExamples:\n  $ tacho runs stats\n  $ tacho runs stats --by model')
    .action(async (flags: StatsFlags) => {
      const { showStats } = await import('./stats.ts');
      await showStats(await stateIfAny(io), flags, io);
    });
}

/** Accepts one of these words for a repeatable option. */
const oneOf =
  (...words: string[]) =>
  (value: string, before: unknown) => {
    if (!words.includes(value)) throw new InvalidArgumentError(`Give ${words.join(' or ')}.`);
    return each(value, before);
  };

/** An option with a number and a unit, as in tacho.yaml. */
function checked(flags: string, text: string, { like, parse }: Measure): Option {
  return new Option(flags, text).argParser((value: string) => {
    const found = parse(value);
    if (found === null) throw new InvalidArgumentError(`It must be ${like}.`);
    return found;
  });
}
