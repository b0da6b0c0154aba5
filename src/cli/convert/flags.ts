/** `tacho convert`: the flags. The action is loaded only when it runs. */
import { type Command, Option } from 'commander';
import { redactOption } from '../arguments.ts';
import type { Done, Io } from '../command.ts';
import type { ConvertFlags } from './action.ts';

const EXAMPLES = `
Exit codes: 0 converted · 1 the file cannot be read, or is not of this agent

Examples:
  $ tacho convert --agent claude output.jsonl
  $ codex exec --json "…" | tacho convert --agent codex
  $ tacho convert --agent claude --from session --to run-event session.jsonl
  $ tacho convert --agent codex --to atif recording.jsonl > trajectory.json`;

export function defineConvert(program: Command, io: Io, done: Done): void {
  program
    .command('convert')
    .description(
      "Convert an agent's output or session file to one of tacho's formats. Nothing is stored.",
    )
    .argument('[file]', 'the recording; "-" or nothing reads standard input', '-')
    .requiredOption('--agent <id>', 'the agent that wrote the recording')
    .addOption(
      new Option('--from <channel>', 'what was recorded: its standard output or its session file')
        .choices(['stdout', 'session'])
        .default('stdout'),
    )
    .addOption(
      new Option('--to <form>', 'format to print')
        .choices(['events', 'run-event', 'live', 'outcome', 'transcript', 'agentv', 'atif'])
        .default('outcome'),
    )
    .option('--stream', 'with --to run-event: include text as it arrived, as model_delta records')
    .option('--test-id <id>', 'with --to agentv: id of the eval test that the rows belong to')
    .addOption(redactOption())
    .addHelpText('after', EXAMPLES)
    .action(async (file: string, flags: ConvertFlags) => {
      const { convertCommand } = await import('./action.ts');
      done(await convertCommand(file, flags, io));
    });
}
