/** Recovery of long runs: memory does not grow with the number of events, and a killed recovery leaves no temporary file. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { listSegments, segmentBytes } from '../../src/store/journal/scan.ts';
import { demo, filesBelow, finished, kill, spools, until, usePlace } from '../e2e/cli.ts';
import { verifies } from '../e2e/verifies.ts';

const place = usePlace();
const { tacho } = place;

const journalBytes = () => {
  const dir = join(place.state, 'journal');
  return listSegments(dir).reduce((sum, segment) => sum + segmentBytes(dir, segment), 0);
};

/** An agent that prints messages, each longer than the last by this many characters, and then waits forever. */
function talker(messages: number, chars = 0): Record<string, string> {
  const bin = join(place.folder, 'bin');
  mkdirSync(bin);
  const program = join(bin, 'claude');
  const code = `import { writeSync } from 'node:fs';
const session_id = '7e15eb39-6be6-4422-a6f5-9c0868fe7f65';
const line = (record) => JSON.stringify({ ...record, session_id }) + '\\n';
let text = line({ type: 'system', subtype: 'init', cwd: '/w', tools: [], model: 'm' });
for (let i = 0; i < ${messages}; i++) {
  const content = [{ type: 'text', text: 'text ' + i + 'x'.repeat(${chars}) }];
  text += line({ type: 'assistant', message: { id: 'm' + i, role: 'assistant', model: 'm', content, usage: {} } });
  if (text.length > 1e6) { writeSync(1, text); text = ''; }
}
writeSync(1, text);
writeSync(2, 'all said\\n');
setInterval(() => {}, 1e6);
`;
  writeFileSync(join(bin, 'talks.mjs'), code);
  const version = '[ "$1" = --version ] && { echo 9.9.9; exit 0; }';
  const script = `#!/bin/sh\n${version}\nexec "${process.execPath}" "${join(bin, 'talks.mjs')}"\n`;
  writeFileSync(program, script, { mode: 0o755 });
  return { PATH: `${bin}:${process.env.PATH}` };
}

/** Starts a run, waits until all of it is in the journal, kills tacho and its agent. */
async function killedRun(env: Record<string, string>): Promise<string> {
  const args = ['run', '--agent', 'claude', '--output', 'json', 'please'];
  const { pid, done } = place.start(args, { contract: 'none', env });
  const ends = () => spools(place).map((run) => join(place.state, 'spool', run, 'stderr'));
  const said = (path: string) => existsSync(path) && readFileSync(path).includes('all said');
  await until(() => ends().some(said), 'the end of the output');
  for (let before = -1; before !== journalBytes(); await sleep(1_000)) before = journalBytes();
  kill(pid);
  await done;
  for (const left of place.left()) kill(left);
  await until(() => place.left().length === 0, 'the end of the agent');
  return spools(place)[0] as string;
}

verifies(
  'ST-3',
  'a run of 200,000 events is recovered with a heap of 80 MB and does not delay a new run',
  async () => {
    const run = await killedRun(talker(100_000));
    expect(journalBytes()).toBeGreaterThan(50_000_000);
    const env = { NODE_OPTIONS: '--max-old-space-size=80' };
    const recovered = await tacho(['runs', 'recover'], { env });
    expect([recovered.code, recovered.stderr]).toEqual([0, '']);
    expect(recovered.stdout).toContain(`${run}: recovered, incomplete`);
    expect((await tacho(['runs', 'verify', run], { env })).code).toBe(0);
    const next = await tacho(demo('fixed'), { env });
    expect([next.code, next.stderr]).toEqual([0, '']);
  },
  300_000,
);

verifies(
  'ST-3',
  'a run of long messages, 90 MB in total, is recovered with a heap of 80 MB',
  async () => {
    const run = await killedRun(talker(300, 300_000));
    expect(journalBytes()).toBeGreaterThan(90_000_000);
    const env = { NODE_OPTIONS: '--max-old-space-size=80' };
    const recovered = await tacho(['runs', 'recover'], { env });
    expect([recovered.code, recovered.stderr]).toEqual([0, '']);
    expect(recovered.stdout).toContain(`${run}: recovered, incomplete`);
  },
  300_000,
);

/** Calls with 12 MB of output: more than the limit for memory. */
function longScript(rest: string): string {
  const path = join(place.folder, 'long.yaml');
  const call =
    '      - { tool: run, input: { cmd: "head -c 300000 /dev/zero | tr \'\\\\0\' z" } }\n';
  writeFileSync(path, `steps:\n  - say: begin\n    calls:\n${call.repeat(40)}${rest}`);
  return path;
}

function openFiles(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return '';
    }
  });
}

verifies(
  ['ST-3', 'ST-8'],
  'a run with 12 MB of calls needs no temporary folder, and a killed one leaves no file there',
  async () => {
    const tmp = join(place.folder, 'tmp');
    writeFileSync(tmp, 'not a folder');
    const whole = await tacho(demo(longScript('')), { env: { TMPDIR: tmp } });
    expect([whole.code, whole.stderr, finished(whole).exit_reason]).toEqual([0, '', 'ok']);
    expect(finished(whole).completeness.gaps).toEqual(['usage_unknown']);

    const empty = join(place.folder, 'empty');
    mkdirSync(empty);
    const script = longScript('  - stderr: all said\n  - hang: true\n');
    const started = place.start(demo(script), { contract: 'none', env: { TMPDIR: empty } });
    const spill = join(place.state, 'tmp', 'spill-');
    const spilled = () => openFiles(started.pid).some((path) => path.startsWith(spill));
    await until(spilled, 'a spill');
    kill(started.pid);
    await started.done;
    for (const left of place.left()) kill(left);
    await until(() => place.left().length === 0, 'the end of the agent');
    expect(readdirSync(empty).filter((name) => name.startsWith('tacho'))).toEqual([]);
    // A kill between creating the file and unlinking it leaves an empty file.
    const tmp_files = filesBelow(join(place.state, 'tmp'));
    expect(tmp_files.filter(({ bytes }) => bytes.length > 0)).toEqual([]);
    const recovered = await tacho(['runs', 'recover']);
    expect([recovered.code, recovered.stdout]).toEqual([0, expect.stringContaining('recovered')]);
    expect(readdirSync(join(place.state, 'tmp'))).toEqual([]);
  },
  300_000,
);
