/** Mutated live protocol lines for a collector; another peer must not notice. */
import { type Serving, serve } from '../../src/app/live/serve.ts';
import { readMessage } from '../../src/live/protocol/messages.ts';
import {
  acks,
  connectSocket,
  control,
  hello,
  type LiveClient,
  message,
  request,
} from '../live-client.ts';
import type { FuzzInput, FuzzTarget } from './fuzz-target.ts';
import { mutate } from './mutate.ts';
import type { Random } from './random.ts';

const TIME = '2026-03-03T10:00:00.000Z';
const at = (one: object) => `${JSON.stringify({ ...one, timestamp: TIME })}\n`;

/** A session with most kinds of messages. */
const LINES = [
  hello({ role: 'agent' }),
  message('session_start', 'm', 1, { agent: 'toy', model: null, cwd: '/w' }),
  request('m', 2, 'c1'),
  message('tool_execution_status', 'm', 3, {
    call_id: 'c1',
    status: 'running',
    progress: null,
    details: null,
  }),
  message('tool_call_response', 'm', 4, { call_id: 'c1', result: { ok: true }, error: null }),
  message('text_delta', 'm', 5, { message_id: 'x', delta: 'text' }),
  control('heartbeat', {}),
  control('subscribe_events', { filter: { session_ids: ['m'], types: ['text_delta'] } }),
  control('unsubscribe_events', {}),
  hello({ role: 'client', resume: { session_id: 'm', last_seq: 3 } }),
  message('session_end', 'm', 6, { status: 'ok', reason: null, totals: null }),
];
const WAIT_MS = 20_000;

class Neighbour {
  readonly #client: LiveClient;
  #seq = 0;

  constructor(client: LiveClient) {
    this.#client = client;
  }

  /** Sends one more message and waits until it is acknowledged. */
  async sends(): Promise<void> {
    this.#seq += 1;
    this.#client.send(request('neighbour', this.#seq));
    await this.#client.wait(acks('neighbour', this.#seq), 'the acknowledgement');
    this.#client.received.length = 0;
    this.#client.lines.length = 0;
  }

  close(): void {
    this.#client.destroy();
  }
}

export async function liveTarget(state_dir: string): Promise<FuzzTarget> {
  const serving: Serving = await serve({ state_dir, version: '0' });
  const path = (serving.listening[0] ?? '').replace('unix:', '');
  const client = await connectSocket({ path });
  await client.handshake();
  const neighbour = new Neighbour(client);
  let turn = 0;
  async function check(bytes: Buffer): Promise<string[]> {
    const faults: string[] = [];
    for (let from = 0; from < bytes.length; ) {
      const lf = bytes.indexOf(10, from);
      const to = lf < 0 ? bytes.length : lf;
      readMessage(bytes, from, to);
      from = to + 1;
    }
    const peer = await connectSocket({ path });
    peer.send(bytes);
    peer.end();
    const late = setTimeout(() => {
      faults.push('the collector does not close a connection');
      peer.destroy();
    }, WAIT_MS);
    await Promise.all([peer.closed, neighbour.sends()]);
    clearTimeout(late);
    return faults;
  }
  return {
    name: 'live',
    make(random: Random): FuzzInput {
      turn += 1;
      // A new session each time.
      const lines = LINES.map((one) =>
        at(one).replaceAll('"m"', `"m${turn}"`).replaceAll('m-', `m${turn}-`),
      );
      const whole = Buffer.from(lines.join(''));
      return { about: 'live', bytes: mutate(whole, random, whole), check };
    },
    async close() {
      neighbour.close();
      await serving.stop();
    },
  };
}
