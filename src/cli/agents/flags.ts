/** `tacho agents`: which agents are installed, the versions that tacho was checked with, and what each reports. */
import type { Command } from 'commander';
import { type Io, printPretty } from '../command.ts';

export function defineAgents(program: Command, io: Io): void {
  program
    .command('agents')
    .description(
      'List the supported agents: whether tacho can run, import and watch each, the version of its program that was rehearsed, and the installed version. With an agent, show what tacho knows of its runs, and when.',
    )
    .argument('[agent]', 'show what this agent reports, and when')
    .option('--json', 'print the list as JSON')
    .addHelpText('after', '\nExamples:\n  $ tacho agents\n  $ tacho agents claude')
    .action(async (id: string | undefined, flags: { json?: true }) => {
      const { agentReports, agentsText } = await import('../../app/runs/agents.ts');
      const reports = await agentReports(id, io.env);
      const { createColours } = await import('../../lib/colours.ts');
      await printPretty(io, flags, reports, () => agentsText(reports, createColours(io.colour)));
    });
}
