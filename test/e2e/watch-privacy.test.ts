/** The store of a watcher and of an import that the user restricts: all of its bytes are searched. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { filesBelow, kill, root, usePlace } from './cli.ts';
import { can } from './needs.ts';
import { until } from './until.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const ID = '5f0c1f0a-6be6-4422-a6f5-9c0868fe7f65';
const session = (scenario: string) => join(root, 'src/agents/claude/testdata', scenario, 'session');

/** Texts of each kind in the session. */
const MARKS = {
  prompt: 'xq-prompt-mark',
  answer: 'xq-answer-mark',
  thinking: 'xq-thinking-mark',
  input: 'xq-input-mark',
  output: 'xq-output-mark',
  file: 'xq-file-mark',
};

const line = (type: 'user' | 'assistant', n: number, message: object, more: object = {}) =>
  `${JSON.stringify({
    ...{ type, sessionId: ID, cwd: '/home/u/shop', version: '2.1.325', isSidechain: false },
    ...{ uuid: `00000000-0000-4000-8000-00000000000${n}`, parentUuid: null },
    ...{ timestamp: new Date(Date.now() - 10_000 + n * 100).toISOString(), message },
    ...more,
  })}\n`;

const said = (n: number, stop_reason: string, ...content: object[]) =>
  line('assistant', n, {
    ...{ id: `msg_${n}`, type: 'message', role: 'assistant', model: 'claude-opus-5-5' },
    ...{ content, stop_reason, usage: { input_tokens: 1020, output_tokens: 7 } },
  });

function lines(): string[] {
  const file_path = `/home/u/shop/${MARKS.file}.ts`;
  const result = { tool_use_id: 'toolu_1', type: 'tool_result', content: MARKS.output };
  const input = { file_path, content: MARKS.input };
  return [
    line('user', 1, { role: 'user', content: MARKS.prompt }),
    said(2, 'tool_use', { type: 'thinking', thinking: MARKS.thinking, signature: 'x' }),
    said(3, 'tool_use', { type: 'tool_use', id: 'toolu_1', name: 'Write', input }),
    line(
      'user',
      4,
      { role: 'user', content: [result] },
      { toolUseResult: { filePath: file_path } },
    ),
    said(5, 'end_turn', { type: 'text', text: MARKS.answer }),
  ];
}

function settings(watch: string): void {
  const folder = join(place.folder, '.config/tacho');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'tacho.yaml'), `watch:\n${watch}`, { mode: 0o600 });
}

const stored = (mark: string) =>
  filesBelow(place.state)
    .filter(({ bytes }) => bytes.includes(mark))
    .map(({ path }) => path);

const path = () => join(place.folder, `.claude/projects/-home-u-shop/${ID}.jsonl`);
const list = async () => (await place.tacho(['runs', 'list', '--json'])).records;

verifies(
  'WA-12',
  'with metadata_only no text is anywhere in the store: not from the watcher, an import, or a search',
  async () => {
    mkdirSync(dirname(path()), { recursive: true });
    writeFileSync(path(), lines().slice(0, 3).join(''));
    // Without the setting, every text is there.
    await place.tacho(['watch', '--once']);
    for (const mark of [MARKS.prompt, MARKS.thinking, MARKS.input, MARKS.file])
      expect([mark, stored(mark).length > 0]).toEqual([mark, true]);
    await place.tacho(['runs', 'rm', 'last', '--yes']);
    settings('  metadata_only: true\n');
    const other = { TACHO_HOME: `${place.state}-other` };
    const watching = place.start(['watch'], { env: other });
    const runs = async () =>
      (await place.tacho(['runs', 'list', '--json'], { env: other })).records;
    await until('the run', async () => (await runs()).length === 1);
    writeFileSync(path(), lines().slice(3).join(''), { flag: 'a' });
    await until('all of it', async () => (await runs())[0]?.success === true);
    await place.tacho(['import', 'claude', '--all'], { env: other });
    await place.tacho(['import', 'claude', path()], { env: other });
    await place.tacho(['search', MARKS.answer], { env: other });
    expect((await runs())[0]).toMatchObject({
      ...{ agent: 'claude', tool_calls: 1, model: 'claude-opus-5-5', project: '/home/u/shop' },
      ...{ prompt: null, labels: { metadata_only: 'true' } },
    });
    for (const mark of Object.values(MARKS)) {
      const found = filesBelow(other.TACHO_HOME).filter(({ bytes }) => bytes.includes(mark));
      expect([mark, found.map(({ path }) => path)]).toEqual([mark, []]);
    }
    kill(watching.pid, 'SIGTERM');
    await watching.done;
  },
  120_000,
);

verifies(
  'WA-12',
  'excluded folders are not imported, unless a session is named; agents and include restrict the watcher',
  async () => {
    mkdirSync(dirname(path()), { recursive: true });
    writeFileSync(path(), lines().join(''));
    cpSync(session('bash-ok'), place.folder, { recursive: true });
    settings('  exclude: [/home/u/shop]\n  agents: [claude]\n');
    await place.tacho(['watch', '--once']);
    await place.tacho(['import', '--all']);
    expect((await list()).map(({ project }) => project)).toEqual(['/home/user/project']);
    expect(stored(MARKS.prompt)).toEqual([]);
    await place.tacho(['import', 'claude', path()]);
    expect(await list()).toHaveLength(2);
    settings('  agents: [codex]\n');
    await place.tacho(['watch', '--once'], { env: { TACHO_HOME: `${place.state}-b` } });
    const b = await place.tacho(['runs', 'list', '--json'], {
      env: { TACHO_HOME: `${place.state}-b` },
    });
    expect(b.records).toEqual([]);
  },
  120_000,
);

verifies(
  'WA-12',
  'the watcher opens nothing in the working folders of sessions',
  async () => {
    if (!can('strace', 'opens of the watcher')) return;
    const shop = join(place.folder, 'shop');
    mkdirSync(join(shop, '.git'), { recursive: true });
    writeFileSync(join(shop, 'tacho.yaml'), 'watch: {}\n');
    mkdirSync(dirname(path()), { recursive: true });
    writeFileSync(path(), lines().join('').replaceAll('/home/u/shop', shop));
    const log = join(place.folder, 'trace');
    const under = ['strace', '-f', '-qq', '-e', 'trace=file', '-o', log];
    const { code, stderr } = await place.tacho(['watch', '--once'], { under });
    expect([code, stderr]).toEqual([0, '']);
    expect(await list()).toHaveLength(1);
    const calls = readFileSync(log, 'latin1').split('\n');
    expect(calls.some((call) => call.includes(path()))).toBe(true);
    const opened = calls.filter((call) => call.includes(`"${shop}`) && /open(?:at)?\(/.test(call));
    expect(opened).toEqual([]);
  },
  120_000,
);
