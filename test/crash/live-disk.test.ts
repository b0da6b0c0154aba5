import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { serve } from '../../src/app/serve.ts';
import { readSession } from '../../src/store/journal-read.ts';
import { verifies } from '../e2e/verifies.ts';
import { testFolder } from '../fixtures/folder.ts';
import { acks, connectSocket, isError, isType, message } from '../live-client.ts';
import { mount, unmount, whyNoMount } from './mount.ts';

const why = whyNoMount('tmpfs');
const unless = why === null ? '' : ` (NOT RUN: ${why})`;

verifies(
  ['LP-7', 'LP-16'],
  `on a full disk nothing is acknowledged and the sender is told; with space the collector goes on${unless}`,
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
    const told = await client.wait(isError('CAPACITY_EXHAUSTED'));
    expect(told.data).toMatchObject({
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
