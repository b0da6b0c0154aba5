import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { eventsOf, kindsOf, testAgent } from '../../../test/test-agent.ts';
import { antigravity } from './index.ts';

testAgent(antigravity, join(import.meta.dirname, 'testdata'));

describe('the store', () => {
  const home = mkdtempSync(join(tmpdir(), 'tacho-antigravity-'));
  afterAll(() => rmSync(home, { recursive: true }));
  const put = (...names: string[]) => {
    const path = join(home, '.gemini', ...names);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, '');
    return path;
  };
  const transcript = (store: string, id: string) =>
    put(store, 'brain', id, '.system_generated', 'logs', 'transcript.jsonl');

  test('a conversation without a transcript is listed, and reading it names the reason', async () => {
    const read = [transcript('antigravity-cli', 'a-1'), transcript('antigravity', 'b-2')];
    put('antigravity-cli', 'conversations', 'a-1.db');
    put('other', 'conversations', 'd-4.db');
    const closed = put('antigravity-cli', 'conversations', 'c-3.pb');
    const listed = await Array.fromAsync(antigravity.session!.list!({ env: { HOME: home } }));
    expect(listed.map(({ path }) => path).sort()).toEqual([...read, closed].sort());
    expect(antigravity.session?.read?.(read[0]!)).toBe(null);
    expect(() => antigravity.session?.read?.(closed)).toThrow('has no transcript');
  });
});

verifies('AG-2', 'unknown and incomplete records are problems', () => {
  const records = [
    { type: 'USER_INPUT' },
    { type: 'PLANNER_RESPONSE', tool_calls: [{}] },
    { type: 'BROWSER_SUBAGENT' },
    {},
  ];
  const bytes = Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  const events = eventsOf(antigravity, 'session', [bytes]);
  expect(kindsOf(events, 'problem').map(({ data }) => `${data.code} ${data.detail}`)).toEqual([
    'bad_record USER_INPUT without content',
    'bad_record tool call without name',
    'unknown_record BROWSER_SUBAGENT',
    'bad_record no type',
  ]);
});
