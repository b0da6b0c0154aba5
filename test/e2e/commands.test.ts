/** Every command except `run`: convert, replay, runs, agents, schema, completion, help, and error messages. */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { checkEvent, checkOutcome, checkRunEvent } from '../../src/model/generated/checks.ts';
import { CHAOS, played } from '../chaos-agent.ts';
import {
  bin,
  demo,
  filesBelow,
  finished,
  linesOf,
  type Result,
  type Row,
  root,
  usePlace,
} from './cli.ts';
import { openPty } from './pty.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const { tacho } = place;
const recording = join(root, 'src/agents/claude/testdata/write-edit/stdout.jsonl');

const json = async (...args: string[]): Promise<Row> => {
  const { code, stdout } = await tacho(args);
  expect({ args, code }).toEqual({ args, code: 0 });
  return JSON.parse(stdout);
};

const withoutId = (text: string) => text.replaceAll(/r_[0-9a-hjkmnp-tv-z]{26}/g, 'r_');

test('convert reads a file or stdin and prints events, run-events or the outcome', async () => {
  const args = ['convert', '--agent', 'claude'];
  const outcome = await json(...args, recording);
  expect(checkOutcome(outcome)).toBe(true);
  expect(outcome.tool_calls.length).toBeGreaterThan(1);
  expect(outcome.tool_calls[0]).toHaveProperty('inputs');
  for (const [form, check] of [
    ['events', checkEvent],
    ['run-event', checkRunEvent],
  ] as const) {
    const file = await tacho([...args, '--to', form, recording]);
    const input = readFileSync(recording);
    const stdin = await tacho([...args, '--to', form], { input });
    const dash = await tacho([...args, '--to', form, '-'], { input });
    expect(file.records.length).toBeGreaterThan(5);
    expect(file.records.filter((record) => !check(record))).toEqual([]);
    expect(withoutId(stdin.stdout)).toBe(withoutId(file.stdout));
    expect(dash.stdout).toBe(stdin.stdout);
  }
  expect(existsSync(place.state)).toBe(false);
});

test('convert reports a missing file, a folder, an unknown agent, no agent and a wrong format', async () => {
  const wrong: [string[], number, RegExp][] = [
    [['--agent', 'claude', '/nowhere'], 1, /^error: \/nowhere: no such file/],
    [['--agent', 'claude', place.work], 70, /it is a folder, not a file/],
    [['--agent', 'nobody', recording], 2, /unknown agent "nobody"; expected one of:/],
    [[recording], 2, /required option '--agent <id>' not specified/],
    [['--agent', 'claude', '--to', 'xml', recording], 2, /Allowed choices are/],
    [['--agent', 'claude', '--from', 'pipe', recording], 2, /Allowed choices are stdout, session/],
  ];
  for (const [args, code, says] of wrong) {
    const result = await tacho(['convert', ...args]);
    expect({ args, code: result.code, stdout: result.stdout }).toEqual({ args, code, stdout: '' });
    expect(result.stderr).toMatch(says);
    expect(result.stderr).not.toMatch(/\n {4}at /);
  }
});

test('convert of empty input or garbage gives an outcome that says so', async () => {
  for (const input of ['', 'no json at all\n{"half":\n']) {
    const { code, stdout } = await tacho(['convert', '--agent', 'claude'], { input });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      success: false,
      completeness: { grade: 'unavailable' },
    });
  }
});

test("convert of another agent's output prints what it could read, and names that agent", async () => {
  const args = ['convert', '--agent', 'codex'];
  for (const given of [
    await tacho([...args, recording]),
    await tacho(args, { input: readFileSync(recording) }),
  ]) {
    expect(given.code).toBe(1);
    expect(checkOutcome(JSON.parse(given.stdout))).toBe(true);
    expect(given.stderr).toMatch(
      /^error: the input has no records of Codex CLI \(stdout\): it looks like --agent claude --from stdout/,
    );
  }
});

verifies('ST-10', 'replay prints exactly the output of the run, in either mode', async () => {
  for (const script of ['default', 'garbage', 'provider-error', 'words']) {
    const run = await tacho(demo(script, '--stream'));
    const replayed = await tacho(['replay', run.records[0].run_id, '--output', 'json'], {
      contract: 'none',
    });
    expect([replayed.code, replayed.stderr]).toEqual([0, '']);
    expect(replayed.stdout).toBe(run.stdout);
    const human = await tacho(['run', ...CHAOS, 'please', '--', ...played(script)]);
    const again = await tacho(['replay', 'last']);
    expect(again.stdout).toBe(human.stdout);
  }
});

test('replay, show and verify accept an id, its beginning or "last", and report when there is no such run', async () => {
  for (const command of [['replay'], ['runs', 'show'], ['runs', 'verify']]) {
    const none = await tacho([...command, 'last']);
    expect([none.code, none.stdout]).toEqual([1, '']);
    expect(none.stderr).toMatch(/^error: no runs in .* yet: record one with tacho run, or/);
  }
  const { records } = await tacho(demo('fixed'));
  const id = records[0].run_id as string;
  for (const name of [id, id.slice(0, 20), 'last']) {
    expect((await json('runs', 'show', name, '--json')).run_id).toBe(id);
    expect((await tacho(['runs', 'verify', name])).stdout).toMatch(
      new RegExp(`^${id}: \\d+ events are intact: sequence, hashes, form; record complete\\n$`),
    );
  }
  const odd = await tacho(['runs', 'show', '../../etc/passwd']);
  expect([odd.code, odd.stderr]).toEqual([1, expect.stringMatching(/last~1; tacho runs list/)]);
});

test('runs list prints the newest first, filtered, as text and as JSON lines', async () => {
  const ok = await tacho(demo('fixed', '--label', 'a=b'));
  const failed = await tacho(demo('agent-error'));
  const ids = [failed, ok].map(({ records }) => records[0].run_id);
  const list = async (...flags: string[]) =>
    linesOf((await tacho(['runs', 'list', '--json', ...flags])).stdout).map((row) => row.run_id);
  expect(await list()).toEqual(ids);
  expect(await list('--limit', '1')).toEqual(ids.slice(0, 1));
  expect(await list('--status', 'failed')).toEqual(ids.slice(0, 1));
  expect(await list('--status', 'agent_error')).toEqual(ids.slice(0, 1));
  expect(await list('--status', 'ok')).toEqual(ids.slice(1));
  expect(await list('--agent', 'claude')).toEqual([]);
  const zoned = { env: { TZ: 'Asia/Kolkata', COLUMNS: '40' } };
  const [head, ...lines] = (await tacho(['runs', 'list'], zoned)).stdout.trimEnd().split('\n');
  expect(head).toMatch(/^RUN +TIME \+05:30 +AGENT +STATUS +CALLS .* PROMPT$/);
  const [failed_id, ok_id] = ids.map((id: string) => id.slice(2, 12));
  expect(lines[0]).toMatch(new RegExp(`^${failed_id}\\w* .* agent_error .* please$`));
  expect(lines[1]).toMatch(new RegExp(`^${ok_id}\\w* .* ok .* please$`));
  expect(lines).toHaveLength(2);
  const started = linesOf((await tacho(['runs', 'list', '--json'])).stdout)[0]?.started_ms;
  const there = new Date(started + 5.5 * 3_600_000).toISOString();
  expect(lines[0]).toContain(`  ${there.slice(0, 16).replace('T', ' ')}  `);
  expect((await tacho(['runs', 'list', '--limit', '0'])).code).toBe(2);
});

test('listing runs creates nothing, and a filter without results says so', async () => {
  const empty = join(place.folder, 'nowhere');
  const list = ['--state-dir', empty, 'runs', 'list'];
  const none = `No runs in ${empty} yet.\n  tacho run --agent demo "try it" `;
  expect((await tacho(list)).stdout.startsWith(none)).toBe(true);
  expect((await tacho([...list, '--json'])).stdout).toBe('');
  const stats = await tacho(['--state-dir', empty, 'runs', 'stats']);
  expect(stats.stdout.startsWith(none)).toBe(true);
  expect(existsSync(empty)).toBe(false);
  await tacho(demo('fixed'));
  expect((await tacho(['runs', 'list', '--status', 'timeout'])).stdout).toContain(
    `No such runs in ${place.state}: --status timeout\n`,
  );
});

test('a prompt on stdin that is not UTF-8 is refused, not changed', async () => {
  const args = ['run', '--agent', 'demo', '-'];
  const { code, stderr } = await tacho(args, { input: Buffer.from([0x66, 0xfc, 0x72]) });
  expect([code, stderr]).toEqual([
    2,
    'error: the prompt on stdin is not UTF-8: convert it first\n',
  ]);
});

test('runs show prints the outcome as text, and in full as JSON', async () => {
  const run = await tacho(demo('default'));
  const { stdout } = await tacho(['runs', 'show', 'last']);
  expect(stdout).toContain(`run       ${run.records[0].run_id}\n`);
  expect(stdout).toContain('work      7 steps - 10 calls, 1 failed\n');
  expect(stdout).toContain('Done. `tacho-demo/greet.sh` greets people');
  const outcome = await json('runs', 'show', 'last', '--json');
  expect(checkOutcome(outcome)).toBe(true);
  expect(outcome).toMatchObject({ success: true, message: finished(run).final_output });
});

test('reindex after the database was deleted gives equal outcomes', async () => {
  for (const script of ['default', 'agent-error', 'garbage']) await tacho(demo(script));
  const outcomes = async () => {
    const rows = linesOf((await tacho(['runs', 'list', '--json'])).stdout);
    const shown: Row[] = [];
    for (const row of rows) shown.push(await json('runs', 'show', row.run_id, '--json'));
    return { rows, shown };
  };
  const before = await outcomes();
  expect(before.rows).toHaveLength(3);
  for (const name of readdirSync(place.state).filter((file) => file.startsWith('tacho.db')))
    rmSync(join(place.state, name));
  expect(await json('runs', 'reindex', '--json')).toMatchObject({ runs: 3, unfinished: 0 });
  expect(await outcomes()).toEqual(before);
});

test('a deleted run stays deleted, even after a reindex', async () => {
  const gone = await tacho(demo('fixed'));
  const kept = await tacho(demo('agent-error'));
  const [gone_id, kept_id] = [gone, kept].map(({ records }) => records[0].run_id as string);
  const removed = await tacho(['runs', 'rm', gone_id as string]);
  expect([removed.code, removed.stdout]).toEqual([0, `${gone_id}: deleted\n`]);
  const left = async () =>
    linesOf((await tacho(['runs', 'list', '--json'])).stdout).map((row) => row.run_id);
  expect(await left()).toEqual([kept_id]);
  expect((await tacho(['runs', 'reindex'])).code).toBe(0);
  expect(await left()).toEqual([kept_id]);
  expect((await tacho(['runs', 'show', gone_id as string])).code).toBe(1);
  expect((await tacho(['replay', gone_id as string])).code).toBe(1);
  expect((await tacho(['runs', 'verify', kept_id as string])).code).toBe(0);
});

test('rm asks on a terminal, and elsewhere requires whole ids or --yes', async () => {
  const { records } = await tacho(demo('fixed'));
  const id = records[0].run_id as string;
  const short = id.slice(2, 12);
  const refused = await tacho(['runs', 'rm', 'last']);
  expect([refused.code, refused.stdout]).toEqual([2, '']);
  expect(refused.stderr).toMatch(/^error: "last" is not a whole run id: add --yes to delete/);
  expect(refused.stderr).toContain(`  ${short}  `);
  const rm = ['env', `TACHO_HOME=${place.state}`, process.execPath, bin, 'runs', 'rm', short];
  for (const [answer, code] of [
    ['n\n', 1],
    ['y\n', 0],
  ] as const) {
    const pty = openPty(rm);
    await pty.until('the question', (lines) =>
      lines.some((line) => line.startsWith('Delete 1 run for good? [y/N]')),
    );
    expect(pty.lines().join('\n')).toMatch(new RegExp(`^  ${short}  .*  demo  please$`, 'm'));
    pty.type(answer);
    expect((await pty.ended).code).toBe(code);
    expect(pty.bytes()).toContain(code === 1 ? 'Nothing was deleted.' : `${id}: deleted`);
    pty.close();
  }
  const again = (await tacho(demo('fixed'))).records[0].run_id;
  expect((await tacho(['runs', 'rm', 'last', '-y'])).stdout).toBe(`${again}: deleted\n`);
});

function segmentOf(run: string): string {
  const folder = join(place.state, 'journal');
  const files = readdirSync(folder).map((name) => join(folder, name));
  const found = files.filter(
    (path) => path.endsWith('.jsonl') && readFileSync(path, 'utf8').includes(run),
  );
  expect(found).toHaveLength(1);
  return found[0] as string;
}

verifies('ST-10', 'verify finds a flipped bit and a deleted line in the journal', async () => {
  const { records } = await tacho(demo('default'));
  const id = records[0].run_id as string;
  const path = segmentOf(id);
  const whole = readFileSync(path);
  const verify = async (bytes: Buffer): Promise<Result> => {
    writeFileSync(path, bytes);
    return tacho(['runs', 'verify', id, '--json']);
  };
  const lines = whole.toString('utf8').split('\n');
  const flipped = Buffer.from(whole);
  const at = whole.indexOf('greet.sh', whole.length >> 1);
  flipped[at] = (flipped[at] as number) ^ 1;
  const without = (index: number) =>
    Buffer.from(lines.filter((_, each) => each !== index).join('\n'));
  const swapped = lines.with(5, lines[6] as string).with(6, lines[5] as string);
  for (const bytes of [
    flipped,
    without(5),
    without(lines.length - 2),
    whole.subarray(0, whole.length - 20),
  ]) {
    const { code, stdout } = await verify(bytes);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false });
    expect(JSON.parse(stdout).faults.length).toBeGreaterThan(0);
  }
  expect((await verify(Buffer.from(swapped.join('\n')))).stderr).not.toMatch(/\n {4}at /);
  expect((await verify(whole)).code).toBe(0);
});

test('agents lists all agents, or one with its capabilities, also as JSON, and reports an unknown one', async () => {
  const all = await tacho(['agents']);
  expect(all.code).toBe(0);
  expect(all.stdout).toMatch(
    /^AGENT +NAME +RUN +IMPORT +WATCH +REHEARSED +VERSION, OR HOW TO INSTALL IT\nclaude +Claude Code +yes +yes +yes +\d\S+ +\S/,
  );
  expect(all.stdout).toMatch(
    /^demo +Demo \(built in\) +yes +yes +yes +no +built in: nothing to install$/m,
  );
  const one = await tacho(['agents', 'claude']);
  expect(one.stdout).toMatch(/call starts +never/);
  expect(one.stdout).toMatch(/rehearsed +@anthropic-ai\/claude-code \S+ \(\d{4}-\d\d-\d\d\)/);
  const rows = await json('agents', '--json');
  expect(rows.map((row: Row) => row.id)).toEqual(expect.arrayContaining(['claude', 'demo']));
  const unknown = await tacho(['agents', 'nobody']);
  expect([unknown.code, unknown.stderr]).toEqual([
    2,
    expect.stringMatching(/^error: unknown agent "nobody"/),
  ]);
});

verifies('AG-17', 'doctor warns about a program that is newer than the rehearsed one', async () => {
  const [{ version }] = (await json('agents', 'claude', '--json'))[0].rehearsed;
  const folder = join(place.folder, 'newer');
  mkdirSync(folder);
  const program = (says: string) =>
    writeFileSync(join(folder, 'claude'), `#!/bin/sh\necho '${says} (Claude Code)'\n`, {
      mode: 0o755,
    });
  const env = { PATH: `${folder}:${process.env.PATH}` };
  const finding = async (says: string): Promise<Row> => {
    program(says);
    const { stdout } = await tacho(['doctor', '--json'], { env });
    return JSON.parse(stdout).find((row: Row) => row.name === 'agent claude');
  };
  expect(await finding(version)).toMatchObject({ ok: true, detail: `version ${version}` });
  const newer = version.replace(/\d+$/, (patch: string) => String(Number(patch) + 1000));
  expect(await finding(newer)).toMatchObject({
    ok: null,
    detail: expect.stringContaining(`version ${newer}, newer than the rehearsed ${version} (20`),
  });
  expect(await finding('0.0.1')).toMatchObject({
    ok: null,
    detail: expect.stringMatching(/^version 0\.0\.1, checked versions: /),
  });
});

verifies(
  'AG-15',
  'an agent with only session files is imported, and running it names what works',
  async () => {
    const run = await tacho(['run', '--agent', 'cursor', 'hello']);
    expect([run.code, run.stderr]).toEqual([
      2,
      expect.stringMatching(
        /^error: tacho cannot run Cursor; import its sessions with: tacho import cursor/,
      ),
    ]);
    const output = await tacho(['convert', '--agent', 'cursor', recording]);
    expect([output.code, output.stderr]).toEqual([
      2,
      expect.stringContaining('Cursor has no known output: use --from session'),
    ]);
    const home = join(place.folder, 'cursor-home');
    cpSync(join(root, 'src/agents/cursor/testdata/work/session'), home, { recursive: true });
    const imported = await tacho(['import', 'cursor', '--all', '--json'], { env: { HOME: home } });
    expect(imported.records).toMatchObject([
      {
        state: 'imported',
        agent: 'cursor',
        session_id: expect.any(String),
        prompt: 'Fix the greeting.',
      },
    ]);
  },
);

test('schema lists the names, prints each schema as committed, and reports an unknown one', async () => {
  const names = (await tacho(['schema'])).stdout.trimEnd().split('\n');
  expect([...names].sort()).toEqual(
    readdirSync(join(root, 'schema'))
      .map((file) => file.replace('.json', ''))
      .sort(),
  );
  for (const name of names) {
    const { stdout } = await tacho(['schema', name]);
    expect(stdout).toBe(readFileSync(join(root, 'schema', `${name}.json`), 'utf8'));
  }
  const unknown = await tacho(['schema', 'nothing']);
  expect([unknown.code, unknown.stdout]).toEqual([2, '']);
});

test('every command has help with an example', async () => {
  const commands = [
    [],
    ['run'],
    ['convert'],
    ['runs', 'rm'],
    ['agents'],
    ['schema'],
    ['completion'],
    ...['list', 'show', 'verify', 'recover', 'reindex', 'rm', 'gc', 'restore', 'stats'].map(
      (name) => ['runs', name],
    ),
  ];
  for (const command of commands) {
    const { code, stdout, stderr } = await tacho([...command, '--help']);
    expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: tacho /);
    expect(stdout).toMatch(/Examples?:\n {2}\$ /);
  }
  const { stdout } = await tacho(['--help']);
  const listed =
    stdout
      .split(/^\w+:\n/m)
      .slice(2, 7)
      .join('')
      .match(/^ {2}\w.*$/gm) ?? [];
  expect(listed.length).toBeGreaterThan(15);
  for (const line of listed) expect(line).toMatch(/^ {2}[a-z]+ +\S.{0,60}$/);
  const version = await tacho(['--version']);
  expect(version.stdout).toBe(
    `${JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version}\n`,
  );
});

test('unknown commands and flags exit with 2: a message on stderr, nothing on stdout, no stack trace', async () => {
  for (const args of [
    ['nothing'],
    ['--nothing'],
    ['runs', 'nothing'],
    ['runs', 'list', '--nothing'],
    ['schema', 'a', 'b'],
    ['runs', 'rm'],
  ]) {
    const { code, stdout, stderr } = await tacho(args);
    expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
    expect(stderr).toMatch(/^error: /);
    expect(stderr).not.toMatch(/\n {4}at /);
  }
  const { code, stdout } = await tacho([]);
  expect(code).toBe(2);
  expect(stdout).toContain('Usage: tacho');
});

test('tacho without arguments on a terminal says how to start, and creates nothing', async () => {
  const pty = openPty(['env', `TACHO_HOME=${place.state}`, process.execPath, bin]);
  const { code } = await pty.ended;
  expect(code).toBe(0);
  expect(pty.bytes()).toMatch(/Start here:\s+tacho import --last /);
  expect(pty.bytes()).toContain(`Runs are stored in ${place.state}`);
  expect(pty.bytes()).toContain('There are no runs yet.');
  expect(existsSync(place.state)).toBe(false);
  pty.close();
});

test('a system error is one line that names the operation, without a stack trace', async () => {
  const under = ['sh', '-c', 'rmdir "$PWD"; exec "$@"', 'sh'];
  const { code, stdout, stderr } = await tacho(['runs', 'list'], { under });
  expect([code, stdout, stderr]).toEqual([1, '', 'error: uv_cwd: no such file or folder\n']);
});

test('--state-dir is accepted before or after the command', async () => {
  const other = join(place.folder, 'other');
  await tacho(['--state-dir', other, ...demo('fixed')]);
  const { stdout } = await tacho(['runs', 'list', '--json', '--state-dir', other]);
  expect(linesOf(stdout)).toHaveLength(1);
  expect(existsSync(place.state)).toBe(false);
});

verifies(
  'ST-8',
  'the .tacho folder that tacho init creates is for its owner only, and ignored by git',
  async () => {
    const git = (...args: string[]) =>
      spawnSync('git', args, { cwd: place.work, encoding: 'utf8' });
    git('init', '-q');
    expect((await tacho(['init'], { env: { TACHO_HOME: '' } })).code).toBe(0);
    const result = await tacho(demo('fixed'), { env: { TACHO_HOME: '' } });
    expect(result.code).toBe(0);
    expect(git('status', '--porcelain').stdout).toBe('?? tacho-demo/\n');
    const state = join(place.work, '.tacho');
    expect(statSync(state).mode & 0o777).toBe(0o700);
    for (const { path } of filesBelow(state))
      expect([path, statSync(path).mode & 0o777]).toEqual([path, 0o600]);
    const shown = await tacho(['runs', 'show', 'last', '--json'], { env: { TACHO_HOME: '' } });
    const { artifacts } = JSON.parse(shown.stdout);
    expect(artifacts).toEqual([
      expect.objectContaining({
        path: 'tacho-demo/same.txt',
        operation: 'created',
        source: 'both',
      }),
    ]);
  },
);

test('a run that cannot be found is reported with what to do', async () => {
  const said = async (...args: string[]) => (await tacho(args)).stderr;
  const none = `error: no runs in ${place.state} yet: record one with tacho run, or import sessions with tacho import\n`;
  expect(await said('replay')).toBe(none);
  const ids = [];
  for (let n = 0; n < 2; n++) ids.push((await tacho(demo('fixed'))).records[0].run_id as string);
  expect(await said('show', 'last~7')).toBe(
    `error: no run "last~7" in ${place.state}: it has 2 runs\n`,
  );
  const shared = ids[0]?.slice(2, 6) as string;
  expect(await said('runs', 'show', shared)).toMatch(
    /^error: "\w+" matches several runs; give the id of one:\n( {2}\w+ {2}\d{4}-.* {2}demo {2}\S.*\n){2}$/,
  );
  expect(await said('runs', 'recover', 'nope')).toContain('error: no run "nope"');
  expect((await tacho(['runs', 'recover', ids[0] as string])).stdout).toBe('Nothing to recover.\n');
  expect((await tacho(['runs', 'show', '--json'])).stdout).toContain(ids[1]);
});

test('an archive is found by its name, and its runs by prefix', async () => {
  const { records } = await tacho(demo('fixed'));
  const run_id = records[0].run_id as string;
  const { archive } = JSON.parse((await tacho(['runs', 'gc', '--max-runs', '0', '--json'])).stdout);
  const back = await tacho(['runs', 'restore', basename(archive), run_id.slice(2, 20)]);
  expect([back.code, back.stdout]).toEqual([0, `${run_id} restored\n`]);
  const none = await tacho(['runs', 'restore', 'nope']);
  expect([none.code, none.stderr]).toEqual([
    1,
    `error: nope: no such archive; tacho runs gc puts archives into ${dirname(archive)}\n`,
  ]);
  const other = join(place.folder, 'other');
  writeFileSync(other, 'this is not an archive of anything');
  const wrong = await tacho(['runs', 'restore', other]);
  expect([wrong.code, wrong.stderr]).toEqual([
    1,
    expect.stringContaining('other: is damaged, or is not an archive of tacho'),
  ]);
});
