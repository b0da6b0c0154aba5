/** `tacho agents`: what is installed, what each adapter was checked against, what it can tell and when. */
import type { Command } from 'commander';
import { type Io, printPretty } from '../command.ts';

export function defineAgents(program: Command, io: Io): void {
  program
    .command('agents')
    .description(
      'list the agents: installed or not, versions, and what of a run is known live, after it, or never',
    )
    .argument('[id]', 'only this agent, with its capability table')
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExamples:\n  $ tacho agents\n  $ tacho agents claude')
    .action(async (id: string | undefined, flags: { json?: true }) => {
      const { agentReports, agentsText } = await import('../../app/runs/agents.ts');
      const reports = await agentReports(id, io.env);
      const { createColours } = await import('../../lib/colours.ts');
      await printPretty(io, flags, reports, () => agentsText(reports, createColours(io.colour)));
    });
}
