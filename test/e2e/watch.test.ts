/** `tacho watch` with real processes: sessions that exist, appear, grow, and files that cannot be read. */
import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { testFolder } from '../fixtures/folder.ts';
import { until } from './until.ts';
import { verifies } from './verifies.ts';

const ROOT = join(import.meta.dirname, '../..');
const TACHO = join(ROOT, 'bin/tacho.cjs');
const testdata = (agent: string, scenario: string) =>
  join(ROOT, 'src/agents', agent, 'testdata', scenario, 'session');
const CLAUDE = '.claude/projects/-home-user-project/7e15eb39-6be6-4422-a6f5-9c0868fe7f65.jsonl';
const CODEX =
  '.codex/sessions/2026/11/15/rollout-2026-11-15T01-14-30-01a1dcc5-26d2-7d21-bc07-3c12b460f723.jsonl';

function place() {
  const home = testFolder();
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    TACHO_HOME: join(home, 'state'),
    TZ: 'UTC',
  };
  const tacho = async (...args: string[]) => {
    const child = spawn(process.execPath, [TACHO, ...args], { env });
    return ended(child);
  };
  const watching = () => {
    const child = spawn(process.execPath, [TACHO, 'watch', '--json'], { env });
    onTestFinished(() => void child.kill('SIGKILL'));
    const rows: Record<string, unknown>[] = [];
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      rows.push(...lines.map((line) => JSON.parse(line) as Record<string, unknown>));
    });
    return { child, rows };
  };
  const runs = async () => {
    const { stdout } = await tacho('runs', 'list', '--json');
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  return { home, env, tacho, watching, runs };
}

async function ended(child: ChildProcess) {
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk.toString('utf8');
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8');
  });
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.on('close', resolve);
  return { code: await promise, stdout, stderr };
}

verifies(
  ['WA-2', 'WA-5'],
  'a watcher imports what exists, finds a folder that appears later, and follows a session that grows',
  async () => {
    const { home, tacho, watching, runs } = place();
    cpSync(testdata('claude', 'bash-ok'), home, { recursive: true });
    const { child, rows } = watching();
    await until('the existing session', () => rows.length > 0);
    expect(rows[0]).toMatchObject({ agent: 'claude', state: 'imported' });
    // The folder of this agent does not exist yet.
    const lines = readFileSync(join(testdata('codex', 'bash-fail'), CODEX), 'utf8').split(
      /(?<=\n)/,
    );
    mkdirSync(dirname(join(home, CODEX)), { recursive: true });
    for (const line of lines) {
      appendFileSync(join(home, CODEX), line);
      await sleep(20);
    }
    await until('the new session', async () => {
      const run = (await runs()).find((row) => row.agent === 'codex');
      return run?.tool_calls === 2 && run.success === true;
    });
    expect(new Set(rows.map(({ run_id }) => run_id)).size).toBe(2);
    const second = await tacho('watch', '--once');
    expect(second.code).not.toBe(0);
    expect(second.stderr).toContain(`process ${child.pid}`);
    expect((await tacho('watch', '--status')).stdout).toContain(`process ${child.pid}`);
    child.kill('SIGINT');
    expect((await ended(child)).code).toBe(0);
    expect((await tacho('watch', '--status')).code).toBe(1);
  },
  120_000,
);

verifies(
  'WA-7',
  'a file that cannot be read is named once, and again only after it changed; one with an unknown name is named too',
  async () => {
    const { home, tacho } = place();
    cpSync(testdata('claude', 'bash-ok'), home, { recursive: true });
    const folder = join(home, dirname(CLAUDE));
    const bad = join(folder, '00000000-0000-4000-8000-000000000000.jsonl');
    const stray = join(folder, 'my.notes.jsonl');
    writeFileSync(bad, 'no session\n');
    writeFileSync(stray, '{}\n');
    const first = await tacho('watch', '--once');
    expect(first.code).toBe(1);
    expect(first.stderr).toContain(bad);
    expect(first.stderr).toContain(stray);
    const again = await tacho('watch', '--once');
    expect(again.code).toBe(0);
    expect(again.stderr).not.toContain(bad);
    expect((await tacho('watch', '--status')).stdout).toContain(bad);
    writeFileSync(bad, 'still no session\n');
    expect((await tacho('watch', '--once')).stderr).toContain(bad);
    const doctor = (await tacho('doctor')).stdout;
    expect(doctor).toContain(stray);
    expect((await tacho('import', '--all')).stderr).toContain(stray);
  },
  120_000,
);
