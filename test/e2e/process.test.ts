/** Agent faults at the process level: all output arrives, and every process ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { findProgram, lookUpProgram } from '../../src/capture/source/find-program.ts';
import { psTable } from '../../src/capture/source/process-table.ts';
import {
  endTree,
  listTree,
  startOf,
  type TreeRoot,
} from '../../src/capture/source/process-tree.ts';
import {
  type AgentProcess,
  type ResolvedLaunch,
  spawnAgent,
} from '../../src/capture/source/spawn.ts';
import { verifies } from './verifies.ts';

const folder = mkdtempSync(join(tmpdir(), 'tacho-process-'));
const fixture = (name: string) => join(import.meta.dirname, '../fixtures', `${name}.mjs`);
const onProc = existsSync('/proc/self/stat');
let count = 0;
/** Every process that the toy programs reported, with its start time, in case a test fails half way. */
const started = new Map<number, string | null>();
afterAll(() => {
  for (const [pid, start] of started) {
    if (start !== null && startOf(pid) === start) process.kill(pid, 'SIGKILL');
  }
  rmSync(folder, { recursive: true, force: true });
});

function plan(command: string, args: string[], more: Partial<ResolvedLaunch> = {}): ResolvedLaunch {
  count += 1;
  const stdout_path = join(folder, `${count}.out`);
  const stderr_path = join(folder, `${count}.err`);
  writeFileSync(stdout_path, '', { mode: 0o600 });
  writeFileSync(stderr_path, '', { mode: 0o600 });
  const env = { PATH: process.env.PATH ?? '' };
  return { command, args, env, cwd: folder, stdin_path: null, stdout_path, stderr_path, ...more };
}

const toy = (name: string, args: string[] = [], more: Partial<ResolvedLaunch> = {}) =>
  plan(process.execPath, [fixture(name), ...args], more);

const failure = async (agent: AgentProcess) => {
  const error = await agent.started.then(
    () => null,
    (cause) => cause,
  );
  return { code: error?.code, message: error?.message, pid: agent.pid, exit: await agent.exited };
};
const never = { exit_code: null, signal: null };

function isAlive(pid: number): boolean {
  if (onProc) return startOf(pid) !== null;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const byNumber = (a: number, b: number) => a - b;
const whole = (lines: number) => `${'x'.repeat(1023)}\n`.repeat(lines);

for (const [mode, exit] of [
  ['exit', { exit_code: 3, signal: null }],
  ['throw', { exit_code: 1, signal: null }],
  ['kill', { exit_code: null, signal: 'SIGKILL' }],
] as const) {
  verifies(
    'RO-7',
    `an agent that writes 1 MiB and stops by ${mode} in the middle of a line loses no byte`,
    async () => {
      const launch = toy('writes-and-ends', [mode]);
      const agent = spawnAgent(launch);
      await agent.started;
      expect(await agent.exited).toEqual(exit);
      expect(readFileSync(launch.stdout_path, 'utf8') === `${whole(1024)}half`).toBe(true);
    },
  );
}

verifies('RO-7', 'stdout and stderr are both complete although neither is read', async () => {
  const launch = toy('writes-and-ends', ['exit', 'both']);
  expect(await spawnAgent(launch).exited).toEqual({ exit_code: 3, signal: null });
  expect(readFileSync(launch.stdout_path, 'utf8') === `${whole(1024)}half`).toBe(true);
  expect(readFileSync(launch.stderr_path, 'utf8') === whole(1024)).toBe(true);
});

verifies(
  'AG-18',
  'a prompt of 5 MB with every byte value reaches the agent exactly, and stdin ends',
  async () => {
    const prompt = Buffer.alloc(5_000_000);
    for (let i = 0; i < prompt.length; i++) prompt[i] = (i * 31 + (i >> 8)) & 0xff;
    const stdin_path = join(folder, 'prompt');
    writeFileSync(stdin_path, prompt);
    const args = ['a b', '"quoted"', '$HOME `x` \\', 'ü\u2028😀', '', '-'];
    const launch = toy('echo-input', args, { stdin_path, env: { WORD: 'w' } });
    expect(await spawnAgent(launch).exited).toEqual({ exit_code: 0, signal: null });
    expect(JSON.parse(readFileSync(launch.stdout_path, 'utf8'))).toEqual({
      args,
      cwd: folder,
      word: 'w',
      bytes: 5_000_000,
      sha256: createHash('sha256').update(prompt).digest('hex'),
    });
  },
);

verifies('AG-18', 'without a prompt for stdin the agent gets an empty, closed stdin', async () => {
  const launch = toy('echo-input');
  expect(await spawnAgent(launch).exited).toEqual({ exit_code: 0, signal: null });
  expect(JSON.parse(readFileSync(launch.stdout_path, 'utf8')).bytes).toBe(0);
});

verifies('AG-18', 'the agent leads its own process group and session', async () => {
  const launch = toy('has-family');
  const agent = spawnAgent(launch);
  const root = { pid: agent.pid ?? 0, run_id: 'r_none', start: agent.start };
  const itself = (await listTree(root)).find((one) => one.pid === agent.pid);
  expect(itself).toMatchObject({ pid: agent.pid, ppid: process.pid, pgid: agent.pid });
  if (onProc) expect(itself?.session).toBe(agent.pid);
  await endTree(root, { grace_ms: 0, signal: 'SIGTERM' });
  expect(await agent.exited).toMatchObject({ exit_code: null });
});

test('starting an agent leaves none of our descriptors open', async () => {
  if (!onProc) return;
  await spawnAgent(toy('echo-input')).exited;
  const before = readdirSync('/proc/self/fd').length;
  for (let i = 0; i < 5; i++) await spawnAgent(toy('echo-input')).exited;
  await spawnAgent(plan('no-such-program', [])).exited;
  await spawnAgent(toy('echo-input', [], { stderr_path: join(folder, 'none') })).exited;
  expect(readdirSync('/proc/self/fd').length).toBe(before);
});

test('a missing program is reported as missing, by name and by path', async () => {
  expect(await failure(spawnAgent(plan('no-such-program', [])))).toEqual({
    code: 'agent_missing',
    message: 'cannot start "no-such-program": it is not on the PATH',
    pid: null,
    exit: never,
  });
  expect(await failure(spawnAgent(plan('./no/such', [])))).toEqual({
    code: 'agent_missing',
    message: 'cannot start "./no/such": there is no such file',
    pid: null,
    exit: never,
  });
});

test('a file without the x bit, a folder, and a script without its interpreter are not executable', async () => {
  const flat = join(folder, 'flat');
  writeFileSync(flat, '#!/bin/sh\n', { mode: 0o644 });
  const script = join(folder, 'script');
  writeFileSync(script, '#!/no/such/interpreter\n');
  chmodSync(script, 0o755);
  const found = [];
  for (const path of [flat, folder, script]) found.push(await failure(spawnAgent(plan(path, []))));
  const code = 'agent_not_executable';
  expect(found).toEqual([
    { code, message: `${flat} is not executable: chmod +x it`, pid: null, exit: never },
    { code, message: `${folder} is a folder, not a program`, pid: null, exit: never },
    {
      code,
      message: `cannot start ${script}: the interpreter in its first line is missing`,
      pid: null,
      exit: never,
    },
  ]);
});

test('a working folder that is missing or a file is reported, not mistaken for a missing program', async () => {
  const file = join(folder, 'a-file');
  writeFileSync(file, '');
  const missing = toy('echo-input', [], { cwd: join(folder, 'nowhere') });
  const noFolder = toy('echo-input', [], { cwd: file });
  expect([await failure(spawnAgent(missing)), await failure(spawnAgent(noFolder))]).toEqual([
    {
      code: 'cwd_missing',
      message: `cannot work in ${join(folder, 'nowhere')}: there is no such folder`,
      pid: null,
      exit: never,
    },
    {
      code: 'cwd_missing',
      message: `cannot work in ${file}: it is not a folder`,
      pid: null,
      exit: never,
    },
  ]);
});

test('arguments that are too long or contain NUL fail with a message that does not repeat them', async () => {
  const tooLong = await failure(spawnAgent(toy('echo-input', ['secret'.repeat(1_000_000)])));
  expect(tooLong.code).toBe('spawn_failed');
  expect(tooLong.message).toMatch(
    /too long for this system \(the longest argument has 6000000 bytes\)/,
  );
  expect(tooLong.message?.length).toBeLessThan(500);
  const nul = await failure(spawnAgent(toy('echo-input', ['sec\0ret'])));
  expect(nul.code).toBe('spawn_failed');
  expect(nul.message).toMatch(/contains a NUL character$/);
});

test('a spool file that is missing, a link or a folder is refused, and nothing is started', async () => {
  const link = join(folder, 'link');
  symlinkSync(join(folder, 'victim'), link);
  writeFileSync(join(folder, 'victim'), 'untouched');
  const codes = [];
  for (const stdout_path of [join(folder, 'none'), link, folder]) {
    codes.push((await failure(spawnAgent(toy('echo-input', [], { stdout_path })))).code);
  }
  expect(codes).toEqual(['not_found', 'state_unusable', 'not_a_file']);
  expect(readFileSync(join(folder, 'victim'), 'utf8')).toBe('untouched');
});

test('a program is looked up as the system does: PATH in order, empty entries and slashes relative to cwd', () => {
  const bin = join(folder, 'bin');
  const flat = join(folder, 'flat-bin');
  mkdirSync(bin);
  mkdirSync(flat);
  mkdirSync(join(folder, 'dirs', 'prog'), { recursive: true });
  writeFileSync(join(bin, 'prog'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(flat, 'prog'), '', { mode: 0o644 });
  const dirs = join(folder, 'dirs');
  expect([
    lookUpProgram('prog', `${dirs}:${flat}:${bin}`, '/'),
    lookUpProgram('prog', `${dirs}:${flat}`, '/'),
    lookUpProgram('prog', dirs, '/'),
    lookUpProgram('prog', ':/nowhere', bin),
    lookUpProgram('bin/prog', '', folder),
    lookUpProgram('', bin, folder),
    lookUpProgram('pr\0og', bin, folder),
    findProgram('sh', undefined, '/') !== null,
    findProgram('prog', flat, '/'),
  ]).toEqual([
    { state: 'found', path: join(bin, 'prog') },
    { state: 'not_executable', path: join(flat, 'prog') },
    { state: 'missing' },
    { state: 'found', path: join(bin, 'prog') },
    { state: 'found', path: join(bin, 'prog') },
    { state: 'missing' },
    { state: 'missing' },
    true,
    null,
  ]);
});

/** An agent with its five processes; the pids in the printed order. */
async function startFamily(run_id: string) {
  const env = { PATH: process.env.PATH ?? '', TACHO_RUN_ID: run_id };
  const launch = toy('has-family', [], { env });
  const agent = spawnAgent(launch);
  const root: TreeRoot = { pid: agent.pid ?? 0, run_id, start: agent.start };
  let pids: number[] = [];
  for (const until = Date.now() + 60_000; pids.length < 5 && Date.now() < until; ) {
    await sleep(20);
    pids = readFileSync(launch.stdout_path, 'utf8').split('\n').filter(Boolean).map(Number);
  }
  for (const pid of pids) started.set(pid, startOf(pid));
  expect(pids.length).toBe(5);
  // Nothing is signalled before the whole tree is known; the daemon's first parent takes a moment to exit.
  const listed = async () => (await listTree(root)).map((one) => one.pid);
  const expected = [...pids].sort(byNumber);
  await expect.poll(listed, { timeout: 60_000 }).toEqual(expected);
  return { agent, root, pids };
}

function bystander(): ChildProcess {
  return spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
}

async function endBystander(child: ChildProcess): Promise<void> {
  const gone = new Promise((done) => child.once('exit', done));
  child.kill('SIGKILL');
  await gone;
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  verifies(
    'RE-22',
    `${signal} ends the whole tree: a child, a daemon, a stopped child and one that ignores it`,
    async () => {
      const other = bystander();
      const { agent, root, pids } = await startFamily(`r_${signal}`);
      const began = performance.now();
      const result = await endTree(root, { grace_ms: 1_000, signal });
      expect(performance.now() - began).toBeLessThan(8_000);
      expect({ ...result, names: result.names.length > 0 }).toEqual({
        ended: 4,
        killed: 1,
        left: 0,
        names: true,
      });
      expect(pids.filter(isAlive)).toEqual([]);
      expect(await listTree(root)).toEqual([]);
      expect(await agent.exited).toMatchObject({ exit_code: null });
      expect(isAlive(other.pid ?? 0)).toBe(true);
      await endBystander(other);
    },
  );
}

verifies('RE-22', 'processes that outlive their agent are found and killed', async () => {
  const { agent, root, pids } = await startFamily('r_outlived');
  process.kill(root.pid, 'SIGUSR2');
  expect(await agent.exited).toEqual({ exit_code: 0, signal: null });
  const left = (await listTree(root)).map((one) => one.pid).sort(byNumber);
  expect(left).toEqual(pids.slice(1).sort(byNumber));
  const result = await endTree(root, { grace_ms: 300, signal: 'SIGTERM' });
  expect(result).toMatchObject({ ended: 3, killed: 1, left: 0 });
  expect(pids.filter(isAlive)).toEqual([]);
});

verifies(
  'RE-22',
  'without a grace period the tree is killed immediately, and a finished tree is left alone',
  async () => {
    const { root, pids } = await startFamily('r_at_once');
    const result = await endTree(root, { grace_ms: 0, signal: 'SIGTERM' });
    expect(result.ended + result.killed).toBe(5);
    expect(pids.filter(isAlive)).toEqual([]);
    const again = await endTree(root, { grace_ms: 5_000, signal: 'SIGTERM' });
    expect(again).toEqual({ ended: 0, killed: 0, left: 0, names: [] });
  },
);

verifies('RE-22', 'a process that reuses the pid of a finished agent is left alone', async () => {
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
    stdio: 'ignore',
    detached: true,
  });
  const root = { pid: other.pid ?? 0, run_id: 'r_before', start: '1' };
  if (onProc) {
    expect(await listTree(root)).toEqual([]);
    await endTree(root, { grace_ms: 0, signal: 'SIGTERM' });
    expect(isAlive(root.pid)).toBe(true);
  }
  await endBystander(other);
});

test('tacho and its ancestors are never part of a tree, even on request', async () => {
  const pids = (await listTree({ pid: process.pid, run_id: 'r_us' })).map((one) => one.pid);
  expect(pids).not.toContain(process.pid);
  const parents = await listTree({ pid: process.ppid, run_id: 'r_us' });
  expect(parents.map((one) => one.pid)).not.toContain(process.pid);
  expect(parents.map((one) => one.pid)).not.toContain(process.ppid);
});

test('without /proc the tree is found by ps, except for daemons that left group and parent', async () => {
  const { root, pids } = await startFamily('r_ps');
  const unguarded = { ...root, start: null };
  const listed = (await listTree(unguarded, psTable)).map((one) => one.pid);
  expect(listed).toEqual(pids.filter((pid) => listed.includes(pid)).sort(byNumber));
  expect(listed.length).toBe(4);
  const result = await endTree(unguarded, { grace_ms: 300, signal: 'SIGTERM' }, psTable);
  expect(result).toMatchObject({ ended: 3, killed: 1, left: 0 });
  expect(listed.filter(isAlive)).toEqual([]);
  await endTree(root, { grace_ms: 300, signal: 'SIGTERM' });
  expect(pids.filter(isAlive)).toEqual([]);
});
