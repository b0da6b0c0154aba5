/** Whatever texts records have, reading them as byte text gives the events and the outcome that reading text gives. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { recordingsIn } from '../../../test/test-agent.ts';
import { AGENT_IDS, findAgent } from '../../agents/registry.ts';
import { Pipeline } from '../../capture/pipeline.ts';
import { recordedRun } from '../../capture/run-info.ts';
import { fromByteText } from '../../lib/byte-text.ts';
import type { Agent } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import { createOutcomeFold } from '../../projections/outcome.ts';

type Channel = 'stdout' | 'session';

const CJK = '文字'.repeat(200);

/** Texts of which a part, the length, the case or the spaces are others in bytes. */
const WORDS = [
  'voilà',
  'cat notes/你',
  'cat skills/你/SKILL.md ',
  '\u00a0',
  '\u3000\u3000',
  '\ufeff',
  '',
  'a\u2028b\u2029',
  `${CJK}Р`,
  `${'漢'.repeat(700)}/SKILL.md`,
  `Tool ${'工具'.repeat(60)} not found`,
  `blocked: ${CJK}`,
  '🚀 \ud83d half',
  '{"output":"\\u4f60","metadata":{"exit_code":3}} é',
];

/** The record with the word in its texts, in the place of some of them, behind others. Names of kinds stay. */
function changed(value: unknown, word: string, seed: number, key = ''): unknown {
  if (typeof value === 'string') {
    const pick = (seed + key.length * 7 + value.length) % 4;
    if (FIXED.test(key) || pick === 3) return value;
    return pick === 0 ? word : `${value}${word}`;
  }
  if (Array.isArray(value)) return value.map((item) => changed(item, word, seed + 1, key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, changed(item, word, seed, name)]),
  );
}

const FIXED = /^(?:t|type|subtype|role|kind|status|method|event|sessionUpdate|stopReason|\w*id)$/i;

function run(agent: Agent, channel: Channel, bytes: Buffer, byte_text: boolean) {
  const pipeline = new Pipeline({
    agent,
    primary: channel,
    now: null,
    byte_text,
    info: recordedRun('r_1', agent.id),
  });
  const fold = createOutcomeFold({ keepIo: true, byte_text });
  const events: Event[] = [];
  const take = (more: Event[]) => {
    events.push(...more);
    for (const event of more) fold.push(event);
  };
  take(pipeline.push(channel, bytes));
  take(pipeline.endOfInput(channel));
  take(pipeline.finish());
  return { events, outcome: fold.finish() };
}

/** Halves of surrogate pairs have no bytes. */
function wellFormed<T>(value: T): T {
  const text = JSON.stringify(value);
  return JSON.parse(text, (_, item) => (typeof item === 'string' ? item.toWellFormed() : item));
}

function compare(agent: Agent, channel: Channel, text: string | Buffer, what: string): void {
  const bytes = Buffer.from(text as string);
  const made = run(agent, channel, bytes, true);
  const wanted = wellFormed(run(agent, channel, bytes, false));
  expect(fromByteText(made), what).toEqual(wanted);
}

const escaped = (json: string) =>
  json.replaceAll(
    /[^\u0000-\u007f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const folderOf = (agent: string) => join(import.meta.dirname, '../../agents', agent, 'testdata');

describe.each(AGENT_IDS)('%s', (id) => {
  test('texts beyond ASCII, wherever they are', async () => {
    const agent = (await findAgent(id)) as Agent;
    const small = recordingsIn(folderOf(id)).filter(({ bytes }) => bytes.length < 60_000);
    const every = Math.ceil(small.length / 12);
    const some = small.filter((_, at) => at % every === 0);
    for (const [at, { scenario, channel, bytes }] of some.entries()) {
      const lines = bytes.toString('utf8').trimEnd().split('\n');
      for (const [n, word] of WORDS.entries()) {
        const made = lines.map((line, seed) => {
          try {
            return JSON.stringify(changed(JSON.parse(line), word, seed + at + n));
          } catch {
            return line;
          }
        });
        const text = `${made.join('\n')}\n`;
        const use = (at + n) % 4 === 0 ? escaped(text) : text;
        compare(agent, channel as Channel, use, `${scenario} ${channel} ${word.slice(0, 40)}`);
      }
    }
  });
});
