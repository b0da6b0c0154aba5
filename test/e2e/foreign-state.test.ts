/** A cloned state folder reaches no file outside itself, and none of its runs is finished without consent. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileFor } from '../../src/lib/ids.ts';
import { demo, filesBelow, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();

const COMMANDS = [
  demo('default'),
  ['runs', 'rm', 'last', '--yes'],
  ['runs', 'gc', '--max-runs', '0'],
  ['runs', 'recover', '--trust'],
];

for (const name of ['live', 'outbox', 'tmp', 'logs', 'archive'])
  verifies('ST-8', `a clone with a link in place of ${name} deletes no file`, async () => {
    const project = join(place.folder, 'project');
    mkdirSync(project);
    const spill = 'spill-1-1-0123456789ab';
    for (const file of ['Cargo.lock', 'empty.lock', 'gc.lock', 'store.lock', spill])
      writeFileSync(join(project, file), file === 'Cargo.lock' ? 'important' : '');
    const before = filesBelow(project);
    const origin = join(place.folder, 'origin');
    mkdirSync(join(origin, '.tacho', 'journal'), { recursive: true });
    writeFileSync(join(origin, '.tacho', 'journal', '.keep'), '');
    symlinkSync('../../project', join(origin, '.tacho', name));
    const git = (...args: string[]) => execFileSync('git', args, { cwd: origin });
    git('init', '-q');
    git('add', '-f', '.tacho');
    git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'x');
    const clone = join(place.folder, 'clone');
    git('clone', '-q', '.', clone);
    const state = join(clone, '.tacho');
    for (const args of COMMANDS) {
      const { code, stderr } = await place.tacho(args, { cwd: clone, env: { TACHO_HOME: state } });
      expect([code === 0, stderr]).toEqual([false, expect.stringContaining(join(state, name))]);
      expect(stderr).toContain('it is a symbolic link, which is not followed');
    }
    expect(filesBelow(project)).toEqual(before);
  });

/** The record of a run, without its end, in an unmarked state folder. */
async function plantRun(state: string): Promise<() => string[]> {
  await place.tacho(demo('default'));
  const from = join(place.state, 'journal');
  const to = join(state, 'journal');
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from).filter((one) => one.endsWith('.jsonl'))) {
    const lines = readFileSync(join(from, name), 'utf8').trimEnd().split('\n');
    const kept = lines.filter((line) => JSON.parse(line).e?.kind !== 'run_finished');
    expect(kept).toHaveLength(lines.length - 1);
    writeFileSync(join(to, name), `${kept.join('\n')}\n`);
  }
  return () => filesBelow(to).map(({ path, bytes }) => `${path}\n${bytes}`);
}

for (const outbox of [false, true])
  test(`an unfinished run ${outbox ? 'with' : 'without'} an outbox is finished only with consent`, async () => {
    const state = join(place.folder, 'clone');
    const tacho = (...args: string[]) => place.tacho(args, { env: { TACHO_HOME: state } });
    const journal = await plantRun(state);
    if (outbox) {
      mkdirSync(join(state, 'outbox'));
      writeFileSync(join(state, 'outbox', `${fileFor('out', 'x')}.jsonl`), '');
    }
    const before = journal();
    expect((await tacho('runs', 'list', '--json')).code).toBe(0);
    // The second one is the recovery that each new run starts.
    for (const more of [[], ['--auto', '--no-wait']]) {
      const refused = await tacho('runs', 'recover', ...more);
      expect([refused.code, refused.stdout, journal()]).toEqual([2, '', before]);
      expect(refused.stderr).toContain(`tacho trust ${state}`);
    }
    expect(readdirSync(join(state, 'transcripts'))).toEqual([]);
    expect((await tacho('doctor')).stdout).toContain(`tacho trust ${state}`);
    await tacho('trust', state);
    expect((await tacho('doctor')).stdout).not.toContain('tacho trust');
    const { code, stdout } = await tacho('runs', 'recover');
    expect([code, stdout]).toEqual([0, expect.stringContaining('recovered')]);
  });
