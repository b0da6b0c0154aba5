/** A named session file may come from a clone: links next to it reach no other file of the user. */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { findAgent } from '../../src/agents/registry.ts';
import { type Row, root, usePlace } from './cli.ts';
import { can } from './needs.ts';

const place = usePlace();
const SECRET = 'a line of another file of the user';
/** The main file of the scenario `subagent`, below its `session` folder. */
const MAIN: Readonly<Record<string, string>> = {
  claude: '.claude/projects/-home-user-project/b699292f-2f21-4173-a4bb-2265c98952c1.jsonl',
  codex:
    '.codex/sessions/2026/11/15/rollout-2026-11-15T01-16-10-01a1dcc6-aecc-7572-b669-efad1a39d4a4.jsonl',
  demo: 'demo-94a168d2da57.jsonl',
  gemini: 'dot-gemini/tmp/project/chats/session-2026-11-15T01-25-14a88fed.jsonl',
  opencode: 'db-session.jsonl',
  qwen: '.qwen/projects/-home-user-project/chats/42a241f7-e16b-4002-bff7-deab55ad12a4.jsonl',
};

/** A clone of the session; `part` is one of its files besides the main one. */
async function clone(agent: string, to = join(place.work, 'rec')) {
  cpSync(join(root, 'src/agents', agent, 'testdata/subagent/session'), to, { recursive: true });
  const main = join(to, MAIN[agent] as string);
  const parts = (await (await findAgent(agent))?.session?.parts(main)) ?? [];
  const part = parts.at(-1)?.path as string;
  expect(part).not.toBe(main);
  return { main, part };
}

/** Moves the file or folder out of the clone and leaves a link in its place. */
function linkOut(path: string): string {
  const target = join(place.folder, `outside-${basename(path)}`);
  renameSync(path, target);
  symlinkSync(target, path);
  return target;
}

async function events(agent: string, main: string): Promise<{ text: string; left_out: Row[] }> {
  const args = ['convert', '--agent', agent, '--from', 'session', main, '--to', 'events'];
  const { code, stdout, records, stderr } = await place.tacho(args);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  const left_out = records.filter(
    ({ kind, data }) => kind === 'problem' && data.detail.includes('left out'),
  );
  return { text: stdout, left_out };
}

describe.each(Object.keys(MAIN))('%s', (agent) => {
  test('a part is read when it is a file, and skipped when it is a link', async () => {
    const { main, part } = await clone(agent);
    appendFileSync(part, `${SECRET}\n`);
    const before = await events(agent, main);
    expect([before.text.includes(SECRET), before.left_out]).toEqual([true, []]);
    linkOut(part);
    const { text, left_out } = await events(agent, main);
    expect(text).not.toContain(SECRET);
    expect(left_out).toMatchObject([
      { data: { code: 'bad_record', detail: expect.stringContaining(basename(part)) } },
    ]);
  });

  test('a link to a device does not hang', async () => {
    const { main, part } = await clone(agent);
    rmSync(part);
    symlinkSync('/dev/zero', part);
    await events(agent, main);
  });

  test.runIf(can('mkfifo', 'named pipes'))('a pipe in place of a part does not hang', async () => {
    const { main, part } = await clone(agent);
    rmSync(part);
    spawnSync('mkfifo', [part]);
    await events(agent, main);
  });
});

test('a linked folder of parts is skipped', async () => {
  const { main, part } = await clone('claude');
  appendFileSync(part, `${SECRET}\n`);
  linkOut(dirname(part));
  const { text, left_out } = await events('claude', main);
  expect([text.includes(SECRET), left_out.length]).toEqual([false, 1]);
});

test('a session folder that is itself a link is read completely', async () => {
  const { main, part } = await clone('claude');
  appendFileSync(part, `${SECRET}\n`);
  linkOut(join(place.work, 'rec'));
  const { text, left_out } = await events('claude', main);
  expect([text.includes(SECRET), left_out]).toEqual([true, []]);
});

for (const agent of ['claude', 'qwen'])
  test.runIf(can('mkfifo', 'named pipes'))(
    `${agent}: a pipe next to a part does not hang`,
    async () => {
      const { main, part } = await clone(agent);
      const meta = part.replace(/\.jsonl$/, '.meta.json');
      rmSync(meta);
      spawnSync('mkfifo', [meta]);
      expect((await events(agent, main)).left_out).toEqual([]);
    },
  );

test('an import reports the gap, and drift the file', async () => {
  const { main, part } = await clone('claude', place.folder);
  appendFileSync(part, `${SECRET}\n`);
  linkOut(part);
  const [imported] = (await place.tacho(['import', 'claude', '--all', '--json'])).records;
  expect(imported.state).toBe('imported');
  const shown = await place.tacho(['runs', 'show', imported.run_id, '--json']);
  expect(JSON.parse(shown.stdout).completeness.gaps).toContain('bad_record:1');
  const replayed = await place.tacho(['replay', imported.run_id]);
  expect(shown.stdout + replayed.stdout).not.toContain(SECRET);
  const { stdout } = await place.tacho(['drift', 'claude', main, '--from', 'session', '--json']);
  expect(stdout).toContain('left out');
});

test('a link in a folder of JSON files is not part of the session', async () => {
  const storage = join(place.work, 'storage');
  const put = (name: string, value: unknown) => {
    mkdirSync(dirname(join(storage, name)), { recursive: true });
    writeFileSync(join(storage, name), JSON.stringify(value));
  };
  put('session/p/ses_1.json', { time: { created: 1 } });
  put('message/ses_1/msg_1.json', { role: 'user', time: { created: 2 } });
  put('part/msg_1/prt_1.json', { type: 'text', text: SECRET });
  const main = join(storage, 'session/p/ses_1.json');
  expect((await events('opencode', main)).text).toContain(SECRET);
  const path = join(storage, 'part/msg_1/prt_1.json');
  const target = linkOut(path);
  expect(readFileSync(target, 'utf8')).toContain(SECRET);
  const args = ['convert', '--agent', 'opencode', '--from', 'session', main, '--to', 'events'];
  const { code, stdout, stderr } = await place.tacho(args);
  expect([code === 0, stdout.includes(SECRET)]).toEqual([false, false]);
  expect(stderr).toContain(path);
});

test.runIf(can('mkfifo', 'named pipes'))('a pipe next to a database does not hang', async () => {
  const path = join(place.work, 'opencode.db');
  const db = new DatabaseSync(path);
  db.exec('CREATE TABLE session (id, parent_id, time_created, time_updated)');
  db.close();
  spawnSync('mkfifo', [`${path}-journal`]);
  const args = ['convert', '--agent', 'opencode', '--from', 'session', join(path, 'ses_1')];
  const { code, stderr } = await place.tacho(args);
  expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining('-journal')]);
});
