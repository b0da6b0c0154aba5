/** States and notifications of `tacho watch`, with real processes of a toy agent, a server and a toy notify-send. */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { kill, linesOf, type Row, root, usePlace } from './cli.ts';
import { until } from './until.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const ID = '7e15eb39-6be6-4422-a6f5-9c0868fe7f65';
const RECORDED = join(
  root,
  `src/agents/claude/testdata/bash-ok/session/.claude/projects/-home-user-project/${ID}.jsonl`,
);
const TIME = /20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
/** Lines of the recording up to its call, and all of them. */
const [OPEN, WHOLE] = [8, 15];

/** A session in a folder of its own, last written so long ago, and an agent that runs there. */
function session(name: string, lines: number, ago_ms = 0) {
  const cwd = join(realpathSync(place.folder), name);
  mkdirSync(cwd);
  const child = spawn(join(place.folder, 'bin/claude'), ['600'], { cwd, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const id = ID.replace(/^.{8}/, Buffer.from(name.padEnd(4)).toString('hex'));
  const at = new Date(Date.now() - ago_ms);
  const text = readFileSync(RECORDED, 'utf8')
    .split(/(?<=\n)/)
    .slice(0, lines)
    .join('')
    .replaceAll(ID, id)
    .replaceAll(/"cwd":"[^"]*"/g, `"cwd":${JSON.stringify(cwd)}`)
    .replace(TIME, at.toISOString());
  const folder = join(place.folder, '.claude/projects', name);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${id}.jsonl`);
  writeFileSync(path, text);
  utimesSync(path, at, at);
  return { cwd, pid: child.pid };
}

async function hook() {
  const bodies: Row[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => {
      bodies.push(JSON.parse(body));
      response.end();
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  return { bodies, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

/** A toy agent, a toy notify-send, and the rules. */
function prepare(url: string) {
  const bin = join(place.folder, 'bin');
  mkdirSync(bin);
  copyFileSync('/bin/sleep', join(bin, 'claude'));
  const shown = join(place.folder, 'shown');
  writeFileSync(join(bin, 'notify-send'), `#!/bin/sh\nprintf '%s\\n' "$*" >> "${shown}"\n`);
  chmodSync(join(bin, 'notify-send'), 0o755);
  const reported = join(place.folder, 'reported.jsonl');
  const config = join(place.folder, '.config/tacho');
  mkdirSync(config, { recursive: true });
  writeFileSync(
    join(config, 'tacho.yaml'),
    `watch:
  notify:
    - name: mine
      state: [waiting, stuck]
      command: [/bin/sh, -c, 'cat >> "$1"', sh, ${reported}]
    - name: money
      cost_over: 0.01
      webhook: ${url}
    - name: touchy
      call: ["notes/unicode", "rm -rf"]
      desktop: true
`,
    { mode: 0o600 },
  );
  const text = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '');
  const lines = (path: string) => text(path).split('\n').filter(Boolean);
  return {
    env: { PATH: [bin, process.env.PATH].join(delimiter) },
    reported: () => lines(reported).map((line) => JSON.parse(line) as Row),
    shown: () => lines(shown),
  };
}

verifies(
  ['WA-9', 'WA-16'],
  'a run that waits, costs, calls, and gets stuck by time alone is reported once; history and a restart are not',
  async () => {
    const { url, bodies } = await hook();
    const { env, reported, shown } = prepare(url);
    const old = session('past', WHOLE);
    const watch = () => {
      let out = '';
      const started = place.start(['watch', '--json'], { env });
      started.child.stdout?.on('data', (text: string) => {
        out += text;
      });
      return { ...started, rows: () => linesOf(out) };
    };
    const status = async () => {
      const { stdout } = await place.tacho(['watch', '--status', '--json'], { env });
      return JSON.parse(stdout);
    };
    const first = watch();
    await until('the start', async () => (await status()).health?.sessions === 1);
    expect((await place.tacho(['runs', 'list'])).stdout).toMatch(/waiting/);
    const fresh = session('new', WHOLE);
    const quiet = session('long', OPEN, 4 * 60_000 + 57_000);
    await until('all notifications', () => reported().length === 2 && bodies.length === 1);
    expect(
      reported()
        .map(({ state, project }) => [state, project])
        .sort(),
    ).toEqual([
      ['stuck', quiet.cwd],
      ['waiting', fresh.cwd],
    ]);
    expect(bodies).toMatchObject([{ rule: 'money', cost_usd: expect.closeTo(0.01104, 6) }]);
    // The call of each new session.
    await until('the desktop', () => shown().length === 2);
    expect(shown()[0]).toContain('claude: Bash matches notes/unicode');
    const rows = first.rows().filter((row) => 'unfinished' in row);
    expect(rows).toContainEqual(
      expect.objectContaining({
        project: quiet.cwd,
        unfinished: expect.objectContaining({ state: 'stuck', since_ms: expect.any(Number) }),
      }),
    );

    const list = await place.tacho(['runs', 'list', '--json']);
    const states = list.records.map(({ project, unfinished }) => [project, unfinished?.state]);
    expect(states.sort()).toEqual([
      [quiet.cwd, 'stuck'],
      [fresh.cwd, 'waiting'],
      [old.cwd, 'waiting'],
    ]);
    const stuck = list.records.find(({ project }) => project === quiet.cwd);
    expect(stuck?.unfinished.reason).toContain(`claude (process ${quiet.pid}) runs in its folder`);
    expect((await place.tacho(['show', stuck?.run_id])).stdout).toContain('stuck');
    expect((await place.tacho(['search', 'is:waiting', '--json'])).stdout).toContain(fresh.cwd);

    kill(first.pid, 'SIGKILL');
    await first.done;
    const again = watch();
    await until('the restart', async () => (await status()).health?.pid === again.pid);
    kill(again.pid, 'SIGTERM');
    expect((await again.done).code).toBe(0);
    expect([reported().length, bodies.length, shown().length]).toEqual([2, 1, 2]);
    // Their processes end: nothing is left to wait for.
    for (const { pid } of [old, fresh, quiet]) kill(pid ?? 0);
    await until('the states', async () => {
      const { records } = await place.tacho(['runs', 'list', '--json']);
      const now = records.map(({ unfinished }) => unfinished?.state ?? null);
      return now.filter((state) => state === null).length === 2 && now.includes('gone');
    });
  },
  180_000,
);
