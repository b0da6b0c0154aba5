import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { LIMITS } from '../../lib/limits.ts';
import { createRedactor } from '../../redact/gate.ts';
import { secretHash } from '../../store/journal/hash.ts';
import { logPath } from '../../store/spool/run-files.ts';
import { createSpool } from '../../store/spool/spool.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { saveLog } from './stream-log.ts';

const SECRET = 'Kx82mPq0Tz93nRw1Lv04bYe2';

const hash = secretHash(Buffer.alloc(32, 1));

/** The raw log of a run with this output. */
async function rawLog(stdout: string): Promise<string> {
  const state = openStateDir(join(testFolder(), 'state'));
  const spool = createSpool(state, 'r_1');
  const redactor = createRedactor({ env: { MY_SECRET: SECRET }, secret_env: [], hash });
  writeFileSync(spool.stdout, stdout);
  const request = { run_id: 'r_1', agent: 'toy', stream_log: 'raw' as const, cwd: '/', redactor };
  await saveLog(state, spool, request);
  return readFileSync(logPath(state, 'toy', 'r_1') as string, 'utf8');
}

verifies(
  'ST-7',
  'a raw log has no part of a secret where a line over the limit is cut into parts',
  async () => {
    // Wherever the line is cut, it is within the secret or just after it.
    const count = Math.ceil((LIMITS.line_bytes_max + 2 * LIMITS.read_chunk_bytes) / SECRET.length);
    const long = SECRET.repeat(count);
    const text = await rawLog(`${long}\nnext é\n${'é'.repeat(count * 12)}`);
    const mark = `[REDACTED:env:${hash(SECRET)}]`;
    expect(text.indexOf(SECRET.slice(0, 8))).toBe(-1);
    expect(text.replaceAll(mark, '')).toBe(`\nnext é\n${'é'.repeat(count * 12)}`);
  },
);

verifies(
  'ST-7',
  'a raw log has no part of a secret in pieces that alternate with other texts',
  async () => {
    const halves = [SECRET.slice(0, 12), SECRET.slice(12)];
    const demo = (t: string, id: string, text: string) => ({ t, id, text });
    const acp = (sessionUpdate: string, text: string) => ({
      msg: {
        params: { sessionId: 's', update: { sessionUpdate, content: { type: 'text', text } } },
      },
    });
    const claude = (parent: string, text: string, uuid: string) => {
      const delta = { type: 'text_delta', text };
      const event = { type: 'content_block_delta', index: 0, delta };
      return { type: 'stream_event', event, parent_tool_use_id: parent, uuid };
    };
    const records = halves.flatMap((half, at) => [
      demo('text_delta', 'm1', half),
      demo('think_delta', 'h1', 'hm '),
      acp('agent_message_chunk', half),
      acp('agent_thought_chunk', 'hm '),
      claude('p1', half, `u${at}`),
      claude('p2', 'hm ', `v${at}`),
    ]);
    const text = await rawLog(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    expect(halves.filter((half) => text.includes(half))).toEqual([]);
    expect(text.match(/\[REDACTED:split\]/g)).toHaveLength(6);
    expect(text.match(/hm /g)).toHaveLength(6);
  },
);
