import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { LiveSender } from '../../src/app/live/sender.ts';
import { serve } from '../../src/app/live/serve.ts';
import { compose } from '../../src/live/protocol/compose.ts';
import { readSession } from '../../src/store/journal/read.ts';
import { verifies } from '../e2e/verifies.ts';
import { testFolder } from '../fixtures/folder.ts';
import { acks, connectSocket, isError, isType, message } from '../live-client.ts';
import { startServe, storedIn } from '../serve-process.ts';
import { mount, unmount, whyNoMount } from './mount.ts';

const why = whyNoMount('tmpfs');
const unless = why === null ? '' : ` (NOT RUN: ${why})`;

verifies(
  ['LP-7', 'LP-16'],
  `on a full disk nothing is acknowledged and the sender gets an error; with free space the collector continues${unless}`,
  async () => {
    if (why !== null) return;
    const disk = join(testFolder(), 'disk');
    mount(['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs'], disk);
    onTestFinished(() => unmount(disk));
    const serving = await serve({ state_dir: join(disk, 'state'), version: '0' });
    const client = await connectSocket({ path: join(disk, 'state/live/collector.sock') });
    onTestFinished(async () => {
      client.destroy();
      await serving.stop();
    });
    await client.handshake();
    const body = (seq: number) =>
      message('tool_call_response', 's', seq, { call_id: 'c', result: 'x'.repeat(20_000) });
    const sent = [1, 2, 3].map(body);
    client.send(sent[0]);
    await client.wait(acks('s', 1));
    try {
      writeFileSync(join(disk, 'filler'), Buffer.alloc(8 * 1024 * 1024));
    } catch {
      // Full.
    }
    client.send(sent[1]);
    const error = await client.wait(isError('CAPACITY_EXHAUSTED'));
    expect(error.data).toMatchObject({
      retriable: true,
      details: { reason: 'disk_full', pending_messages: 1 },
      caused_by: { message_id: 's-2', seq: 2 },
    });
    expect(client.received.filter(isType('ack'))).toHaveLength(1);
    rmSync(join(disk, 'filler'));
    client.send(sent[1], sent[2]);
    await client.wait(acks('s', 3));
    const stored: string[] = [];
    for await (const entry of readSession(join(disk, 'state/live/journal'), 's'))
      stored.push(entry.body);
    expect(stored).toEqual(sent.map((one) => JSON.stringify(one)));
  },
);

verifies(
  ['LP-8', 'LP-16'],
  `a sender with a full disk reports it, sends what it has, and continues with free space, without a gap${unless}`,
  async () => {
    if (why !== null) return;
    const folder = testFolder();
    const disk = join(folder, 'disk');
    mount(['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs'], disk);
    onTestFinished(() => unmount(disk));
    const state = join(folder, 'state');
    const { url, end } = await startServe(state);
    const live = new LiveSender({ url, outbox: join(disk, 'outbox') });
    onTestFinished(() => void live.close());
    const session = live.open('s');
    const body = (seq: number) => {
      const data = { message_id: 'm', index: 0, delta: 'x'.repeat(20_000) };
      return compose('content_block_delta', data, { session_id: 's', seq, at_ms: seq });
    };
    const fill = () => {
      for (let refused = 0; refused < 3; ) {
        try {
          session.say([body(session.next_seq)]);
        } catch (error) {
          expect(error).toMatchObject({ code: 'disk_full' });
          refused += 1;
        }
      }
    };
    writeFileSync(join(disk, 'filler'), Buffer.alloc(1024 * 1024));
    fill();
    const before = session.next_seq;
    expect(before).toBeGreaterThan(10);
    rmSync(join(disk, 'filler'));
    fill();
    expect(session.next_seq).toBeGreaterThan(before + 10);
    const last = session.next_seq;
    await live.close();
    // The next sender delivers the rest; the last free bytes of the disk may be enough for that.
    const next = new LiveSender({ url, outbox: join(disk, 'outbox') });
    onTestFinished(() => void next.close());
    const again = next.open('s');
    expect(again.next_seq).toBe(last);
    const numbered = { session_id: 's', seq: last, at_ms: last };
    again.put([
      {
        seq: last,
        type: 'session_end',
        text: JSON.stringify(compose('session_end', { status: 'ok' }, numbered)),
      },
    ]);
    expect(await next.settled(60_000)).toBe(true);
    expect(await next.close()).toEqual([]);
    expect(await end('SIGTERM')).toBe(0);
    const stored = (await storedIn(state)).get('s') ?? [];
    const sent = Array.from({ length: last - 1 }, (_, i) => JSON.stringify(body(i + 1)));
    expect(stored.slice(0, -1)).toEqual(sent);
    expect(JSON.parse(stored.at(-1) as string).type).toBe('session_end');
  },
);
