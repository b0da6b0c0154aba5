/** What consent to an eval file covers: the folders that it leads to, and which files count as its own. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { demo, type Options, usePlace } from './cli.ts';

const place = usePlace();
const { tacho } = place;

const ASSERT = [{ type: 'contains', value: 'Done' }];
const GRADER = { type: 'code-grader', command: ['sh', '-c', 'echo "{\\"score\\": 1}"'] };

function write(path: string, test: object): void {
  writeFileSync(
    path,
    JSON.stringify({ tests: [{ id: 'a', input: 'x', assert: ASSERT, ...test }] }),
  );
}

const evalOf = (path: string, options: Options = {}) =>
  tacho(['eval', path, '--run', 'last'], options);

describe('a folder that an eval file names', () => {
  /** Folders outside of the project, and a link in it that leads to one of them. */
  function link(name: string, to: string): void {
    const path = join(place.work, name);
    mkdirSync(join(place.folder, to), { recursive: true });
    rmSync(path, { recursive: true, force: true });
    symlinkSync(join(place.folder, to), path);
  }

  for (const [field, test_of] of Object.entries({
    workspace: () => ({ workspace: 'ws', assert: [GRADER] }),
    'cwd of a grader': () => ({ assert: [{ ...GRADER, cwd: 'ws' }] }),
  }))
    test(`is asked for again when it leads elsewhere: ${field}`, async () => {
      await tacho(demo('default'));
      mkdirSync(join(place.work, 'ws'));
      const path = join(place.work, 'e.yaml');
      write(path, test_of());
      await tacho(['trust']);
      expect((await evalOf(path)).code).toBe(0);
      for (const to of ['private', 'other']) {
        link('ws', to);
        const { code, stderr } = await evalOf(path);
        expect([code, stderr]).toEqual([2, expect.stringContaining(join(place.folder, to))]);
        await tacho(['trust']);
        expect((await evalOf(path)).code).toBe(0);
      }
    });
});
