/** A state folder that a clone brings reaches no file outside of itself. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { demo, filesBelow, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();

const COMMANDS = [
  demo('default'),
  ['runs', 'rm', 'last'],
  ['runs', 'gc', '--max-runs', '0'],
  ['runs', 'recover', '--trust'],
];

for (const name of ['live', 'outbox', 'tmp', 'logs', 'archive'])
  verifies('ST-8', `a clone with a link in the place of ${name} deletes no file`, async () => {
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
      expect(stderr).toContain('a symbolic link stands there; it is not followed');
    }
    expect(filesBelow(project)).toEqual(before);
  });
