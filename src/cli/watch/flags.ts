/** `tacho watch`: the flags. The action is loaded only when it runs. */
import type { Command } from 'commander';
import { redactOption } from '../arguments.ts';
import type { Done, Io } from '../command.ts';
import { collectorFlags } from '../run-flags.ts';
import type { WatchFlags } from './action.ts';

const EXAMPLES = `
Settings, such as folders to exclude and notifications, are read from
~/.config/tacho/tacho.yaml: see docs/guide/watching.md.

Exit codes: 0 stopped, or with --once: done · 1 with --once: some sessions cannot be read; with --status: no watcher runs · 2 usage

Examples:
  $ tacho watch                     keep what all agents do, until Ctrl-C
  $ tacho watch claude codex        only these agents
  $ tacho watch --once              import what exists, and end
  $ tacho watch --live tls://collector.example:7070 --live-token-file token
  $ tacho watch --install           run it in the background, as a service`;

export function defineWatch(program: Command, io: Io, done: Done): void {
  const command = program
    .command('watch')
    .description(
      "Follow the sessions of all agents on this machine and store them as runs, while they grow. The agents' own files are only read. Stop it with Ctrl-C: the next start continues there.",
    )
    .argument('[agents...]', 'follow only these agents (default: all)')
    .option('--once', 'import what exists, and end')
    .option('--metadata-only', 'store counts, names, times and costs, but no texts')
    .option('--status', 'print whether a watcher runs, and its health')
    .option('--install', 'install and start a service that watches')
    .option('--uninstall', 'stop and remove the service')
    .option('--yes', 'with --install and --uninstall: do not ask')
    .option('--json', 'print a JSON object per change, one per line; with --status: one object')
    .addOption(redactOption());
  collectorFlags(command, 'send each session that changes from now on to a collector')
    .addHelpText('after', EXAMPLES)
    .action(async (agents: string[], flags: WatchFlags) => {
      const { watchCommand } = await import('./action.ts');
      done(await watchCommand(agents, flags, io));
    });
}
