/** Runs `tacho convert`. */
import { agentOf } from '../../app/config/agent-of.ts';
import { passingRedactor } from '../../app/config/redaction.ts';
import { type ConvertFrom, type ConvertTo, convertTo } from '../../app/sessions/convert.ts';
import { createRecognition, HEAD_BYTES, looksLike } from '../../app/sessions/recognition.ts';
import { headIn } from '../../lib/folders.ts';
import { inputOf } from '../arguments.ts';
import type { Io } from '../command.ts';

export interface ConvertFlags {
  agent: string;
  from: ConvertFrom;
  to: ConvertTo;
  stream?: true;
  testId?: string;
  redact?: string[];
}

export async function convertCommand(file: string, flags: ConvertFlags, io: Io): Promise<number> {
  const { from, to, redact, stream = false, testId: test_id = null } = flags;
  const agent = await agentOf(flags.agent);
  const passing = { state_dir: io.state_flag, redact, agents: [agent] };
  const redactor = await passingRedactor(io.env, passing);
  const { input, head } = withHead(inputOf(file));
  const recognition = createRecognition();
  const watch = recognition.take;
  const options = { agent, redactor, from, input, stream, test_id, watch };
  for await (const piece of convertTo(options, to)) {
    await io.out.json(piece);
    if (io.out.gone) return 0;
  }
  if (!recognition.foreign) return 0;
  const others = (await looksLike(head())).map((one) => `--agent ${one.agent} --from ${one.from}`);
  const hint = others.length === 0 ? '' : `: it looks like ${others.join(', or ')}`;
  await io.err.write(`error: the input has no records of ${agent.title} (${from})${hint}\n`);
  return 1;
}

type Input = ReturnType<typeof inputOf>;

/** The input, and its beginning once it has been read. */
function withHead(input: Input): { input: Input; head: () => Buffer } {
  if (typeof input === 'string')
    return { input, head: () => headIn(input, Buffer.alloc(HEAD_BYTES)) ?? Buffer.alloc(0) };
  const chunks: Buffer[] = [];
  let bytes = 0;
  async function* kept(stream: AsyncIterable<Uint8Array>) {
    for await (const chunk of stream) {
      const part = Buffer.from(chunk).subarray(0, HEAD_BYTES - bytes);
      if (part.length > 0) chunks.push(part);
      bytes += part.length;
      yield chunk;
    }
  }
  return { input: kept(input), head: () => Buffer.concat(chunks) };
}
