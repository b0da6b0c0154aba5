/** `tacho audit`: the flags. The action is loaded only when it runs. */
import { type Command, Option } from 'commander';
import { AUDIT_SEVERITIES } from '../../model/words.ts';
import { RUN_HELP } from '../arguments.ts';
import type { Done, Io } from '../command.ts';
import { withRunFilters } from '../run-filter.ts';
import { TRUST_FLAG } from '../state.ts';
import type { AuditFlags } from './action.ts';

const EXAMPLES = `
Findings are calls that meet a rule: destructive commands, secret files, the
network, files outside the project, and denials. Commands are parsed, never
searched as text. A part that cannot be read is listed as not analysed.

Severities: high, medium, low, info. A finding says whether the call ran, failed
or was denied, and who approved it; "-" is unknown.

The chain: --head adds all runs to a chain, in which each entry contains the
hash of the one before it, and prints the last hash. Keep that hash elsewhere:
--check-head shows later whether runs were removed or changed since.

Exit codes:
  0  done
  1  with --fail-on, if there is such a finding; with --verify and --check-head,
     if something is wrong
  2  mistake in a flag or a file of rules

Examples:
  $ tacho audit                            all runs
  $ tacho audit last
  $ tacho audit --here --since 7d --severity medium
  $ tacho audit --since yesterday --json >> findings.jsonl
  $ tacho audit --verify --fail-on high
  $ tacho audit --head > head.json
  $ tacho audit --check-head head.json`;

export function defineAudit(program: Command, io: Io, done: Done): void {
  const command = program
    .command('audit')
    .description('List destructive commands, secret files, network use and denials, by rules.')
    .argument('[run]', `${RUN_HELP} (default: all runs)`);
  withRunFilters(command)
    .addOption(
      new Option('--severity <level>', 'list only findings of this severity, or worse').choices(
        AUDIT_SEVERITIES,
      ),
    )
    .option('--rules <file>', 'also use the rules in this file; see docs/guide/auditing.md')
    .option('--list-rules', 'list the rules')
    .option('--verify', 'check the digests of the runs, and the chain, first')
    .addOption(
      new Option(
        '--fail-on <level>',
        'exit with 1 on a finding of this severity, or worse, that was not denied',
      ).choices(AUDIT_SEVERITIES),
    )
    .option('--head', 'add all runs to the chain, and print its last hash')
    .option('--check-head <hash>', 'check that the chain contains this hash, or that of a file')
    .option('--json', 'print one JSON line per finding, then a summary (tacho schema audit)')
    .option(...TRUST_FLAG)
    .addHelpText('after', EXAMPLES)
    .action(async (run: string | undefined, flags: AuditFlags) => {
      const { auditCommand } = await import('./action.ts');
      done(await auditCommand(run, flags, io));
    });
}
