/** Rate and memory of judging a live stream, compared with a loop that only reads, splits and parses (CF-6). */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bareLoop } from './decoders.ts';
import { memoryMb, type Row } from './measure.ts';

const SESSIONS = 20;
/** A start, 166 calls of three messages each, and an end. */
const LENGTH = 500;
export const ROUND = SESSIONS * LENGTH;
const MESSAGES = 50 * ROUND;
const MANY_MESSAGES = 5 * MESSAGES;
const TURNS = 3;
const RATE_LEAST = 50_000;
const FLAT_MOST = 1.25;
const OUTPUT = 'src/a.ts src/b.ts naïve 日本語 🚀 '.repeat(6);

const tacho = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');

/** Concurrent sessions of calls with statuses and text; some end while others begin. */
function* messages(count: number): Generator<string> {
  for (let at = 0; at < count; at++) {
    const turn = Math.floor(at / SESSIONS);
    const session_id = `r_${Math.floor(turn / LENGTH)}_${at % SESSIONS}`;
    const seq = (turn % LENGTH) + 1;
    const { type, data } = contentOf(seq);
    const correlation_id = data.call_id === undefined ? null : `${session_id}/${data.call_id}`;
    yield `${JSON.stringify({
      type,
      timestamp: new Date(1_772_532_000_000 + at).toISOString(),
      session_id,
      correlation_id,
      message_id: `${session_id}-${seq}`,
      seq,
      ack_required: null,
      trace: null,
      data,
    })}\n`;
  }
}

type Content = { type: string; data: Record<string, unknown> & { call_id?: string } };

function contentOf(seq: number): Content {
  if (seq === 1)
    return { type: 'session_start', data: { agent: 'demo', model: 'm', cwd: '/work' } };
  if (seq === LENGTH) return { type: 'session_end', data: { status: 'completed', totals: {} } };
  const call_id = `call_${Math.floor((seq - 2) / 3)}`;
  const args = { command: `ls ${seq}`, description: OUTPUT };
  const kinds = [
    {
      type: 'tool_call_request',
      data: { call_id, name: 'Bash', args, is_client_initiated: false },
    },
    { type: 'tool_execution_status', data: { call_id, status: 'running', progress: { at: seq } } },
    { type: 'tool_call_response', data: { call_id, result: { output: OUTPUT }, error: null } },
  ];
  return kinds[(seq - 2) % 3] as Content;
}

/** A stream without failures; `count`: a multiple of the total length of concurrent sessions. */
export async function writeStream(path: string, count: number): Promise<void> {
  const out = createWriteStream(path);
  let held = '';
  for (const line of messages(count)) {
    held += line;
    if (held.length < 1 << 20) continue;
    if (!out.write(held)) await once(out, 'drain');
    held = '';
  }
  out.end(held);
  await once(out, 'close');
}

function seconds(command: readonly string[]): number {
  const [program, ...args] = command as [string, ...string[]];
  const start = performance.now();
  const { status, stdout } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}\n${stdout}`);
  return (performance.now() - start) / 1000;
}

export async function run(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  const [loop, one, many] = ['loop.mjs', 'one.jsonl', 'many.jsonl'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  const validate = (file: string) => [process.execPath, tacho, 'validate', file];
  try {
    writeFileSync(loop, bareLoop);
    await writeStream(one, MESSAGES);
    await writeStream(many, MANY_MESSAGES);
    let [ours, bare] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let turn = 0; turn < TURNS; turn++) {
      ours = Math.min(ours, seconds(validate(one)));
      bare = Math.min(bare, seconds([process.execPath, loop, one]));
    }
    const rate = MESSAGES / ours;
    const figure = (count: number) => `${Math.round(count / 1000)},000/s`;
    const small = await memoryMb(validate(one));
    const large = await memoryMb(validate(many));
    return [
      {
        name: 'validate: live messages judged by all rules, vs. a bare read-split-parse loop',
        value: figure(rate),
        reference: figure(MESSAGES / bare),
        ratio: ours / bare,
        target: '≥ 50,000/s',
        ok: rate >= RATE_LEAST,
      },
      {
        name: 'validate: 2.5 million messages, memory, vs. half a million',
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
