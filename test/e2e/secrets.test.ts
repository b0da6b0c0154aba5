/** Secrets that an agent prints are in nothing that is stored or sent (ST-7), however they were passed to it. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { SPOOL_MARK } from '../../src/store/spool/spool.ts';
import { CHAOS, played } from '../chaos-agent.ts';
import { demo, filesBelow, finished, kill, linesOf, spools, until, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const { tacho } = place;

const INHERITED = 'inherited-value-7Qz81mKpXv';
const GIVEN = 'given_value_by_flag_0f9e8d7c6b';
const ANTHROPIC = `sk-ant-api03-${'aB3xK9mQ7z'.repeat(9)}-AAAA`;
const GITHUB = `ghp_${'1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R'.slice(0, 36)}`;
const PATTERN = 'ACME-4711-0815';
const SECRETS = [INHERITED, GIVEN, ANTHROPIC, GITHUB, PATTERN];

const pieces = (text: string) => text.match(/.{1,7}/gs) ?? [];

function script(): string {
  const path = join(place.folder, 'script.yaml');
  const streamed = `I found ${ANTHROPIC} and ${INHERITED} here, and ${GIVEN} there.`;
  const step = {
    think: `The key is ${GITHUB}.`,
    stream: pieces(streamed),
    calls: [
      {
        tool: 'run',
        input: {
          cmd: 'printf "%s %s" "$MY_API_TOKEN" "$DEPLOY_SECRET"; printenv MY_API_TOKEN >&2',
        },
      },
      { tool: 'write_file', input: { path: 'out.txt', text: `token=${GITHUB}\n` } },
      { tool: 'run', input: { cmd: `echo ${PATTERN} && exit 3` } },
    ],
  };
  const end = {
    say: `It is ${ANTHROPIC}, ${GITHUB}, ${PATTERN} and ${INHERITED}${GIVEN}.`,
    stream: true,
  };
  const noise = [{ stderr: `warning: ${GITHUB}` }, { garbage: `not json ${INHERITED}` }];
  writeFileSync(path, JSON.stringify({ steps: [step, ...noise, end] }));
  return path;
}

const ENV = { MY_API_TOKEN: INHERITED };
const FLAGS = ['--env', `DEPLOY_SECRET=${GIVEN}`, '--redact', 'ACME-\\d{4}-\\d{4}'];

/** Every place that contains one of the secrets. */
function leaks(texts: { path: string; bytes: Buffer }[]): string[] {
  return texts.flatMap(({ path, bytes }) =>
    SECRETS.filter((secret) => bytes.includes(secret)).map((secret) => `${path}: ${secret}`),
  );
}

const streams = (result: { bytes: Buffer; stderr: string }) => [
  { path: 'stdout', bytes: result.bytes },
  { path: 'stderr', bytes: Buffer.from(result.stderr) },
];

verifies(
  'ST-7',
  'no secret is in the state folder, on stdout, or in a requested file',
  async () => {
    const events = join(place.folder, 'events.jsonl');
    const final = join(place.folder, 'final.txt');
    const args = [...FLAGS, '--stream', '--events', events, '--final-output', final];
    const path = script();
    const json = await tacho(demo(path, ...args), { env: ENV });
    expect(json.code).toBe(0);
    expect(leaks(streams(json))).toEqual([]);
    expect(leaks(filesBelow(place.state))).toEqual([]);
    expect(
      leaks([events, final].map((file) => ({ path: file, bytes: readFileSync(file) }))),
    ).toEqual([]);
    const human = await tacho(
      ['run', ...CHAOS, '--stream', ...FLAGS, `use ${GITHUB}`, '--', ...played(path)],
      { env: ENV },
    );
    expect(human.code).toBe(0);
    expect(leaks(streams(human))).toEqual([]);
    expect(leaks(filesBelow(place.state))).toEqual([]);
    expect(spools(place)).toEqual([]);
  },
);

verifies(
  'ST-7',
  'the record counts the redactions, and equal secrets have equal marks',
  async () => {
    const events = join(place.folder, 'events.jsonl');
    const result = await tacho(demo(script(), ...FLAGS, '--events', events), { env: ENV });
    const end = linesOf(readFileSync(events, 'utf8')).at(-1);
    expect(Object.keys(end.data.redactions).length).toBeGreaterThanOrEqual(3);
    for (const count of Object.values(end.data.redactions)) expect(count).toBeGreaterThan(0);
    const marks = new Set(result.stdout.match(/\[REDACTED:[a-z_]+:[0-9a-f]{8}\]/g));
    expect(marks.size).toBe(SECRETS.length);
    const shown = await tacho(['runs', 'show', 'last']);
    expect(leaks(streams(shown))).toEqual([]);
    const replayed = await tacho(['replay', 'last', '--output', 'json']);
    expect(replayed.stdout).toBe(result.stdout);
  },
);

verifies(
  'ST-7',
  'a recovered run has the same secrets redacted, including those of --env',
  async () => {
    const run = place.start(demo(script(), ...FLAGS, '--stream'), { env: ENV, contract: 'none' });
    await until(() => spools(place).length > 0);
    const folder = join(place.state, 'spool', spools(place)[0] ?? '');
    await until(
      () =>
        (statSync(join(folder, 'stdout'), { throwIfNoEntry: false })?.size ?? 0) >
        SPOOL_MARK.length,
    );
    kill(run.pid);
    await run.done;
    for (const { path } of filesBelow(folder)) expect(statSync(path).mode & 0o777).toBe(0o600);
    const recovered = await tacho(['runs', 'recover']);
    expect(recovered.code).toBe(0);
    expect(spools(place)).toEqual([]);
    expect(leaks(filesBelow(place.state))).toEqual([]);
    expect(JSON.parse((await tacho(['runs', 'show', 'last', '--json'])).stdout).success).toBe(true);
  },
);

verifies('ST-7', '--keep-raw keeps the raw output, readable by its owner only', async () => {
  const result = await tacho(demo('fixed', '--keep-raw', ...FLAGS), { env: ENV });
  const folder = join(place.state, 'spool', result.records[0].run_id);
  const files = filesBelow(folder);
  expect(files.map(({ path }) => path.slice(folder.length + 1)).sort()).toEqual(
    expect.arrayContaining(['meta.json', 'stderr', 'stdout']),
  );
  for (const { path } of files) expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(leaks(files)).toEqual([]);
  expect(statSync(place.state).mode & 0o777).toBe(0o700);
  expect(finished(result).exit_reason).toBe('ok');
  // Output kept on request is not an unfinished capture.
  expect((await tacho(['runs', 'recover'])).stdout).toBe('Nothing to recover.\n');
  expect(spools(place)).toHaveLength(1);
});

verifies(
  'ST-7',
  "a secret or a pattern that equals one of the record's own words leaves the record intact",
  async () => {
    const env = { A_TOKEN: 'complete', B_TOKEN: 'tool_calls', C_TOKEN: 'native_result' };
    const result = await tacho(demo('fixed', '--redact', '.'), { env });
    expect([result.code, finished(result).exit_reason]).toEqual([0, 'ok']);
    const { completeness, terminal_evidence } = finished(result);
    expect([completeness, terminal_evidence]).toEqual([
      { grade: 'complete', gaps: [], filled: [] },
      'native_result',
    ]);
    expect((await tacho(['runs', 'verify', 'last'])).code).toBe(0);
  },
);

verifies('AG-14', 'a text cut off while streaming is recorded to its last word', async () => {
  const path = join(place.folder, 'cut.jsonl');
  const events = [
    { type: 'message_start', message: { id: 'm1', role: 'assistant', content: [] } },
    ...['The answer is ', 'forty', '-two'].map((text) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text },
    })),
  ];
  const lines = events.map((event) => JSON.stringify({ type: 'stream_event', event }));
  writeFileSync(path, `${lines.join('\n')}\n`);
  const { stdout } = await tacho(['convert', '--agent', 'claude', '--to', 'events', path]);
  const deltas = linesOf(stdout).filter(({ kind }) => kind === 'message_delta');
  expect(deltas.map(({ data, raw }) => [data.text, data.message_id, raw?.line])).toEqual([
    ['The answer is ', 'm1', 2],
    // The rest of several lines.
    ['forty-two', 'm1', undefined],
  ]);
});
