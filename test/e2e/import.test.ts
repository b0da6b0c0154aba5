/** `tacho import`: sessions kept by agents become runs, once each. */
import {
  appendFileSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Truth, wrongFacts } from '../truth.ts';
import { filesBelow, kill, type Row, root, until, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const testdata = (agent: string) => join(root, 'src/agents', agent, 'testdata');
/** Content of a scenario's `session/` → the CLI's place for it. */
const KEPT: Readonly<Record<string, [from: string, to: string]>> = {
  claude: ['.claude', '.claude'],
  codex: ['.codex', '.codex'],
  copilot: ['', '.copilot/session-state'],
  gemini: ['dot-gemini', '.gemini'],
  pi: ['', '.pi/agent'],
  qwen: ['.qwen', '.qwen'],
};
const SOME = ['bash-fail', 'denied', 'parallel', 'skill', 'subagent', 'text', 'write-edit'];

/** Puts the sessions of a scenario in the CLI's folder. */
function keep(agent: string, scenario: string): boolean {
  const [from, to] = KEPT[agent] as [string, string];
  const source = join(testdata(agent), scenario, 'session', from);
  if (!existsSync(source)) return false;
  const target = join(place.folder, to);
  mkdirSync(target, { recursive: true });
  cpSync(source, target, { recursive: true });
  return true;
}

function truthOf(agent: string, scenario: string): Truth | null {
  const path = join(testdata(agent), scenario, 'truth.json');
  return JSON.parse(readFileSync(path, 'utf8')).session ?? null;
}

const importing = async (...args: string[]) => {
  const { records, code, stderr } = await place.tacho(['import', ...args, '--json']);
  return { rows: records, code, stderr };
};
const runs = async (): Promise<Row[]> =>
  (await place.tacho(['runs', 'list', '--limit', '500', '--json'])).records;
const outcome = async (run_id: string): Promise<Row> =>
  JSON.parse((await place.tacho(['runs', 'show', run_id, '--json'])).stdout);
const states = (rows: Row[]) => rows.map((row) => row.state);

verifies(
  'TR-1',
  'an import without a transcript is complete, and a reindex makes none',
  async () => {
    keep('claude', 'text');
    const { rows } = await importing('claude', '--all');
    const [{ run_id }] = rows as [Row];
    const transcripts = join(place.state, 'transcripts');
    rmSync(transcripts, { recursive: true, force: true });
    expect((await place.tacho(['runs', 'verify', run_id])).code).toBe(0);
    expect((await place.tacho(['runs', 'reindex'])).code).toBe(0);
    expect(existsSync(transcripts) ? filesBelow(transcripts) : []).toEqual([]);
    expect((await place.tacho(['show', run_id])).code).toBe(0);
  },
);

/** A session of two turns, the second begun three minutes later, as the CLI writes it. */
const ID = '7e15eb39-6be6-4422-a6f5-9c0868fe7f65';
const PROJECT = '.claude/projects/-home-user-project';
const twoTurns = () => {
  const path = join(testdata('claude'), 'resume/session', PROJECT, `${ID}.jsonl`);
  const lines = readFileSync(path, 'utf8').split(/(?<=\n)/);
  const second = lines.findIndex((line) => line.includes('And now say goodbye.'));
  return { first: lines.slice(0, second).join(''), second: lines.slice(second).join('') };
};

function write(session_id: string, text: string): string {
  const folder = join(place.folder, PROJECT);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${session_id}.jsonl`);
  writeFileSync(path, text);
  return path;
}

verifies(
  ['AG-3', 'AG-15'],
  'sessions are found where each CLI keeps them, and every fact is stored once',
  async () => {
    const kept = Object.keys(KEPT).flatMap((agent) =>
      SOME.filter((scenario) => keep(agent, scenario)).map((scenario) => ({ agent, scenario })),
    );
    const first = await importing('--all');
    expect(first).toEqual({ rows: first.rows, code: 0, stderr: '' });
    expect(states(first.rows)).toEqual(kept.map(() => 'imported'));
    const by_session = new Map(first.rows.map((row) => [row.session_id, row]));
    for (const { agent, scenario } of kept) {
      const truth = truthOf(agent, scenario);
      if (truth?.session_id == null) continue;
      const { run_id } = by_session.get(truth.session_id) ?? {};
      // The outcome of a stored run has no inputs or outputs (ST-1).
      const calls = truth.calls.map((call) => ({ ...call, input: {} }));
      const stored = await outcome(run_id);
      expect(wrongFacts({ ...truth, calls }, stored), `${agent} ${scenario}`).toEqual([]);
    }
    const journal = filesBelow(join(place.state, 'journal'));
    // States depend on the time.
    const facts = async () => (await runs()).map((row) => ({ ...row, unfinished: null }));
    const listed = await facts();
    const second = await importing('--all');
    expect(states(second.rows)).toEqual(kept.map(() => 'known'));
    expect(filesBelow(join(place.state, 'journal'))).toEqual(journal);
    expect(await facts()).toEqual(listed);
  },
  120_000,
);

verifies(
  'AG-15',
  'an imported run is complete, including the calls of its sub-agents',
  async () => {
    keep('claude', 'subagent');
    const { rows } = await importing('claude', '--last');
    const [{ run_id, path }] = rows;
    const { metrics, metadata, tool_calls } = await outcome(run_id);
    expect(tool_calls.map((call: Row) => [call.name, call.parent_id])).toEqual([
      ['Task', null],
      ['Read', 'toolu_mock_0001'],
      ['Bash', 'toolu_mock_0001'],
    ]);
    expect(metadata.labels.imported).toBe(path.split('/').at(-1));
    expect(new Date(metrics.start_time_ms).getUTCFullYear()).toBe(2026);
    expect((await place.tacho(['runs', 'verify', run_id])).code).toBe(0);
    expect((await place.tacho(['replay', run_id, '--output', 'json'])).code).toBe(0);
    const before = await runs();
    expect((await place.tacho(['runs', 'reindex'])).code).toBe(0);
    expect(await runs()).toEqual(before);
  },
);

verifies(['AG-15', 'WA-3'], 'a session that has grown keeps its run', async () => {
  const { first, second } = twoTurns();
  const path = write(ID, first);
  const copy = join(place.folder, 'copy.jsonl');
  copyFileSync(path, copy);
  const early = (await importing('claude', '--session', ID)).rows[0];
  appendFileSync(path, second);
  const late = (await importing('--session', ID)).rows[0];
  expect(late).toEqual({ ...late, state: 'grown', run_id: early.run_id, replaced: [] });
  expect((await outcome(late.run_id)).tool_calls.length).toBe(2);
  const again = (await importing('claude', copy)).rows[0];
  expect(again).toEqual({ ...again, state: 'known', run_id: early.run_id });
  expect((await runs()).map((row) => row.run_id)).toEqual([late.run_id]);
});

verifies(
  ['AG-15', 'ST-5'],
  'a session restored from an archive next to a newer import is counted once',
  async () => {
    const { first, second } = twoTurns();
    const path = write(ID, first);
    for (const text of [first, first + second]) {
      writeFileSync(path, first);
      const old = (await importing('claude', path)).rows[0].run_id;
      const gc = await place.tacho(['runs', 'gc', '--max-runs', '0', '--json']);
      writeFileSync(path, text);
      const late = (await importing('claude', path)).rows[0].run_id;
      const back = await place.tacho(['runs', 'restore', JSON.parse(gc.stdout).archive]);
      expect([back.code, back.stderr]).toEqual([0, '']);
      const [row, ...others] = await runs();
      expect(others).toEqual([]);
      expect(back.stdout).toContain('is not kept: another run contains its session');
      if (text !== first) expect(row?.run_id).toBe(late);
      else expect([old, late]).toContain(row?.run_id);
      expect((await place.tacho(['runs', 'verify', row?.run_id])).code).toBe(0);
      await place.tacho(['runs', 'rm', row?.run_id]);
    }
  },
);

verifies(['AG-10', 'AG-15'], 'turns copied by a fork are counted once', async () => {
  const { first, second } = twoTurns();
  const forks = ['11111111', '22222222', '33333333'].map((id) => id + ID.slice(8));
  const as = (text: string, id: string | undefined) => text.replaceAll(ID, id ?? '');
  const later = second.replaceAll('T01:18:', 'T01:28:');
  write(ID, first);
  const whole = (await importing('--all')).rows[0];
  write(forks[0] ?? '', as(first + second, forks[0]));
  const fork = (await importing('--all')).rows.find((row) => row.state === 'imported');
  write(forks[1] ?? '', as(first + second + later, forks[1]));
  const forked_again = (await importing('--all')).rows.find((row) => row.state === 'imported');
  write(forks[2] ?? '', as(first, forks[2]));
  const { rows } = await importing('--all');
  expect(states(rows).sort()).toEqual(['known', 'known', 'known', 'shared']);
  const texts = [];
  for (const row of [whole, fork, forked_again]) {
    const { message, metadata, tool_calls } = await outcome(row.run_id);
    texts.push([metadata.initial_prompt, tool_calls.length, message]);
  }
  expect(texts).toEqual([
    ['Run the hello script.', 1, 'Done.'],
    ['And now say goodbye.', 1, 'Goodbye.'],
    ['And now say goodbye.', 1, 'Goodbye.'],
  ]);
});

verifies(
  'AG-15',
  'a session that tacho itself recorded is imported only from that point on',
  async () => {
    const sessions = join(place.folder, 'sessions');
    const env = { TACHO_DEMO_SESSIONS: sessions };
    const args = ['run', '--agent', 'demo', 'please', '--', '--speed', '0'];
    expect((await place.tacho(args, { env })).code).toBe(0);
    const [run] = await runs();
    const imported = async () =>
      (await place.tacho(['import', 'demo', '--all', '--json'], { env })).records;
    expect(await imported()).toMatchObject([{ state: 'recorded', run_id: run.run_id }]);
    const name = readdirSync(sessions).find((file) => file.endsWith('.jsonl')) ?? '';
    const path = join(sessions, name);
    const begun = new Date(run.finished_ms + 60_000).toISOString();
    const more = readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => `${JSON.stringify({ ...JSON.parse(line), at: begun })}\n`)
      .join('');
    appendFileSync(path, more);
    const [rest] = await imported();
    expect(rest.state).toBe('imported');
    expect((await runs()).map((row) => [row.run_id, row.tool_calls])).toEqual([
      [rest.run_id, run.tool_calls],
      [run.run_id, run.tool_calls],
    ]);
  },
);

verifies('AG-15', 'unreadable files are reported and do not stop the others', async () => {
  keep('pi', 'text');
  const [good] = (await importing('pi', '--last')).rows;
  expect((await place.tacho(['runs', 'rm', good.run_id])).code).toBe(0);
  const garbage = join(place.folder, 'garbage.jsonl');
  writeFileSync(garbage, 'no record\n{"half":\n');
  const silent = join(place.folder, 'silent.jsonl');
  writeFileSync(silent, '');
  const missing = join(place.folder, 'missing.jsonl');
  const files = [garbage, missing, place.folder, silent, good.path];
  const { rows, code } = await importing('pi', ...files);
  expect(states(rows)).toEqual(['failed', 'failed', 'failed', 'empty', 'imported']);
  expect(code).toBe(1);
  const result = await place.tacho(['import', 'pi', missing]);
  expect(result).toMatchObject({ code: 1, stdout: 'pi        1 not readable\n' });
  expect(result.stderr).toBe(`error: ${missing}: no such file or folder\n`);
});

verifies(['AG-15', 'ST-5'], 'deleted sessions stay deleted until imported by name', async () => {
  const path = write(ID, twoTurns().first);
  const [first] = (await importing('--all')).rows;
  await place.tacho(['runs', 'rm', first.run_id]);
  expect(states((await importing('--all')).rows)).toEqual(['deleted']);
  const [again] = (await importing('claude', path)).rows;
  expect(again.state).toBe('imported');
  expect(again.run_id).not.toBe(first.run_id);
  expect(states((await importing('--all')).rows)).toEqual(['known']);
});

verifies(['AG-15', 'ST-7'], 'secrets in a session file are not stored', async () => {
  const secret = `ghp_${'a1B2'.repeat(9)}`;
  write(ID, twoTurns().first.replaceAll('to stderr', secret));
  expect(states((await importing('--all')).rows)).toEqual(['imported']);
  const leaks = filesBelow(place.state).filter(({ bytes }) => bytes.includes(secret));
  expect(leaks.map(({ path }) => path)).toEqual([]);
});

verifies(
  'AG-15',
  'only sessions used since a date are imported; finding none is not a failure',
  async () => {
    write(ID, twoTurns().first);
    expect((await importing('--all', '--since', '2999-01-01')).rows).toEqual([]);
    expect(await place.tacho(['import', 'qwen', '--all'])).toMatchObject({
      code: 0,
      stdout: 'No sessions found.\n',
    });
  },
);

test('an import prints one line per agent and how to read the runs, and each session on request', async () => {
  const path = write(ID, twoTurns().first);
  const first = await place.tacho(['import', '--last']);
  const [{ run_id }] = (await runs()) as [Row];
  const short = run_id.slice(2, 12);
  expect(first.stdout).toMatch(
    /^claude {4}1 new\n\n2026-\d\d-\d\d \d\d:\d\d \S+ {2}.*\nRead it: tacho show (.*)\n$/,
  );
  expect(first.stdout).toContain(`tacho show ${short}\n`);
  expect((await place.tacho(['show', short])).code).toBe(0);
  expect((await place.tacho(['import', '--last'])).stdout).toBe(
    `claude    1 unchanged\n\nRead it: tacho show ${short}\n`,
  );
  write(ID, twoTurns().first + twoTurns().second);
  keep('pi', 'text');
  const more = await place.tacho(['import', '--all', '--verbose']);
  expect(more.stdout).toMatch(/^grown +\w{10} 2026-.* claude /m);
  expect(more.stdout).toContain(path);
  expect(more.stdout).toMatch(
    /\nclaude {4}1 grown\npi {8}1 new\nall {7}1 new, 1 grown\n\nList the runs: tacho runs list\n$/,
  );
});

test('an import counts the projects of the new runs', async () => {
  write(ID, twoTurns().first.replaceAll('/home/user/project', '/home/user/other'));
  keep('pi', 'text');
  const { stdout } = await place.tacho(['import', '--all']);
  expect(stdout).toBe(
    'claude    1 new\npi        1 new\nall       2 new\n\nThe new runs are from 2 projects. List the runs: tacho runs list\n',
  );
});

test('a mistake in the arguments of an import says what to type', async () => {
  const path = write(ID, twoTurns().first);
  const said = async (...args: string[]) => (await place.tacho(['import', ...args])).stderr;
  expect(await said(path)).toBe(
    `error: name the agent that wrote the file: tacho import claude ${path}\n`,
  );
  expect(await said('--last', '--all')).toBe(
    'error: give only one of --last, --all, --session ID and FILES\n',
  );
  expect(await said()).toBe(
    'error: choose what to import: --last, --all, --session ID, or AGENT FILES\n',
  );
});

test('the last used session is the one with the latest record, not the latest file', async () => {
  const { first, second } = twoTurns();
  const older = first.replaceAll(ID, '11111111-6be6-4422-a6f5-9c0868fe7f65');
  const newer = write(ID, first + second);
  const touched = write('11111111-6be6-4422-a6f5-9c0868fe7f65', older);
  const now = Date.now() / 1000;
  utimesSync(newer, now - 60, now - 60);
  utimesSync(touched, now, now);
  expect((await importing('--last')).rows).toMatchObject([{ path: newer, state: 'imported' }]);
});

verifies(['AG-15', 'ST-3'], 'a killed import continues where it stopped', async () => {
  const name = '7578a839-0bdb-40f3-b53e-60c21d7ef2ec.jsonl';
  const some = readFileSync(join(testdata('claude'), 'big/session', PROJECT, name), 'utf8');
  const path = join(place.folder, name);
  for (let n = 0; n < 400; n++)
    appendFileSync(path, some.replaceAll('toolu_', `toolu_${n}_`).replaceAll('msg_', `msg_${n}_`));
  const journal = join(place.state, 'journal');
  const written = () => filesBelow(journal).reduce((sum, { bytes }) => sum + bytes.length, 0);
  const { pid, done } = place.start(['import', 'claude', path]);
  await until(() => written() > 100_000, 'the beginning of the record');
  kill(pid);
  await done;
  expect(await runs()).toEqual([]);
  const [row] = (await importing('claude', path)).rows;
  expect(row.state).toBe('imported');
  expect((await place.tacho(['runs', 'verify', row.run_id])).code).toBe(0);
  const other = ['--state-dir', join(place.folder, 'other')];
  const [whole] = (await importing('claude', path, ...other)).rows;
  expect(whole).toEqual(row);
});

verifies('AG-15', 'an import without a source, or with two, is a usage error', async () => {
  const wrong = [
    ['import'],
    ['import', 'claude'],
    ['import', '--all', '--last'],
    ['import', 'claude', 'x.jsonl', '--since', '2026-01-01'],
    ['import', '--all', '--since', 'soon'],
    ['import', 'nobody', '--all'],
  ];
  for (const args of wrong) expect((await place.tacho(args)).code, args.join(' ')).toBe(2);
  expect((await place.tacho(['import', '--session', ID])).code).toBe(1);
});
