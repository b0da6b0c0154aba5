/** A collector in the test's own process, and messages for its tests. */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type ServeOptions, type Serving, serve } from '../src/app/live/serve.ts';
import { testFolder } from './fixtures/folder.ts';
import {
  connectSocket,
  control,
  type LiveClient,
  type Message,
  message,
  request,
} from './live-client.ts';

export interface Running extends Serving {
  folder: string;
  connect(): Promise<LiveClient>;
}

/** A collector in this process, on the socket of a new state folder; stopped after the test. */
export async function running(options: Partial<ServeOptions> = {}): Promise<Running> {
  const folder = testFolder();
  const serving = await serve({ state_dir: join(folder, 'state'), version: '0', ...options });
  const clients: LiveClient[] = [];
  onTestFinished(async () => {
    for (const client of clients) client.destroy();
    await serving.stop();
  });
  const path = join(folder, 'state/live/collector.sock');
  return {
    ...serving,
    folder,
    async connect() {
      const client = await connectSocket({ path });
      clients.push(client);
      return client;
    },
  };
}

export const start = (session: string) => message('session_start', session, 1, { agent: 'toy' });
export const many = (session: string, from: number, count: number) =>
  Array.from({ length: count }, (_, i) => request(session, from + i));
export const subscribe = (filter: object = {}) =>
  control('subscribe_events', { filter }, { ack_required: true });
export const confirms = (asked: Message) => (one: Message) =>
  one.type === 'ack' && one.correlation_id === asked.message_id;

export async function subscribed(client: LiveClient, filter: object = {}): Promise<void> {
  const asked = subscribe(filter);
  client.send(asked);
  await client.wait(confirms(asked));
}
