import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { findAgent } from '../../agents/registry.ts';
import type { Agent } from '../../model/agent.ts';
import { sessionChunks } from './session-chunks.ts';

const read = async (agent: Agent, path: string) =>
  Buffer.concat(await Array.fromAsync(sessionChunks(agent, path), (chunk) => Buffer.from(chunk)));

verifies(
  'WA-6',
  'a file that its agent rewrites is read before or after the write, but not during it',
  async () => {
    const cline = (await findAgent('cline')) as Agent;
    const path = join(testFolder(), '1700000000_a.messages.json');
    const whole = JSON.stringify({ sessionId: '1700000000_a', messages: [] });
    writeFileSync(path, whole.slice(0, 20));
    setTimeout(() => writeFileSync(path, whole), 100);
    expect((await read(cline, path)).toString()).toBe(whole);
    // Nobody completes it: what there is of it is read.
    writeFileSync(path, whole.slice(0, 20));
    expect((await read(cline, path)).toString()).toBe(whole.slice(0, 20));
  },
);
