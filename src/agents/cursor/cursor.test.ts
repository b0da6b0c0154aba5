import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { eventsOf, kindsOf, testAgent } from '../../../test/test-agent.ts';
import { runnable } from '../../app/config/agent-of.ts';
import { cursor } from './index.ts';
import { promptTime } from './prompt-time.ts';

testAgent(cursor, join(import.meta.dirname, 'testdata'));

const lines = (...records: object[]) => [
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join('')),
];

test('the time of a prompt is read with its offset, and nothing else is', () => {
  const at = (text: string) => promptTime(`<timestamp>${text}</timestamp> <user_query>x`);
  expect([
    at('Sunday, Sep 20, 2026, 12:31 AM (UTC+3)'),
    at('Friday, Jul 31, 2026, 5:10 PM (UTC-5)'),
    at('Monday, Jan 4, 2027, 12:00 PM (UTC+5:30)'),
    at('Monday, Jan 4, 2027, 12:00 PM (UTC)'),
    at('yesterday'),
    at('Monday, Foo 4, 2027, 12:00 PM (UTC)'),
    promptTime('no time'),
  ]).toEqual([
    Date.UTC(2026, 8, 19, 21, 31),
    Date.UTC(2026, 6, 31, 22, 10),
    Date.UTC(2027, 0, 4, 6, 30),
    Date.UTC(2027, 0, 4, 12),
    undefined,
    undefined,
    undefined,
  ]);
});

describe('records', () => {
  verifies('AG-2', 'unknown and incomplete records are problems', () => {
    const events = eventsOf(
      cursor,
      'session',
      lines(
        { role: 'user', message: {} },
        { role: 'assistant', message: {} },
        { role: 'assistant', message: { content: [{ type: 'picture' }, { type: 'tool_use' }, 5] } },
        { role: 'robot' },
        {},
      ),
    );
    expect(kindsOf(events, 'problem').map(({ data }) => `${data.code} ${data.detail}`)).toEqual([
      'bad_record user message without text',
      'bad_record assistant message without content',
      'unknown_record assistant/picture',
      'bad_record tool_use without name',
      'bad_record assistant block is not an object',
      'unknown_record robot',
      'bad_record no type',
    ]);
  });
});

test('tacho cannot run it, and says what works instead', () => {
  expect(() => runnable(cursor)).toThrow(
    'tacho cannot run Cursor; import its sessions with: tacho import cursor --all, follow them with: tacho watch cursor. To run it with tacho, use its ACP server: tacho run --agent acp PROMPT -- cursor-agent acp',
  );
});
