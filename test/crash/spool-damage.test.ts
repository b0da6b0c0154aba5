/** Spools that are damaged, missing or too large: each affects only its own run, which shows what the journal has (ST-3). */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { listSegments } from '../../src/store/journal/scan.ts';
import { takeLock } from '../../src/store/lock.ts';
import { thisOwner } from '../../src/store/owner.ts';
import { SPOOL_MARK } from '../../src/store/spool/spool.ts';
import { CONFIG } from '../build-events.ts';
import { demo, finished, fixture, kill, type Row, spools, until, usePlace } from '../e2e/cli.ts';
import { verifies } from '../e2e/verifies.ts';
import { editRun } from '../fixtures/edit-journal.ts';

const place = usePlace();
const { tacho } = place;

const spoolOf = (run: string, file = '') => join(place.state, 'spool', run, file);

/** A run with four finished calls, and its agent, both killed. */
async function killedRun(env: Record<string, string> = {}): Promise<{ run: string; shown: Row[] }> {
  const path = join(place.folder, 'calls.yaml');
  const call = '{ tool: run, input: { cmd: echo out } }';
  const first = `  - say: before\n    calls: [${Array(4).fill(call)}]\n    usage: { input: 7, output: 1 }\n`;
  writeFileSync(path, `hide: [usage]\nsteps:\n${first}  - hang: true\n`);
  const started = place.start(demo(path), {
    contract: 'none',
    env,
    seen(sofar, child) {
      if (sofar.split('tool_exec_finished').length > 4) kill(child.pid as number);
    },
  });
  const { records } = await started.done;
  for (const pid of place.left()) kill(pid);
  await until(() => place.left().length === 0, 'the end of the agent');
  return { run: records[0].run_id, shown: records };
}

async function outcomeOf(run: string): Promise<Row> {
  return JSON.parse((await tacho(['runs', 'show', run, '--json'])).stdout);
}

async function expectWhole(run: string, shown: readonly Row[]): Promise<void> {
  const { records } = await tacho(['replay', run, '--output', 'json'], { contract: 'none' });
  expect(records.slice(0, shown.length)).toEqual(shown);
  expect(records.filter(({ type }) => type === 'run_finished')).toHaveLength(1);
  const verified = await tacho(['runs', 'verify', run]);
  expect([verified.code, verified.stdout]).toEqual([
    0,
    expect.stringContaining('record incomplete: '),
  ]);
}

const runId = (n: number) => `r_01m7fgscfd${String(n).padStart(16, '0')}`;

/** A valid meta.json; `change` damages it. */
function metaText(run_id: string, change: (meta: Row) => void): string {
  const meta: Row = {
    version: 1,
    run_id,
    config: structuredClone(CONFIG),
    prompt: 'p',
    cwd: '/',
    started_ms: 1_700_000_000_000,
    keep_raw: false,
    redact: [],
    secrets: {},
    owner: { ...thisOwner(), pid: 2 ** 22 + 1 },
    agent: null,
  };
  change(meta);
  return JSON.stringify(meta);
}

const FIELDS: [string, (meta: Row) => void][] = [
  ['no owner', (meta) => delete meta.owner],
  ['owner null', (meta) => Object.assign(meta, { owner: null })],
  ['owner with a string as pid', (meta) => Object.assign(meta.owner, { pid: 'x' })],
  ['no config', (meta) => delete meta.config],
  ['config of another type', (meta) => Object.assign(meta, { config: 'demo' })],
  ['an unknown agent', (meta) => Object.assign(meta.config, { agent: 'constructor' })],
  ['limits of another type', (meta) => Object.assign(meta.config, { limits: { tokens: '9' } })],
  ['labels that are not strings', (meta) => Object.assign(meta.config, { labels: { a: {} } })],
  ['secrets as a list', (meta) => Object.assign(meta, { secrets: [1] })],
  ['a secret that is not a string', (meta) => Object.assign(meta, { secrets: { A: { b: 1 } } })],
  ['redact as a string', (meta) => Object.assign(meta, { redact: '.*' })],
  ['redact with a bad pattern', (meta) => Object.assign(meta, { redact: ['('] })],
  ['a prompt that is not a string', (meta) => Object.assign(meta, { prompt: 7 })],
  ['a cwd that is not a string', (meta) => Object.assign(meta, { cwd: null })],
  ['a time outside every calendar', (meta) => Object.assign(meta, { started_ms: 1e300 })],
  ['an agent without a pid', (meta) => Object.assign(meta, { agent: {} })],
  ['live of another shape', (meta) => Object.assign(meta, { live: { url: 1 } })],
  ['an unknown log', (meta) => Object.assign(meta, { stream_log: 'all' })],
  ['a future version', (meta) => Object.assign(meta, { version: 2 })],
  ['the id of another run', (meta) => Object.assign(meta, { run_id: runId(99) })],
];

const FILES: [string, (path: string) => void][] = [
  ['null', (path) => writeFileSync(path, 'null')],
  ['a list', (path) => writeFileSync(path, '[]')],
  ['a torn file', (path) => writeFileSync(path, '{"version":1,"run')],
  ['bytes', (path) => writeFileSync(path, Buffer.from([0, 255, 254, 10]))],
  ['deep JSON', (path) => writeFileSync(path, '['.repeat(500_000) + ']'.repeat(500_000))],
  ['a folder', (path) => mkdirSync(path)],
  ['a link', (path) => symlinkSync('/etc/hostname', path)],
  ['a link to itself', (path) => symlinkSync(path, path)],
  ['a pipe', (path) => spawnSync('mkfifo', [path])],
  [
    'a huge file',
    (path) => {
      writeFileSync(path, '{');
      truncateSync(path, 3_000_000_000);
    },
  ],
];

verifies(
  ['ST-3', 'ST-8'],
  'a damaged meta.json is reported and stops neither runs nor recoveries',
  async () => {
    expect((await tacho(demo('fixed'))).code).toBe(0);
    const all = [
      ...FILES,
      ...FIELDS.map(([what, change]): (typeof FILES)[number] => [
        what,
        (path) => writeFileSync(path, metaText(path.split('/').at(-2) ?? '', change)),
      ]),
    ];
    for (const [n, [, put]] of all.entries()) {
      mkdirSync(spoolOf(runId(n)), { mode: 0o700 });
      for (const file of ['stdout', 'stderr']) writeFileSync(spoolOf(runId(n), file), '');
      put(spoolOf(runId(n), 'meta.json'));
    }
    // A valid one: it is finished among all the others.
    const right = runId(all.length);
    mkdirSync(spoolOf(right), { mode: 0o700 });
    for (const file of ['stdout', 'stderr']) writeFileSync(spoolOf(right, file), '');
    writeFileSync(
      spoolOf(right, 'meta.json'),
      metaText(right, (meta) => Object.assign(meta, { unknown: 'x' })),
    );
    const next = await tacho(demo('fixed'));
    expect([next.code, finished(next).exit_reason]).toEqual([0, 'ok']);
    expect(next.stderr).toContain(`note: finished the record of ${right}: its recorder was killed`);
    expect(next.stderr.trim().split('\n')).toHaveLength(2);
    const recovered = await tacho(['runs', 'recover', '--no-wait']);
    expect([recovered.code, recovered.stderr]).toEqual([1, '']);
    const lines = recovered.stdout.trim().split('\n');
    for (const [n, [what]] of all.entries())
      expect(
        lines.find((line) => line.startsWith(runId(n))),
        what,
      ).toContain(spoolOf(runId(n), 'meta.json'));
    expect(lines).toHaveLength(all.length);
    const doctor = await tacho(['doctor']);
    expect(doctor.stdout).toContain('meta.json');
    expect(doctor.stderr).toBe('');
    expect(readFileSync('/etc/hostname').length).toBeGreaterThan(0);
  },
);

verifies(
  ['ST-5', 'ST-8'],
  'rm removes a run whatever its spool has become, and the other runs it is given',
  async () => {
    const good = (await tacho(demo('fixed'))).records[0].run_id as string;
    const puts: ((run: string) => void)[] = [
      ...FILES.map(
        ([, put]) =>
          (run: string) =>
            put(spoolOf(run, 'meta.json')),
      ),
      (run) => mkdirSync(spoolOf(run, 'recovering')),
      (run) => {
        rmSync(spoolOf(run), { recursive: true });
        writeFileSync(spoolOf(run), '');
      },
    ];
    const bad = puts.map((_, n) => runId(n));
    for (const [n, put] of puts.entries()) {
      mkdirSync(spoolOf(runId(n)), { mode: 0o700 });
      put(runId(n));
    }
    const { code, stdout, stderr } = await tacho(['runs', 'rm', ...bad, good]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toBe([...bad, good].map((run) => `${run}: deleted\n`).join(''));
    expect(spools(place)).toEqual([]);
    expect((await tacho(['runs', 'list', '--json'])).stdout).toBe('');
    expect(readFileSync('/etc/hostname').length).toBeGreaterThan(0);
  },
);

verifies(
  'ST-3',
  'a meta.json too large for memory stops its recovery, not the new run',
  async () => {
    expect((await tacho(demo('fixed'))).code).toBe(0);
    mkdirSync(spoolOf(runId(1)), { mode: 0o700 });
    for (const file of ['stdout', 'stderr']) writeFileSync(spoolOf(runId(1), file), '');
    writeFileSync(spoolOf(runId(1), 'meta.json'), `{"x":[${'[],'.repeat(10_000_000)}[]]}`);
    const env = { NODE_OPTIONS: '--max-old-space-size=80' };
    const next = await tacho(demo('fixed'), { env });
    expect([next.code, finished(next).exit_reason, next.stderr]).toEqual([0, 'ok', '']);
  },
);

const DAMAGE: [string, (run: string) => void][] = [
  ['meta.json is gone', (run) => rmSync(spoolOf(run, 'meta.json'))],
  ['meta.json is torn', (run) => writeFileSync(spoolOf(run, 'meta.json'), '{"version":1')],
  [
    'meta.json has no secrets',
    (run) => {
      const path = spoolOf(run, 'meta.json');
      const { secrets: _, ...rest } = JSON.parse(readFileSync(path, 'utf8'));
      writeFileSync(path, JSON.stringify(rest));
    },
  ],
  [
    'meta.json has patterns that are too expensive',
    (run) => {
      const path = spoolOf(run, 'meta.json');
      const redact = [1, 2, 3, 4].map((n) => `a{1,30}b{1,30}c{1,30}${n}`);
      writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), redact }));
    },
  ],
  ['stdout is gone', (run) => rmSync(spoolOf(run, 'stdout'))],
  ['stderr is gone', (run) => rmSync(spoolOf(run, 'stderr'))],
  [
    'stdout is a pipe',
    (run) => {
      rmSync(spoolOf(run, 'stdout'));
      spawnSync('mkfifo', [spoolOf(run, 'stdout')]);
    },
  ],
  ['stdout is cut', (run) => truncateSync(spoolOf(run, 'stdout'), 10)],
  [
    'stdout is cut after its first line',
    (run) => truncateSync(spoolOf(run, 'stdout'), SPOOL_MARK.length + 60),
  ],
  [
    'stdout is cut before the last known line',
    (run) => {
      const journal = join(place.state, 'journal');
      const [segment = ''] = listSegments(journal);
      const text = readFileSync(join(journal, segment), 'utf8');
      const known = text.matchAll(/"channel":"stdout","line":\d+,"offset":(\d+)/g);
      const last = Math.max(...[...known].map(([, offset]) => Number(offset)));
      truncateSync(spoolOf(run, 'stdout'), SPOOL_MARK.length + last);
    },
  ],
  [
    'stdout is cut, and has NULs instead',
    (run) => {
      const { size } = statSync(spoolOf(run, 'stdout'));
      truncateSync(spoolOf(run, 'stdout'), SPOOL_MARK.length);
      truncateSync(spoolOf(run, 'stdout'), 2 * size);
    },
  ],
  ['the whole spool is gone', (run) => rmSync(spoolOf(run), { recursive: true })],
  [
    'the spool is a file',
    (run) => {
      rmSync(spoolOf(run), { recursive: true });
      writeFileSync(spoolOf(run), '');
    },
  ],
  [
    'the spool is a link',
    (run) => {
      rmSync(spoolOf(run), { recursive: true });
      symlinkSync('/tmp', spoolOf(run));
    },
  ],
];

for (const [what, damage] of DAMAGE) {
  verifies(
    ['ST-3', 'ST-10'],
    `${what}: the run is closed with the events in the journal, and with a gap`,
    async () => {
      const { run, shown } = await killedRun();
      damage(run);
      const recovered = await tacho(['runs', 'recover']);
      expect([recovered.code, recovered.stderr]).toEqual([0, '']);
      expect(recovered.stdout).toContain(`${run}: recovered, incomplete, 4 calls`);
      const { completeness, tool_calls, warnings } = await outcomeOf(run);
      expect(completeness.grade).toBe('partial');
      const code = what.startsWith('stdout is cut') ? 'spool_truncated' : 'spool_unusable';
      expect(completeness.gaps).toContain(`${code}:1`);
      expect(warnings).toContainEqual(expect.stringContaining(`${code}: `));
      expect(tool_calls).toHaveLength(4);
      await expectWhole(run, shown);
      // Nothing remains to be done, and nothing delays the next run.
      expect((await tacho(['runs', 'recover'])).stdout).toBe('Nothing to recover.\n');
      expect((await tacho(demo('fixed'))).stderr).toBe('');
    },
  );
}

/** Changes lines of a segment, given their entry numbers, so that their checksums fail. */
const damageLines = (path: string, numbers: readonly number[]) => {
  const damaged = (line: string) =>
    numbers.includes(JSON.parse(line).n) ? line.replace('"kind"', '"kinx"') : line;
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  writeFileSync(path, `${lines.map(damaged).join('\n')}\n`);
};

const ENTRIES: [string, (path: string, run: string) => void, string][] = [
  ['damaged in the middle', (path) => damageLines(path, [3, 4, 6]), '3 entries .* damaged'],
  ['damaged at the beginning', (path) => damageLines(path, [1]), '1 entries .* damaged'],
  [
    'foreign at the end',
    (path, run) => editRun(path, run, (all) => Object.assign(all.at(-1) as object, { e: null })),
    '1 entries .* not events',
  ],
];

for (const [what, damage, detail] of ENTRIES)
  verifies(
    ['ST-3', 'ST-10'],
    `journal entries that are ${what} are a gap in the recovered run`,
    async () => {
      const { run } = await killedRun();
      const journal = join(place.state, 'journal');
      const [segment = ''] = listSegments(journal);
      damage(join(journal, segment), run);
      const recovered = await tacho(['runs', 'recover']);
      expect([recovered.code, recovered.stdout]).toEqual([
        0,
        expect.stringContaining(`${run}: recovered, incomplete`),
      ]);
      const { completeness, warnings } = await outcomeOf(run);
      expect(completeness.gaps).toContain('bad_record:1');
      expect(warnings.join('\n')).toMatch(new RegExp(detail));
      expect((await tacho(['runs', 'recover'])).stdout).toBe('Nothing to recover.\n');
    },
  );

verifies('ST-3', 'raw output that can no longer be redacted is kept, not recorded', async () => {
  const { run } = await killedRun();
  const secret = 'Zq81mKpXv0tRs5Wd9Lb2';
  appendFileSync(spoolOf(run, 'stdout'), `{"t":"text","id":"x","text":"${secret}"}\n`);
  writeFileSync(spoolOf(run, 'meta.json'), 'null');
  expect((await tacho(['runs', 'recover'])).code).toBe(0);
  expect(readFileSync(spoolOf(run, 'stdout'), 'utf8')).toContain(secret);
  expect(existsSync(spoolOf(run, 'meta.json'))).toBe(false);
  const { stdout } = await tacho(['replay', run, '--output', 'json'], { contract: 'none' });
  expect(stdout).not.toContain(secret);
  expect((await tacho(['runs', 'rm', run])).code).toBe(0);
  expect(spools(place)).toEqual([]);
});

verifies(
  'ST-3',
  'an agent that damages the meta.json of its own run while it is running changes nothing',
  async () => {
    const path = join(place.folder, 'waits.yaml');
    const wait = 'while [ ! -e go ]; do sleep 0.02; done';
    writeFileSync(
      path,
      `steps:\n  - say: hi\n    calls: [{ tool: run, input: { cmd: "${wait}" } }]\n`,
    );
    const started = place.start(demo(path));
    await until(() => {
      const path = spoolOf(spools(place)[0] ?? '', 'stdout');
      return existsSync(path) && readFileSync(path, 'utf8').includes('hi');
    }, 'the first text');
    const [run = ''] = spools(place);
    const busy = (await tacho(['runs', 'recover', '--no-wait', '--force'])).stdout;
    const who = `running tacho \\(process ${started.child.pid} on .+, for .+; file: .+/meta.json\\)`;
    expect(busy).toMatch(new RegExp(who));
    for (const text of ['null', '{"version":1}']) {
      writeFileSync(spoolOf(run, 'meta.json'), text);
      const recovered = await tacho(['runs', 'recover', '--no-wait']);
      expect(recovered.stdout).toContain(`${run}: is being recorded by a running tacho`);
      expect((await tacho(demo('fixed'))).code).toBe(0);
      // A running run is not a failed attempt.
      expect(existsSync(spoolOf(run, 'attempts'))).toBe(false);
    }
    rmSync(spoolOf(run, 'meta.json'));
    expect((await tacho(['runs', 'recover', '--no-wait'])).stdout).toContain('running tacho');
    writeFileSync(join(place.work, 'go'), '');
    const result = await started.done;
    expect([result.code, finished(result).exit_reason]).toEqual([0, 'ok']);
    expect((await tacho(['runs', 'verify', run])).code).toBe(0);
    expect(spools(place)).toEqual([]);
  },
);

verifies(
  'ST-3',
  'a spool over the budget is left for `runs recover`, with one note; a new run is not delayed',
  async () => {
    const { run, shown } = await killedRun();
    // Lines without content, in a sparse file.
    const { size } = statSync(spoolOf(run, 'stderr'));
    truncateSync(spoolOf(run, 'stderr'), size + 40 * 1024 * 1024);
    const next = await tacho(demo('fixed'));
    expect([next.code, next.stderr]).toEqual([
      0,
      `note: ${run} is not finished yet: see tacho runs recover\n`,
    ]);
    expect(spools(place)).toEqual([run]);
    const recovered = await tacho(['runs', 'recover', run]);
    expect([recovered.code, recovered.stderr]).toEqual([0, '']);
    await expectWhole(run, shown);
  },
);

verifies(
  'ST-3',
  'a crash of an automatic recovery is counted: after three of them only `runs recover` tries again',
  async () => {
    const { run, shown } = await killedRun();
    const auto = ['runs', 'recover', '--auto', '--no-wait'];
    const env = { TACHO_FAIL_AT: 'before_write:1' };
    for (const attempts of [1, 2, 3]) {
      expect((await tacho(auto, { env })).signal).toBe('SIGKILL');
      expect(statSync(spoolOf(run, 'attempts')).size).toBe(attempts);
    }
    const fourth = await tacho(auto, { env });
    expect([fourth.code, fourth.stdout]).toEqual([
      0,
      `note: ${run} is not finished yet: see tacho runs recover\n`,
    ]);
    const next = await tacho(demo('fixed'));
    expect([next.code, next.stderr]).toEqual([0, '']);
    expect((await tacho(['runs', 'recover'])).stdout).toContain(`${run}: recovered`);
    await expectWhole(run, shown);
  },
);

verifies(
  'ST-3',
  'an automatic recovery that hangs is stopped at its time limit, and the new run is complete',
  async () => {
    const { run, shown } = await killedRun();
    const log = join(place.folder, 'hangs');
    const env = {
      NODE_OPTIONS: `--require ${fixture('hangs-recovery.cjs')}`,
      HANG_LOG: log,
    };
    const next = await tacho(demo('fixed'), { env });
    expect([next.code, finished(next).exit_reason]).toEqual([0, 'ok']);
    const hung = readFileSync(log, 'utf8').trim().split('\n').map(Number);
    expect(hung).toHaveLength(1);
    expect(place.left()).toEqual([]);
    expect((await tacho(['runs', 'recover'])).stdout).toContain(`${run}: recovered`);
    await expectWhole(run, shown);
  },
);

verifies(
  'ST-3',
  'a run in the journal without a spool is closed; an imported run is not',
  async () => {
    const session = join(place.folder, '7e15eb39-6be6-4422-a6f5-000000000001.jsonl');
    const id = '7e15eb39-6be6-4422-a6f5-000000000001';
    const line = (type: string, message: object, n: number) =>
      `${JSON.stringify({ type, message, uuid: `u${n}`, timestamp: new Date(1_767_000_000_000 + n).toISOString(), cwd: '/w', sessionId: id, version: '2.1.0' })}\n`;
    const text = [{ type: 'text', text: 'said' }];
    const messages = Array.from({ length: 3_000 }, (_, n) =>
      line('assistant', { id: `m${n}`, role: 'assistant', model: 'm', content: text }, n + 1),
    );
    writeFileSync(session, line('user', { role: 'user', content: 'asked' }, 0) + messages.join(''));
    const importing = ['import', 'claude', session];
    const cut = await tacho(importing, { env: { TACHO_FAIL_AT: 'after_write:2' } });
    expect(cut.signal).toBe('SIGKILL');
    expect((await tacho(['runs', 'recover'])).stdout).toBe('Nothing to recover.\n');
    expect((await tacho(importing)).code).toBe(0);
    const { stdout } = await tacho(['runs', 'list', '--json']);
    const [row] = stdout
      .trim()
      .split('\n')
      .map((one) => JSON.parse(one) as Row);
    expect((await tacho(['runs', 'verify', row.run_id])).code).toBe(0);
    expect(readdirSync(join(place.state, 'journal')).length).toBeGreaterThan(0);
  },
);

verifies(
  'ST-3',
  'a meta.json that cannot be read for the moment closes nothing, and is read later',
  async () => {
    const { run, shown } = await killedRun();
    const env = {
      NODE_OPTIONS: `--require ${fixture('fails-at.cjs')}`,
      FAIL_CALL: 'openSync',
      FAIL_AT: '/meta.json',
    };
    const failed = await tacho(['runs', 'recover'], { env });
    expect([failed.code, failed.stdout]).toEqual([
      1,
      expect.stringContaining(`${spoolOf(run, 'meta.json')}: EIO`),
    ]);
    expect((await tacho(['runs', 'recover'])).stdout).toContain(`${run}: recovered`);
    expect((await outcomeOf(run)).completeness.gaps).not.toContain('spool_unusable:1');
    await expectWhole(run, shown);
  },
);

verifies(
  ['ST-3', 'ST-7'],
  'without a spool the secrets of a run are unknown: its session file is not read',
  async () => {
    const env = { TACHO_DEMO_SESSIONS: join(place.folder, 'sessions') };
    const filled = async (gone: boolean) => {
      const { run } = await killedRun(env);
      if (gone) rmSync(spoolOf(run), { recursive: true });
      expect((await tacho(['runs', 'recover'], { env })).code).toBe(0);
      return (await outcomeOf(run)).completeness.filled;
    };
    expect([await filled(false), await filled(true)]).toEqual([['usage'], []]);
  },
);

verifies('ST-3', 'a run without a spool that cannot be closed does not block others', async () => {
  const runs: string[] = [];
  for (const _ of [1, 2]) {
    const { run } = await killedRun();
    rmSync(spoolOf(run), { recursive: true });
    runs.push(run);
  }
  const [first = '', second] = runs;
  const journal = join(place.state, 'journal');
  const [segment = ''] = listSegments(journal);
  editRun(join(journal, segment), first, (entries) => {
    for (const { e } of entries.slice(0, 1)) (e as Row).data.agent = 'nobody';
  });
  const recovered = await tacho(['runs', 'recover']);
  expect([recovered.code, recovered.stdout.trim().split('\n')]).toEqual([
    1,
    [
      expect.stringMatching(`^${first}: .*"nobody", which this version does not support`),
      expect.stringMatching(`^${second}: recovered`),
    ],
  ]);
});

verifies(
  'ST-3',
  'a recovery that cannot list the spools says nothing and does not block a new run',
  async () => {
    const { run } = await killedRun();
    const env = {
      NODE_OPTIONS: `--require ${fixture('fails-at.cjs')}`,
      FAIL_CALL: 'readdirSync',
      FAIL_AT: '/spool',
    };
    const next = await tacho(demo('fixed'), { env });
    expect([next.code, next.stderr, finished(next).exit_reason]).toEqual([0, '', 'ok']);
    expect(spools(place)).toEqual([run]);
  },
);

verifies(
  'ST-3',
  'a run locked by another recovery is reported, and taken over on request',
  async () => {
    const { run } = await killedRun();
    const release = takeLock(spoolOf(run, 'recovering'));
    const refused = await tacho(['runs', 'recover']);
    const who = `its recovery is in use by .+ \\(process ${process.pid} on .+, for .+\\)`;
    expect(refused.stdout).toMatch(
      new RegExp(`^${run}: ${who}: .+ --force \\(lock file: .+/recovering\\)`),
    );
    expect(spools(place)).toEqual([run]);
    const forced = await tacho(['runs', 'recover', '--force']);
    expect([forced.code, forced.stdout]).toEqual([0, expect.stringContaining(`${run}: recovered`)]);
    expect(spools(place)).toEqual([]);
    release?.();
  },
);

verifies(
  'ST-3',
  'runs without a spool are left to the recovery that is closing them, and taken over on request',
  async () => {
    const { run } = await killedRun();
    rmSync(spoolOf(run), { recursive: true });
    const release = takeLock(spoolOf('.recovering'));
    expect((await tacho(['runs', 'recover'])).stdout).toBe('Nothing to recover.\n');
    const forced = await tacho(['runs', 'recover', '--force']);
    expect([forced.code, forced.stdout]).toEqual([0, expect.stringContaining(`${run}: recovered`)]);
    release?.();
  },
);

verifies(['ST-3', 'ST-5'], 'rm skips a run that is being recorded or recovered', async () => {
  const { run } = await killedRun();
  const refused = async () => {
    const { code, stdout } = await tacho(['runs', 'rm', run]);
    expect([code, stdout]).toEqual([1, expect.stringContaining('is being recorded')]);
    expect(spools(place)).toEqual([run]);
  };
  const release = takeLock(spoolOf(run, 'recovering'));
  await refused();
  release?.();
  const meta = readFileSync(spoolOf(run, 'meta.json'), 'utf8');
  const owner = thisOwner(join(place.state, 'journal'));
  writeFileSync(spoolOf(run, 'meta.json'), JSON.stringify({ ...JSON.parse(meta), owner }));
  await refused();
  writeFileSync(spoolOf(run, 'meta.json'), meta);
  expect((await tacho(['runs', 'rm', run])).code).toBe(0);
  expect(spools(place)).toEqual([]);
});

verifies('ST-3', 'a foreign folder among the spools is left alone', async () => {
  expect((await tacho(demo('fixed'))).code).toBe(0);
  const names = ['notes', 'r_notes', 'spool-notes', `${runId(1)}.bak`];
  const before = Date.now() / 1000 - 86_400;
  for (const name of names) {
    mkdirSync(spoolOf(name));
    writeFileSync(spoolOf(name, 'kept.txt'), 'mine');
    // Older than a run that is just starting.
    writeFileSync(spoolOf(name, 'stdout'), '');
    utimesSync(spoolOf(name, 'stdout'), before, before);
  }
  const next = await tacho(demo('fixed'));
  expect([next.code, next.stderr]).toEqual([0, '']);
  const recovered = await tacho(['runs', 'recover']);
  expect([recovered.code, recovered.stdout]).toEqual([0, 'Nothing to recover.\n']);
  expect((await tacho(['runs', 'gc', '--max-runs', '0'])).code).toBe(0);
  expect(names.filter((name) => existsSync(spoolOf(name, 'kept.txt')))).toEqual(names);
});
