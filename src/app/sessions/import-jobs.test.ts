/** The processes of `import --jobs`: which ones are started, and how failures are handled. */
import { chmodSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { countOpens } from '../../../test/count-opens.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { agentOf } from '../config/agent-of.ts';
import { importSessions } from './import.ts';
import { importInJobs } from './import-jobs.ts';

const SESSIONS = 3;

/** Sessions that begin at different moments. */
async function place() {
  const folder = testFolder();
  const agent = await agentOf('claude');
  const targets = Array.from({ length: SESSIONS }, (_, n) => {
    const path = join(folder, `session-${n}.jsonl`);
    const line = {
      type: 'user',
      sessionId: `aaaaaaaa-0000-4000-8000-00000000000${n}`,
      version: '2.1.325',
      cwd: '/home/user/project',
      uuid: `u${n}`,
      timestamp: new Date(Date.UTC(2026, 2, 3, 10, n)).toISOString(),
      message: { role: 'user', content: 'asked' },
    };
    writeFileSync(path, `${JSON.stringify(line)}\n`);
    return { agent, path, by_name: false };
  });
  const said: string[] = [];
  const options = {
    state_dir: join(folder, 'state'),
    env: process.env,
    redact: [],
    given_redact: [],
    jobs: 2,
    say: (text: string) => void said.push(text),
  };
  const imported = () => Array.fromAsync(importInJobs(targets, options));
  return { folder, targets, options, said, imported };
}

/** The import starts this program as its processes until the test has ended. */
function startInstead(program: string): void {
  const { execPath } = process;
  process.execPath = program;
  onTestFinished(() => {
    process.execPath = execPath;
  });
}

/** A job that reports all of its share, prints to stderr and exits with a code. */
function fakeJob(folder: string, says: string, code: number): string {
  const path = join(folder, 'job.mjs');
  const text = `#!${process.execPath}
import { text } from 'node:stream/consumers';
for (const line of (await text(process.stdin)).trim().split('\\n')) {
  const { agent, path } = JSON.parse(line);
  console.log(JSON.stringify({ state: 'imported', agent, path, replaced: [], why: null }));
}
console.error(${JSON.stringify(says)});
process.exitCode = ${code};
`;
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

verifies('AG-15', 'a process that cannot be started is reported with what to do', async () => {
  const { imported } = await place();
  startInstead('/nowhere/node');
  await expect(imported()).rejects.toMatchObject({
    name: 'TachoError',
    code: 'spawn_failed',
    message: expect.stringMatching(/cannot be started \(ENOENT\).*fewer --jobs/),
  });
});

verifies('AG-15', 'a job that fails after its last session fails the import', async () => {
  const { folder, imported } = await place();
  startInstead(fakeJob(folder, 'error: the disk is full', 70));
  await expect(imported()).rejects.toMatchObject({
    name: 'TachoError',
    message: expect.stringContaining('cut off: the disk is full; import again'),
  });
});

test('output of a job on stderr is passed on', async () => {
  const { folder, said, imported } = await place();
  startInstead(fakeJob(folder, 'warning: something\nnote: more', 0));
  expect(await imported()).toHaveLength(SESSIONS);
  expect(said).toEqual(expect.arrayContaining(['warning: something', 'note: more']));
});

verifies('AG-15', 'unchanged files are not opened, and need no process', async () => {
  const { targets, options, imported } = await place();
  const now = Date.now;
  // Files count as unchanged some time after their last change.
  Date.now = () => now() + 3_600_000;
  onTestFinished(() => {
    Date.now = now;
  });
  const first = await Array.fromAsync(importSessions(targets, options));
  startInstead('/nowhere/node');
  const opens = countOpens((path) => targets.some((target) => target.path === path));
  const again = await imported();
  expect(again.map(({ state }) => state)).toEqual(targets.map(() => 'known'));
  expect(again.map(({ run_id }) => run_id)).toEqual(first.map(({ run_id }) => run_id));
  expect(opens()).toBe(0);
  // A changed file is read here: another process would gain nothing.
  utimesSync(targets[0]?.path ?? '', new Date(), new Date());
  expect(await imported()).toHaveLength(SESSIONS);
  expect(opens()).toBeGreaterThan(0);
});
