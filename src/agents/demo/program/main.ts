/** The demo agent's program: plays its story and does the work. Needs no model and no network. */
import { spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { AGENT_LIMITS } from '../../kit/limits.ts';
import { SESSIONS_VARIABLE } from '../launch.ts';
import { isSessionId } from '../session.ts';
import type { RecordType } from '../stream.ts';
import { tools } from '../tools.ts';
import { DEMO_VERSION, END_REASONS } from '../words.ts';
import { STORY, type StoryCall } from './story.ts';

const [STDOUT, STDERR] = [1, 2];
const PAUSE_MS = 250;
const SEEDED_MS = Date.UTC(2026, 0, 1);
const USAGE = { input: 300, output: 90, cache_read: 1300, cost: 0.0021 };
const ENDS = [...END_REASONS, 'none'] as const;
const TEXT = { type: 'string' } as const;

function readOptions() {
  const { values } = parseArgs({
    options: {
      model: { ...TEXT, default: 'demo-1' },
      approve: { ...TEXT, default: 'default' },
      resume: TEXT,
      stream: { type: 'boolean' },
      speed: { ...TEXT, default: '1' },
      seed: TEXT,
      end: { ...TEXT, default: 'ok' },
      'session-dir': { ...TEXT, default: process.env[SESSIONS_VARIABLE] ?? '' },
    },
  });
  const end = ENDS.find((word) => word === values.end);
  if (end === undefined) throw new Error(`--end must be one of ${ENDS.join(', ')}`);
  if (!(Number(values.speed) >= 0)) throw new Error('--speed must be a number of at least 0');
  if (!isSessionId(values.resume ?? 'new')) throw new Error('--resume: no such session');
  return { ...values, end };
}
type Options = ReturnType<typeof readOptions>;

const sha256 = (data: string) => createHash('sha256').update(data).digest('hex');

/** Writes records to stdout and to the session file. Synchronous, so that the record of a killed agent is exact. */
function createOutput({ 'session-dir': folder, resume, seed }: Options) {
  const made = seed === undefined ? randomUUID() : sha256(seed).slice(0, 12);
  const session = resume ?? `demo-${made}`;
  const file = folder === '' ? null : join(folder, `${session}.jsonl`);
  if (file !== null) fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const size = file === null ? 0 : (fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  let ticks = 0;
  const now =
    seed === undefined
      ? () => Math.round(performance.timeOrigin + performance.now())
      : () => SEEDED_MS + ticks++;
  const emit = (t: RecordType, fields: object): number => {
    const at = now();
    const line = `${JSON.stringify({ t, at: new Date(at).toISOString(), ...fields })}\n`;
    fs.writeFileSync(STDOUT, line);
    if (file !== null && t !== 'text_delta') fs.appendFileSync(file, line, { mode: 0o600 });
    return at;
  };
  // The ids of a resumed session differ from those of its earlier runs.
  return { session, now, emit, suffix: size === 0 ? '' : `-${size}` };
}

type Result = { status: 'ok' | 'error'; exit_code: number | null; output: string; file?: object };
const ok = (output: string, file?: object): Result => ({
  ...{ status: 'ok', exit_code: null, output },
  ...(file && { file }),
});

/** Never throws: a failure is the call's result. */
function work({ tool, input }: StoryCall): Result {
  const { path = '', text = '', find = '', replace = '', cmd = '' } = input;
  try {
    if (tool === 'write_file') return save(path, text);
    if (tool === 'run') {
      const { status, stdout, error } = spawnSync('/bin/sh', ['-c', `exec 2>&1; ${cmd}`]);
      if (error) throw error;
      return { status: status === 0 ? 'ok' : 'error', exit_code: status, output: `${stdout}` };
    }
    const whole = fs.readFileSync(path, 'utf8');
    if (tool === 'read_file') return ok(whole);
    const edited = whole.replace(find, () => replace);
    return save(path, edited);
  } catch (error) {
    return { ...ok((error as Error).message), status: 'error' };
  }
}

/** Does not follow links: they may lead to another user's file. */
function save(path: string, content: string): Result {
  const found = [dirname(path), path].map((each) => fs.lstatSync(each, { throwIfNoEntry: false }));
  if (found.some((each) => each?.isSymbolicLink())) throw new Error(`${path} leads elsewhere`);
  fs.mkdirSync(dirname(path), { recursive: true });
  fs.writeFileSync(path, content);
  const [size, operation] = [Buffer.byteLength(content), found[1] ? 'modified' : 'created'];
  return ok(`${operation} ${path} (${size} bytes)`, { path, operation, size });
}

/** Returns the exit code. */
async function play(options: Options, prompt: string): Promise<number> {
  const { model, approve, stream, end } = options;
  const { session, now, emit, suffix } = createOutput(options);
  const speed = Number(options.speed);
  const pause = () => (speed > 0 ? wait(PAUSE_MS / speed) : null);
  const names = [...tools.rows.map((row) => row.native), ...tools.passed_through];
  const cwd = process.cwd();
  emit('hello', { session, model, version: DEMO_VERSION, cwd, approve, tools: names });
  const [bytes, hash] = [Buffer.byteLength(prompt), sha256(prompt)];
  if (bytes > AGENT_LIMITS.echoed_prompt_bytes_max)
    emit('note', { code: 'long_prompt', text: `${bytes} bytes, sha256 ${hash}` });
  else if (bytes > 0) emit('prompt', { text: prompt, bytes, sha256: hash });
  let [turns, calls] = [0, 0];
  const finish = (reason: Options['end'], error: string | null) => {
    if (reason !== 'none') emit('end', { reason, error, turns });
    return reason === 'ok' || reason === 'none' ? 0 : 1;
  };
  for (const turn of end === 'ok' ? STORY : STORY.slice(0, 1)) {
    turns += 1;
    const [id, step] = [`m${turns}${suffix}`, `t${turns}${suffix}`];
    emit('turn', { id: step });
    if (turn.think !== undefined) emit('think', { id, text: turn.think });
    for (const word of stream ? turn.say.split(/(?= )/) : [])
      emit('text_delta', { id, text: word });
    emit('text', { id, text: turn.say });
    emit('usage', { ...USAGE, model });
    for (const asked of turn.calls) {
      calls += 1;
      const call = `c${calls}${suffix}`;
      emit('call', { id: call, tool: asked.tool, input: asked.input });
      const started = emit('call_start', { call });
      await pause();
      const { file, ...result } = work(asked);
      if (file) emit('file', { call, ...file });
      emit('call_end', { call, ...result, ms: now() - started });
      if (result.status !== asked.expect) return finish('agent_error', `${call}: ${result.output}`);
    }
    emit('turn_end', { id: step, reason: turn.calls.length > 0 ? 'calls' : 'stop' });
    await pause();
  }
  return finish(end, end === 'ok' ? null : `--end ${end}`);
}

try {
  process.exitCode = await play(readOptions(), await readAll(process.stdin));
} catch (error) {
  fs.writeFileSync(STDERR, `error: ${(error as Error).message}\n`);
  process.exitCode = 2;
}
