/** Faults at both ends of a live connection: `tacho emit` and `run --live` as the sender, `tacho serve` as the collector. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readAll } from '../../src/store/journal/read.ts';
import { CHAOS, played } from '../chaos-agent.ts';
import type { Injection } from './inject.ts';
import type { Lane, Ran } from './lane.ts';
import type { Scenario } from './scenario.ts';
import { LIVE_RUN } from './scenarios-run.ts';
import {
  commandFaults,
  jsonLines,
  knownRuns,
  recoveryFaults,
  successFaults,
  tidyFaults,
  wholeFaults,
} from './store-checks.ts';

const SESSION = 's1';
const CALLS = 8;
/** Short: a killed collector does not come back before the sender exits. */
const WAIT = ['--wait', '1'];

const messages = [
  { type: 'session_start', data: { agent: 'toy' } },
  ...Array.from({ length: CALLS }, (_, n) => [
    {
      type: 'tool_call_request',
      data: {
        call_id: `c${n}`,
        name: 'Bash',
        native_name: 'sh',
        args: { command: 'x'.repeat(n * 900) },
        is_client_initiated: false,
      },
    },
    { type: 'tool_call_response', data: { call_id: `c${n}`, result: { n }, error: null } },
  ]).flat(),
];
/** Type and call of each message; the end of the session is added by `emit`. */
const EXPECTED = [
  ...messages.map(({ type, data }) => `${type} ${'call_id' in data ? data.call_id : ''}`),
  'session_end ',
];

const socketOf = (state: string) => `unix:${join(state, 'live', 'collector.sock')}`;

function writeMessages({ work }: Lane): void {
  const lines = messages.map((message) => `${JSON.stringify(message)}\n`);
  writeFileSync(join(work, 'messages.jsonl'), lines.join(''));
}

const emitTo = (url: string) => ['emit', '--to', url, '--json', ...WAIT];

interface Serving {
  /** False: it exited before it listened. */
  ready: boolean;
  end(): Promise<Ran>;
}

async function serve(
  lane: Lane,
  state: string,
  injection: Injection | null = null,
): Promise<Serving> {
  const args = ['serve', '--json', '--no-watch'];
  const { child, done } = lane.start(args, { env: { TACHO_HOME: state }, injection });
  const listening = new Promise<boolean>((resolve) => {
    child.stdout?.on('data', (text: string) => {
      if (text.includes('\n')) resolve(true);
    });
  });
  const ready = await Promise.race([listening, done.then(() => false)]);
  return {
    ready,
    end() {
      child.kill('SIGTERM');
      return done;
    },
  };
}

/** While a collector runs on `state`, which must now be possible. */
async function* served(lane: Lane, state: string, during: () => AsyncGenerator<string>) {
  const serving = await serve(lane, state);
  if (serving.ready) yield* during();
  else yield 'the collector does not start again';
  yield* successFaults(await serving.end());
}

/** The stored messages of a collector: type and call of each, by session. */
async function storedIn(state: string): Promise<Map<string, string[]>> {
  const sessions = new Map<string, string[]>();
  for await (const { session, source, seq, body } of readAll(join(state, 'live/journal'))) {
    if (source !== 'live') continue;
    const lines = sessions.get(session) ?? [];
    sessions.set(session, lines);
    const message = JSON.parse(body);
    if (seq !== lines.length + 1 || message.seq !== seq)
      throw new Error(
        `session ${session}: number ${seq} (${message.seq}) comes as ${lines.length + 1}`,
      );
    lines.push(`${message.type} ${message.data.call_id ?? ''}`);
  }
  return sessions;
}

function ackedOf(ran: Ran): number {
  try {
    return jsonLines(ran.stdout)[0]?.sessions[0]?.acked ?? 0;
  } catch {
    return 0;
  }
}

async function* storedFaults(state: string, at_least: number, whole: boolean) {
  const stored = (await storedIn(state)).get(SESSION) ?? [];
  if (stored.length < at_least) yield `${at_least} were acknowledged, ${stored.length} are stored`;
  const all = stored.at(-1) === 'session_end ';
  if (whole && !all) yield `the session is incomplete: ${stored.length} of ${EXPECTED.length}`;
  if (stored.join() !== EXPECTED.slice(0, stored.length).join())
    yield `the stored messages are not those that were sent: ${stored.join()}`;
}

const emit: Scenario = {
  name: 'emit',
  async prepare(lane) {
    writeMessages(lane);
    return { known: new Map(), facts: {} };
  },
  async act(lane, injection) {
    const serving = await serve(lane, lane.peer);
    const args = [...emitTo(socketOf(lane.peer)), '--session', SESSION, 'messages.jsonl'];
    const ran = await lane.tacho(args, { injection });
    await serving.end();
    return ran;
  },
  async *check(lane, _prepared, ran) {
    yield* commandFaults(ran);
    const { peer } = lane;
    yield* storedFaults(peer, ackedOf(ran), ran.code === 0);
    yield* served(lane, peer, async function* () {
      yield* recoveryFaults(lane);
      // Delivers the rest; there is nothing new to send.
      yield* successFaults(await lane.tacho(emitTo(socketOf(peer))));
    });
    // 75: everything is in the outbox, and is delivered now.
    yield* storedFaults(peer, ackedOf(ran), ran.code === 0 || ran.code === 75);
    yield* tidyFaults(lane);
  },
};

const collector: Scenario = {
  name: 'serve',
  async prepare(lane) {
    writeMessages(lane);
    return { known: new Map(), facts: {} };
  },
  async act(lane, injection) {
    const serving = await serve(lane, lane.state, injection);
    const args = [...emitTo(socketOf(lane.state)), '--session', SESSION, 'messages.jsonl'];
    const sent = await lane.tacho(args, { env: { TACHO_HOME: lane.peer } });
    const ran = await serving.end();
    return { ...ran, others: [sent] };
  },
  async *check(lane, _prepared, ran) {
    yield* commandFaults(ran);
    const [sent] = ran.others ?? [];
    if (sent === undefined) return;
    yield* successFaults(sent, [0, 75]);
    yield* storedFaults(lane.state, ackedOf(sent), sent.code === 0);
    yield* served(lane, lane.state, async function* () {
      const env = { TACHO_HOME: lane.peer };
      yield* successFaults(await lane.tacho(['runs', 'recover'], { env }));
      yield* successFaults(await lane.tacho(emitTo(socketOf(lane.state)), { env }));
    });
    yield* storedFaults(lane.state, EXPECTED.length, true);
    yield* recoveryFaults(lane);
    yield* tidyFaults(lane);
  },
};

const liveRun: Scenario = {
  name: 'run-live',
  async prepare(lane) {
    LIVE_RUN.prepare(lane);
    await lane.tacho(['run', ...CHAOS, 'x', '--', ...played('fixed')]);
    return { known: await knownRuns(lane), facts: {} };
  },
  async act(lane, injection) {
    const serving = await serve(lane, lane.peer);
    const ran = await lane.tacho(LIVE_RUN.args(socketOf(lane.peer)), { injection });
    await serving.end();
    return ran;
  },
  async *check(lane, { known }, ran, injection) {
    yield* commandFaults(ran);
    yield* served(lane, lane.peer, async function* () {
      yield* LIVE_RUN.check(lane, { known, ran, injection });
      yield* successFaults(await lane.tacho(emitTo(socketOf(lane.peer))));
    });
    const stored = [...(await storedIn(lane.peer)).values()];
    if (stored.length > 1) yield `one run has become ${stored.length} sessions`;
    // A run continues when its messages cannot be stored; stderr says so.
    const warned = /^tacho: live: /m.test(ran.stderr);
    if (ran.code === 0 && !warned && stored[0]?.at(-1) !== 'session_end ')
      yield 'the run succeeded, but the collector has no end of it';
    yield* wholeFaults(lane, known);
    yield* tidyFaults(lane);
  },
};

export const LIVE_SCENARIOS: readonly Scenario[] = [emit, collector, liveRun];
