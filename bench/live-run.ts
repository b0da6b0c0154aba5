/** Time until a call of a running agent reaches watchers, and the cost of sending for the agent. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HELLO, type Peer, readLines, share, startOurs } from './live-peers.ts';
import type { Row } from './measure.ts';

const CALLS = 400;
const FLOOD = 20_000;
const MOST_MS = { request: 10, status: 50, response: 10 } as const;
type What = keyof typeof MOST_MS;

// The target in tacho.yaml is written by this benchmark, so it can be trusted.
process.env.TACHO_TRUST = '1';

/** Prints calls of the demo dialect with the time at which they were written; then FLOOD calls without pauses. */
const TALKER = `
import { writeFileSync, writeSync } from 'node:fs';

const say = (record) => writeSync(1, JSON.stringify(record) + '\\n');
const now = () => performance.timeOrigin + performance.now();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
say({ t: 'hello', session: 'demo-live', version: '1.0.0', model: 'demo-1' });
say({ t: 'turn', id: 'turn-1' });
const flood = Number(process.env.FLOOD ?? 0);
for (let i = 0; i < (flood === 0 ? ${CALLS} : 0); i++) {
  await sleep(5);
  say({ t: 'call', id: 'c' + i, tool: 'run', input: { cmd: 'true', sent: now() } });
  await sleep(5);
  say({ t: 'call_start', call: 'c' + i });
  await sleep(5);
  say({ t: 'call_end', call: 'c' + i, status: 'ok', exit_code: 0, output: String(now()) });
}
const start = performance.now();
for (let i = 0; i < flood; i++) {
  say({ t: 'call', id: 'c' + i, tool: 'run', input: { cmd: 'true', text: 'x'.repeat(300) } });
  say({ t: 'call_end', call: 'c' + i, status: 'ok', exit_code: 0, output: 'y'.repeat(300) });
}
if (flood > 0) writeFileSync(process.env.TOOK, String(performance.now() - start));
say({ t: 'end', reason: 'ok' });
`;

const ended = (child: ChildProcess) =>
  new Promise<void>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`ended with ${code}`))));
  });

const now = () => performance.timeOrigin + performance.now();

interface Place {
  folder: string;
  collector: Peer;
}

function startRun({ folder, collector }: Place, env: Record<string, string>): ChildProcess {
  const tacho = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');
  const args = [tacho, 'run', '--target', 'talker', '--live', `unix:${collector.socket}`, 'go'];
  const state = ['--state-dir', join(folder, 'state')];
  return spawn(process.execPath, [...args.slice(0, 2), ...state, ...args.slice(2)], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...env },
  });
}

/** From the agent's write to a subscriber of the collector: capture, journal, sending, the collector's disk. */
async function delays(place: Place): Promise<Record<What, number[]>> {
  const found: Record<What, number[]> = { request: [], status: [], response: [] };
  const socket = connect(place.collector.socket);
  const { promise: all, resolve } = Promise.withResolvers<void>();
  let sent = 0;
  readLines(socket, ({ type, data }) => {
    if (type === 'tool_call_request') {
      sent = data.args.sent;
      found.request.push(now() - sent);
    } else if (type === 'tool_execution_status') {
      // Written about 5 ms after the request: slightly more than the delay of the timer.
      found.status.push(now() - sent - 5);
    } else if (type === 'tool_call_response') {
      found.response.push(now() - Number(data.result.output));
    } else if (type === 'session_end') resolve();
  });
  socket.write(HELLO('client'));
  const filter = { filter: { session_ids: null, types: null, from_seq: null } };
  const subscribe = { type: 'subscribe_events', message_id: 's', data: filter };
  socket.write(`${JSON.stringify({ ...subscribe, timestamp: new Date().toISOString() })}\n`);
  await ended(startRun(place, {}));
  await all;
  socket.destroy();
  for (const list of Object.values(found)) list.sort((a, b) => a - b);
  return found;
}

/** The same through a bare pipe. */
async function piped({ folder }: Place): Promise<Record<What, number[]>> {
  const found: Record<What, number[]> = { request: [], status: [], response: [] };
  const talker = join(folder, 'talker.mjs');
  const child = spawn(process.execPath, [talker], { stdio: ['ignore', 'pipe', 'inherit'] });
  let sent = 0;
  readLines(child.stdout, ({ t, input, output }) => {
    if (t === 'call') {
      sent = input.sent;
      found.request.push(now() - sent);
    } else if (t === 'call_start') found.status.push(now() - sent - 5);
    else if (t === 'call_end') found.response.push(now() - Number(output));
  });
  await ended(child);
  for (const list of Object.values(found)) list.sort((a, b) => a - b);
  return found;
}

/** Time that the agent itself took for its flood, in µs per event. */
async function floodMicros(place: Place, watched: boolean): Promise<number> {
  const took = join(place.folder, 'took');
  const env = { FLOOD: String(FLOOD), TOOK: took };
  if (watched) await ended(startRun(place, env));
  else {
    const command = `"$0" "$1" > "$2"`;
    const args = ['-c', command, process.execPath, join(place.folder, 'talker.mjs')];
    const out = join(place.folder, 'plain.jsonl');
    await ended(spawn('bash', [...args, out], { env: { ...process.env, ...env } }));
  }
  return (Number(readFileSync(took, 'utf8')) * 1000) / (FLOOD * 2);
}

function delayRow(what: What, sorted: readonly number[], bare: readonly number[]): Row {
  const [p50, p95] = [share(sorted, 0.5), share(sorted, 0.95)];
  const reference = share(bare, 0.95);
  return {
    name: `live: agent's write → watcher of the collector, ${what}, p95 of ${sorted.length} (p50 ${p50.toFixed(2)} ms), vs. a bare pipe`,
    value: `${p95.toFixed(2)} ms`,
    reference: `${reference.toFixed(2)} ms`,
    ratio: p95 / reference,
    target: `≤ ${MOST_MS[what]} ms`,
    ok: p95 <= MOST_MS[what] && sorted.length === CALLS,
  };
}

export async function run(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  try {
    const talker = join(folder, 'talker.mjs');
    writeFileSync(talker, TALKER);
    writeFileSync(
      join(folder, 'tacho.yaml'),
      `targets: { talker: { agent: demo, command: ["${process.execPath}", "${talker}"] } }\n`,
    );
    const place = { folder, collector: await startOurs(folder) };
    try {
      const found = await delays(place);
      const bare = await piped(place);
      const alone = await floodMicros(place, false);
      const watched = await floodMicros(place, true);
      return [
        ...(Object.keys(found) as What[]).map((what) => delayRow(what, found[what], bare[what])),
        {
          name: `live: write time per event of an agent that is recorded and sent (burst of ${FLOOD * 2} events), vs. alone into a file`,
          value: `${watched.toFixed(1)} µs`,
          reference: `${alone.toFixed(1)} µs`,
          ratio: watched / alone,
          target: null,
          ok: null,
        },
      ];
    } finally {
      await place.collector.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
