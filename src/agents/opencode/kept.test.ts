/** Sessions as the CLI stores them: in its database, and in the folders of earlier versions. */
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { makeDatabase, rowsOf, TABLES } from '../../../test/fixtures/opencode-database.ts';
import { malformed, outcomeOf, wholeRun } from '../../../test/test-agent.ts';
import { type Truth, wrongFacts } from '../../../test/truth.ts';
import type { SessionFile } from '../../model/agent.ts';
import { opencode } from './index.ts';
import { session } from './session.ts';

type Row = Record<string, unknown>;

const testdata = join(import.meta.dirname, 'testdata');
const SCENARIOS = ['bash-fail', 'provider-error', 'read', 'skill', 'subagent', 'text'];
const CHILD = 'ses_e222dd448ffe1PZIbw7PJNd3kp';

const truthOf = (scenario: string): Truth =>
  JSON.parse(readFileSync(join(testdata, scenario, 'truth.json'), 'utf8')).session;

let home = '';
let data = '';
/** Stays open, as with a running CLI: the written data is in the log beside the database. */
let db: DatabaseSync | null = null;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'tacho-opencode-test-'));
  data = join(home, '.local', 'share', 'opencode');
  await mkdir(data, { recursive: true });
});
afterEach(async () => {
  db?.close();
  db = null;
  await rm(home, { recursive: true });
});

function keepInDatabase(scenarios: readonly string[]): string {
  const path = join(data, 'opencode.db');
  db = makeDatabase(path, scenarios);
  return path;
}

/** The format before the database: ids in the file names, times in the files. */
async function keepInFolders(scenarios: readonly string[]): Promise<string> {
  const storage = join(data, 'storage');
  const write = async (folder: string[], name: unknown, value: Row) => {
    await mkdir(join(storage, ...folder), { recursive: true });
    await writeFile(join(storage, ...folder, `${name}.json`), JSON.stringify(value, null, 2));
  };
  for (const scenario of scenarios) {
    for (const row of rowsOf(scenario, 'session')) {
      const { id, parent_id, directory, version, time_created, time_updated } = row;
      const time = { created: time_created, updated: time_updated };
      const parent = parent_id === null ? {} : { parentID: parent_id };
      await write(['session', 'global'], id, { id, ...parent, directory, version, time });
    }
    for (const { id, session_id, data: info } of rowsOf(scenario, 'message')) {
      const value = { id, sessionID: session_id, ...(info as Row) };
      await write(['message', String(session_id)], id, value);
    }
    for (const { id, message_id, session_id, data: part } of rowsOf(scenario, 'part')) {
      const value = { id, messageID: message_id, sessionID: session_id, ...(part as Row) };
      await write(['part', String(message_id)], id, value);
    }
  }
  return storage;
}

async function listed(env: NodeJS.ProcessEnv = { HOME: home }): Promise<SessionFile[]> {
  const files: SessionFile[] = [];
  for await (const file of session.list?.({ env }) ?? []) files.push(file);
  return files;
}

const find = (session_id: string, env: NodeJS.ProcessEnv = { HOME: home }) =>
  session.find({ session_id, cwd: '/p', env });

const eventsAt = (path: string) =>
  wholeRun(opencode, {
    scenario: 'x',
    channel: 'session',
    path,
    bytes: Buffer.alloc(0),
    truth: null,
  });

/** Root sessions of the recordings with the times of their last rows, most recently used first. */
const kept = (scenarios: readonly string[], tables = TABLES.slice()) =>
  scenarios
    .map((scenario) => {
      const rows = tables.flatMap((table) => rowsOf(scenario, table));
      const root = rowsOf(scenario, 'session').find((row) => row.parent_id === null);
      const modified_ms = Math.max(...rows.map(({ time_updated }) => Number(time_updated)));
      return { session_id: root?.id, modified_ms };
    })
    .sort((a, b) => b.modified_ms - a.modified_ms);

async function wrongIn(scenarios: readonly string[]): Promise<unknown[]> {
  const wrong: unknown[] = [];
  for (const scenario of scenarios) {
    const truth = truthOf(scenario);
    const path = await find(String(truth.session_id));
    const events = path === null ? [] : await eventsAt(path);
    wrong.push(...wrongFacts(truth, outcomeOf(events)), ...malformed(events));
    wrong.push(...events.filter(({ kind }) => kind === 'problem'));
  }
  return wrong;
}

verifies(
  ['AG-3', 'AG-12', 'AG-15'],
  "every session is found in the CLI's database while it is written to, with every fact",
  async () => {
    const database = keepInDatabase(SCENARIOS);
    expect(await listed()).toEqual(
      kept(SCENARIOS).map(({ session_id, modified_ms }) => ({
        path: join(database, String(session_id)),
        session_id,
        modified_ms,
      })),
    );
    expect(await wrongIn(SCENARIOS)).toEqual([]);
  },
);

verifies(
  ['AG-3', 'AG-12', 'AG-15'],
  'sessions in folders of JSON files yield the same events as the database',
  async () => {
    const storage = await keepInFolders(SCENARIOS);
    const files = await listed();
    expect(files.sort((a, b) => b.modified_ms - a.modified_ms)).toEqual(
      kept(SCENARIOS, ['session']).map(({ session_id, modified_ms }) => ({
        path: join(storage, 'session', 'global', `${session_id}.json`),
        session_id,
        modified_ms,
      })),
    );
    expect(await wrongIn(SCENARIOS)).toEqual([]);
  },
);

verifies('AG-15', 'a session that was migrated to the database is listed once', async () => {
  await keepInFolders(['read', 'text']);
  const database = keepInDatabase(['text', 'skill']);
  const paths = (await listed()).map(({ path }) => path);
  const id = (scenario: string) => String(truthOf(scenario).session_id);
  expect(paths.sort()).toEqual(
    [
      join(database, id('skill')),
      join(database, id('text')),
      join(data, 'storage', 'session', 'global', `${id('read')}.json`),
    ].sort(),
  );
});

verifies(['AG-15', 'ST-8'], 'a session is found where the environment says', async () => {
  const database = keepInDatabase(['subagent']);
  await writeFile(join(data, 'other.db'), 'no database');
  const id = String(truthOf('subagent').session_id);
  const path = join(database, id);
  expect({
    here: await find(id),
    moved: await find(id, { XDG_DATA_HOME: join(home, '.local', 'share'), HOME: '/nowhere' }),
    named: await find(id, { OPENCODE_DB: database }),
    child: await find(CHILD),
    unknown: await find('ses_unknown'),
    no_id: await find('../../etc/passwd'),
    nowhere: await find(id, { HOME: '/nowhere' }),
    no_database: await find(id, { HOME: home, OPENCODE_DB: 'other.db' }),
  }).toEqual({
    here: path,
    moved: path,
    named: path,
    child: join(database, CHILD),
    unknown: null,
    no_id: null,
    nowhere: null,
    no_database: null,
  });
});

verifies('AG-2', 'a file that is not a database of the CLI is reported', async () => {
  const path = join(data, 'opencode.db');
  await keepInFolders(['text']);
  await writeFile(path, 'no database at all, but as long as the head of one'.repeat(9));
  const [broken, ...rest] = await listed();
  expect([broken?.path, rest.length]).toEqual([path, 1]);
  await expect(eventsAt(path)).rejects.toThrow(/opencode\.db: file is not a database/);
  await rm(path);
  keepInDatabase(['text', 'read']);
  await expect(eventsAt(path)).rejects.toThrow(/opencode\.db: the database has 2 sessions/);
});

verifies('AG-2', 'impossible times hide no session and no row', async () => {
  const path = join(keepInDatabase(['read']), String(truthOf('read').session_id));
  const kindsOf = (events: readonly { kind: string }[]) =>
    events.map(({ kind }) => kind).filter((kind) => /^(?:call|message|step)_/.test(kind));
  const whole = kindsOf(await eventsAt(path));
  for (const table of TABLES) db?.exec(`UPDATE ${table} SET time_updated = 'soon'`);
  db?.exec("UPDATE part SET time_created = 'soon'");
  expect((await listed()).map(({ modified_ms }) => modified_ms)).toEqual([0]);
  expect(kindsOf(await eventsAt(path)).sort()).toEqual(whole.sort());
  await rm(join(data, 'opencode.db'));
  const storage = await keepInFolders(['read']);
  const file = join(storage, 'session', 'global', `${truthOf('read').session_id}.json`);
  const info = JSON.parse(readFileSync(file, 'utf8'));
  for (const [updated, created, modified_ms] of [
    ['soon', 1_794_706_000_000, 1_794_706_000_000],
    [9e15, 'soon', 0],
  ]) {
    await writeFile(file, JSON.stringify({ ...info, time: { updated, created } }));
    expect((await listed()).map((each) => each.modified_ms)).toEqual([modified_ms]);
  }
});
