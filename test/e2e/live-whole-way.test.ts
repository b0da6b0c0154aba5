/** From an agent's output to a collector's store and its subscribers, with real processes at every step. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { allAgents } from '../../src/agents/registry.ts';
import { createLiveProjector } from '../../src/projections/live.ts';
import { connectSocket, control, isError, type LiveClient, type Message } from '../live-client.ts';
import { startServe, storedIn } from '../serve-process.ts';
import { recordingsIn, wholeRun } from '../test-agent.ts';
import { demo, finished, fixture, type Result, root, until, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const LONG_MS = 300_000;

const outbox = () => {
  const folder = join(place.state, 'outbox');
  return existsSync(folder) ? readdirSync(folder) : [];
};
const socketOf = (url: string) => ({ path: url.replace('unix:', '') });

/** A client that sees everything from the beginning on. */
async function watching(url: string): Promise<LiveClient> {
  const client = await connectSocket(socketOf(url));
  await client.handshake({ role: 'client' });
  client.send(control('subscribe_events', { filter: { from_seq: 0 } }, { ack_required: true }));
  await client.wait(({ type, data }) => type === 'ack' && data.acked.length === 0, 'subscription');
  return client;
}

/** What a sender said, but for a busy machine's delays that look like another clock. */
const complaints = (stderr: string) =>
  stderr.split('\n').filter((line) => line !== '' && !line.includes(' clock '));

/** The numbered lines that a client got, by session. */
function linesOf({ lines, received }: LiveClient): Map<string, string[]> {
  const numbered = lines.filter((_, i) => typeof received[i].seq === 'number');
  return Map.groupBy(numbered, (line) => JSON.parse(line).session_id as string);
}

/** The rules that a stream fails, as `tacho validate` judges it; throws for a stream without a verdict. */
async function failedRules(args: string[], input: string | Buffer = ''): Promise<string[]> {
  const { stdout, stderr } = await place.tacho(['validate', '--json', ...args], { input });
  const report = JSON.parse(stdout);
  if (report.lines === 0 || report.verdict === 'not judged') throw new Error(stderr);
  return report.rules
    .filter(({ verdict }: Message) => verdict === 'failed')
    .map(({ id, examples }: Message) => `${id}: ${JSON.stringify(examples)}`);
}

/** Every recording of an agent as the lines of a session each. */
async function recorded(id: string): Promise<Map<string, string[]>> {
  const agent = (await allAgents()).find((one) => one.id === id);
  if (agent === undefined) throw new Error(`no agent ${id}`);
  const sessions = new Map<string, string[]>();
  for (const recording of recordingsIn(join(root, 'src/agents', id, 'testdata'))) {
    const session_id = `${id}/${recording.scenario}/${recording.channel}`;
    const projector = createLiveProjector({
      session_id,
      call_timeout_ms: null,
      trace: null,
      abandoned_ms: null,
    });
    const messages = (await wholeRun(agent, recording)).flatMap((event) => projector.push(event));
    sessions.set(
      session_id,
      messages.map((message) => JSON.stringify(message)),
    );
  }
  return sessions;
}

verifies(
  ['LP-2', 'LP-7', 'CF-1'],
  'every recording of every agent arrives as it was sent: with a subscriber, in the store, and no rule fails',
  async () => {
    const { url, end } = await startServe(place.state);
    const client = await watching(url);
    const all = new Map<string, string[]>();
    const senders: Promise<Result>[] = [];
    for (const { id } of await allAgents()) {
      const sessions = await recorded(id);
      expect(sessions.size).toBeGreaterThan(5);
      for (const [session_id, lines] of sessions) all.set(session_id, lines);
      const file = join(place.folder, `${id}.jsonl`);
      writeFileSync(file, `${[...sessions.values()].flat().join('\n')}\n`);
      senders.push(place.tacho(['emit', '--to', url, '--json', '--wait', '120', file]));
    }
    for (const { code, stderr, records } of await Promise.all(senders)) {
      expect({ code, said: complaints(stderr) }).toEqual({ code: 0, said: [] });
      expect(records[0].bad).toBe(0);
    }
    expect(outbox()).toEqual([]);
    const count = [...all.values()].flat().length;
    await until(
      () => client.received.filter(({ seq }) => typeof seq === 'number').length >= count,
      `${count} messages`,
    );
    client.destroy();
    expect(await end('SIGTERM')).toBe(0);
    const came = linesOf(client);
    const stored = await storedIn(place.state);
    expect([came.size, stored.size]).toEqual([all.size, all.size]);
    for (const [session_id, lines] of all) {
      // Text for text, so that what is read from it is the same as well.
      expect(came.get(session_id), session_id).toEqual(lines);
      expect(stored.get(session_id), session_id).toEqual(lines);
    }
    const sent = join(place.folder, 'sent.jsonl');
    writeFileSync(sent, `${[...all.values()].flat().join('\n')}\n`);
    const got = join(place.folder, 'got.jsonl');
    writeFileSync(
      got,
      `${client.lines.filter((line) => !line.includes('"seq":null')).join('\n')}\n`,
    );
    expect(await failedRules(['--against', sent, got])).toEqual([]);
    expect(await failedRules(['--stored'])).toEqual([]);
  },
  LONG_MS,
);
