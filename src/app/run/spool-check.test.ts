import { expect, test } from 'vitest';
import { CONFIG } from '../../../test/build-events.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { readJson } from '../../lib/schema/json.ts';
import { spoolName } from '../../store/spool/spool.ts';
import { metaFrom } from './spool-check.ts';

const META = {
  version: 1,
  run_id: 'r_1',
  config: CONFIG,
  prompt: 'p',
  cwd: '/',
  started_ms: 1_700_000_000_000,
  keep_raw: false,
  redact: [],
  secrets: { KEY: 'value' },
  owner: { pid: 7, ticks: 1, space: null },
  agent: { pid: 8, start: '1' },
};
const FOLDER = spoolName('r_1');
const read = (value: unknown, space?: number) =>
  metaFrom(readJson('meta.json', JSON.stringify(value, null, space)), FOLDER);

verifies('ST-3', 'only known fields of a meta.json are read: others may have any size', () => {
  const more = { x: [[[]]] };
  const agent = { ...META.agent, ...more };
  const owner = { ...META.owner, ...more };
  const config = { ...META.config, ...more };
  expect(read({ ...META, ...more, agent, owner, config })).toEqual(META);
  const rest = { stream_log: false, live: null, drains: [{ pid: 9, start: null }] };
  expect(read({ ...META, ...rest })).toEqual({ ...META, ...rest });
});

function mistakesIn(value: unknown, space?: number): string[] {
  try {
    read(value, space);
    return [];
  } catch (error) {
    return (error as Error).message.split('\n');
  }
}

verifies('ST-3', 'all mistakes of a meta.json are reported, without a secret in them', () => {
  const wrong = {
    version: 2,
    config: { ...CONFIG, limits: { tokens: -1 }, args: ['a', 1] },
    cwd: undefined,
    secrets: { KEY: { value: 'hunter2' } },
    started_ms: 1e300,
    redact: ['('],
    live: { url: 1, token_file: null, ca: null, call_timeout_ms: null },
    agent: {},
  };
  expect(mistakesIn({ ...META, ...wrong })).toEqual([
    'meta.json:1:2: version must be 1',
    'meta.json:1:113: config.args[1] must be a string',
    'meta.json:1:278: config.limits.tokens must be a whole number of at least 0',
    'meta.json:1:268: config.limits lacks the field cost_usd',
    'meta.json:1:268: config.limits lacks the field tool_calls',
    'meta.json:1:268: config.limits lacks the field steps',
    'meta.json:1:268: config.limits lacks the field same_calls',
    'meta.json:1:305: started_ms must be a whole number from 0 to 253402300799999',
    expect.stringMatching(
      /^meta\.json:1:352: redact\[0\] redaction pattern "\(" is not a valid regular/,
    ),
    'meta.json:1:368: secrets.KEY must be a string',
    'meta.json:1:436: agent lacks the field pid',
    'meta.json:1:436: agent lacks the field start',
    'meta.json:1:455: live.url must be a string',
    'meta.json:1:447: live lacks the field trace',
    'meta.json:1:1: lacks the field cwd',
  ]);
});

test('a mistake of a meta.json has line and column', () => {
  const at = JSON.stringify(META).indexOf('"pid":8') + 1;
  expect(mistakesIn({ ...META, agent: { pid: 8.5, start: '1' } })).toEqual([
    `meta.json:1:${at}: agent.pid must be a whole number from 1 to 2147483647`,
  ]);
  expect(mistakesIn({ ...META, run_id: 'r_2' })).toEqual([
    'meta.json:1:14: run_id does not match this folder',
  ]);
  expect(() => metaFrom(readJson('meta.json', '{"torn'), FOLDER)).toThrow(
    /^meta\.json:1:\d+: no JSON: Unterminated string in JSON$/,
  );
});
