/** How fast, and in how much memory, does a big session become an outcome? Beside a loop that only reads, splits and parses. */
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bestCpu, memoryMb, type Row } from './measure.ts';

const LINES = 100_000;
const CPU_MOST = 1.6;
const MEMORY_MOST_MB = 160;
const COPIES = 7;
const FLAT_MOST = 1.25;

const FILLER = 'lorem ipsum dolor sit amet, consectetur — naïve 日本語 🚀 '.repeat(18);

/** One session in the shape of the real files: a content block a line, ids repeated, thinking, tool results. */
function* sessionLines(count: number): Generator<string> {
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
    yield say({ type: 'thinking', thinking: FILLER, signature: 'c2ln' });
    yield say({ type: 'text', text: FILLER });
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
      const content = [{ tool_use_id, type: 'tool_result', content: FILLER, is_error: false }];
      const toolUseResult = { stdout: FILLER.slice(0, 200), stderr: '', interrupted: false };
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

export async function writeSession(path: string, count: number): Promise<void> {
  const out = createWriteStream(path);
  let held = '';
  for (const line of sessionLines(count)) {
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

export async function run(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  try {
    const [one, many] = [join(folder, 'one.jsonl'), join(folder, 'many.jsonl')];
    await writeSession(one, LINES);
    await writeSession(many, LINES * COPIES);
    const loop = join(folder, 'loop.mjs');
    writeFileSync(loop, BARE_LOOP);
    const tacho = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');
    const convert = (file: string) => [
      process.execPath,
      tacho,
      'convert',
      '--agent',
      'claude',
      '--from',
      'session',
      '--to',
      'outcome',
      file,
    ];
    const [ours, bare] = bestCpu(5, convert(one), [process.execPath, loop, one]);
    const [small, large, loop_mb] = [
      await memoryMb(convert(one)),
      await memoryMb(convert(many)),
      await memoryMb([process.execPath, loop, one]),
    ];
    const mb = (path: string) => Math.round(statSync(path).size / 1e6);
    return [
      {
        name: `${mb(one)} MB session of ${LINES.toLocaleString('en')} lines to outcome, CPU, beside a bare read-split-parse loop`,
        value: `${ours.toFixed(2)} s`,
        reference: `${bare.toFixed(2)} s`,
        ratio: ours / bare,
        target: `≤ ${CPU_MOST} ×`,
        ok: ours / bare <= CPU_MOST,
      },
      {
        name: `… memory`,
        value: `${small.toFixed(0)} MB`,
        reference: `${loop_mb.toFixed(0)} MB`,
        ratio: small / loop_mb,
        target: `≤ ${MEMORY_MOST_MB} MB`,
        ok: small <= MEMORY_MOST_MB,
      },
      {
        name: `${mb(many)} MB session, memory, beside the ${mb(one)} MB one`,
        value: `${large.toFixed(0)} MB`,
        reference: `${small.toFixed(0)} MB`,
        ratio: large / small,
        target: `flat: ≤ ${FLAT_MOST} ×`,
        ok: large / small <= FLAT_MOST,
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
