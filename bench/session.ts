/** A big session in the shape of real files, and the reference loop that reads it. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';

/** Filler of a session's texts. One non-ASCII character makes a parsed line two bytes wide, which slows the loop. */
const TEXTS = {
  ASCII: 'lorem ipsum dolor sit amet, consectetur - naive nihongo rocket '.repeat(18),
  CJK: 'lorem ipsum dolor sit amet, consectetur — naïve 日本語 🚀 '.repeat(18),
} as const;
export type Script = keyof typeof TEXTS;

/** A content block per line, ids repeated, thinking, tool results. */
function* sessionLines(count: number, filler: string): Generator<string> {
  let line = 0;
  let parent: string | null = null;
  const emit = (record: object): string => {
    line += 1;
    const uuid = `00000000-0000-4000-8000-${String(line).padStart(12, '0')}`;
    const timestamp = new Date(Date.UTC(2026, 2, 3, 10) + line * 37).toISOString();
    const session = { isSidechain: false, userType: 'external', cwd: '/home/user/project' };
    const rest = { sessionId: '11111111-2222-4333-8444-555555555555', version: '2.1.325' };
    const ids = { uuid, timestamp };
    const text = JSON.stringify({ parentUuid: parent, ...session, ...rest, ...record, ...ids });
    parent = uuid;
    return `${text}\n`;
  };
  yield emit({ type: 'user', message: { role: 'user', content: 'Do a great deal of work.' } });
  const usage = {
    input_tokens: 12,
    cache_creation_input_tokens: 100,
    cache_read_input_tokens: 20000,
    output_tokens: 57,
  };
  for (let turn = 0; line < count - 8; turn++) {
    const message = {
      id: `msg_${turn}`,
      type: 'message',
      role: 'assistant',
      model: 'claude-opus-5-5',
      stop_reason: null,
      usage,
    };
    const say = (block: object, more: object = {}) =>
      emit({
        type: 'assistant',
        requestId: `req_${turn}`,
        message: { ...message, ...more, content: [block] },
      });
    yield say({ type: 'thinking', thinking: filler, signature: 'c2ln' });
    yield say({ type: 'text', text: filler });
    const ids = [`toolu_${turn}_0`, `toolu_${turn}_1`];
    yield say({
      type: 'tool_use',
      id: ids[0],
      name: 'Read',
      input: { file_path: `/home/user/project/src/f${turn}.ts` },
    });
    const input = { command: `sed -n ${turn}p file`, description: 'x' };
    yield say({ type: 'tool_use', id: ids[1], name: 'Bash', input }, { stop_reason: 'tool_use' });
    for (const tool_use_id of ids) {
      const content = [{ tool_use_id, type: 'tool_result', content: filler, is_error: false }];
      const toolUseResult = { stdout: filler.slice(0, 200), stderr: '', interrupted: false };
      yield emit({ type: 'user', message: { role: 'user', content }, toolUseResult });
    }
  }
  const content = [{ type: 'text', text: 'All done.' }];
  const last = {
    id: 'msg_end',
    type: 'message',
    role: 'assistant',
    model: 'claude-opus-5-5',
    stop_reason: 'end_turn',
    usage,
    content,
  };
  yield emit({ type: 'assistant', requestId: 'req_end', message: last });
}

export async function writeSession(path: string, count: number, script: Script): Promise<void> {
  const out = createWriteStream(path);
  let held = '';
  for (const line of sessionLines(count, TEXTS[script])) {
    held += line;
    if (held.length < 1_000_000) continue;
    if (!out.write(held)) await once(out, 'drain');
    held = '';
  }
  out.end(held);
  await once(out, 'close');
}

/** Read, split at LF, JSON.parse, count tool calls. Nothing else. */
export const BARE_LOOP = `import { createReadStream } from 'node:fs';
let rest = Buffer.alloc(0), calls = 0;
for (const file of process.argv.slice(2))
for await (const c of createReadStream(file, { highWaterMark: 1 << 20 })) {
  const b = rest.length ? Buffer.concat([rest, c]) : c;
  let i = 0, j;
  while ((j = b.indexOf(10, i)) >= 0) {
    const k = JSON.parse(b.toString('utf8', i, j)).message?.content;
    if (Array.isArray(k)) for (const x of k) if (x.type === 'tool_use') calls++;
    i = j + 1;
  }
  rest = b.subarray(i);
}
console.log(calls);`;
