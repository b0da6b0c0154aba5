/** `tacho convert`: a recording → events, run-events, live messages, an outcome or a transcript. */
import { type Command, Option } from 'commander';
import type { ConvertFrom, ConvertTo } from '../../app/sessions/convert.ts';
import { inputOf, redactOption } from '../arguments.ts';
import type { Io } from '../command.ts';

interface Flags {
  agent: string;
  from: ConvertFrom;
  to: ConvertTo;
  stream?: true;
  testId?: string;
  redact?: string[];
}

const EXAMPLES = `
Examples:
  $ claude -p "…" --output-format stream-json --verbose | tacho convert --agent claude --to outcome
  $ tacho convert --agent claude --from session --to run-event session.jsonl
  $ tacho convert --agent codex --to atif recording.jsonl > trajectory.json
  $ tacho convert --agent claude --to live recording.jsonl    the messages that a live run would have sent`;

export function defineConvert(program: Command, io: Io): void {
  program
    .command('convert')
    .description("read an agent's recorded output or session file and print tacho's record of it")
    .argument('[file]', 'the recording; - or nothing: standard input', '-')
    .requiredOption('--agent <id>', 'which agent made it')
    .addOption(
      new Option('--from <channel>', 'what the file is')
        .choices(['stdout', 'session'])
        .default('stdout'),
    )
    .addOption(
      new Option('--to <form>', 'what to print')
        .choices(['events', 'run-event', 'live', 'outcome', 'transcript', 'agentv', 'atif'])
        .default('outcome'),
    )
    .option('--stream', 'with --to run-event: also text deltas, as model_delta records')
    .option('--test-id <id>', "with --to agentv: the eval's test that the rows are for")
    .addOption(redactOption())
    .addHelpText('after', EXAMPLES)
    .action(async (file: string, flags: Flags) => {
      const { convertTo } = await import('../../app/sessions/convert.ts');
      const { agentOf } = await import('../../app/config/agent-of.ts');
      const { passingRedactor } = await import('../../app/config/redaction.ts');
      const { from, to, redact, stream = false, testId: test_id = null } = flags;
      const agent = await agentOf(flags.agent);
      const passing = { state_dir: io.state_flag, redact, agents: [agent] };
      const redactor = await passingRedactor(io.env, passing);
      const input = inputOf(file);
      for await (const piece of convertTo({ agent, redactor, from, input, stream, test_id }, to)) {
        await io.out.json(piece);
        if (io.out.gone) break;
      }
    });
}
