/** The scope of consent to an eval file: the folders it names, and the files that count as its own. */
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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
  /** Folders outside the project, and a link in it to one of them. */
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
    test(`requires new consent when it points elsewhere: ${field}`, async () => {
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

describe('a folder that is not a project', () => {
  /** An eval file in `folder` that reads `.ssh/id` there; with this home folder. */
  async function reading(folder: string, home: string) {
    const options = { env: { HOME: home } };
    await tacho(demo('default'), options);
    mkdirSync(join(folder, '.ssh'), { recursive: true });
    writeFileSync(join(folder, '.ssh/id'), 'dummy-private-key');
    const path = join(folder, 'e.yaml');
    write(path, { input: [{ role: 'user', content: [{ type: 'file', value: '.ssh/id' }] }] });
    const reads = await evalOf(path, options);
    write(path, { workspace: '.ssh' });
    const copies = await evalOf(path, options);
    write(path, {});
    const nothing = await evalOf(path, options);
    return {
      codes: [reads.code, copies.code, nothing.code],
      texts: reads.stderr + copies.stderr,
    };
  }

  const ASKED = { codes: [2, 2, 0], texts: expect.stringMatching(/reads .*copies /s) };
  const READ = { codes: [0, 0, 0], texts: '' };

  test('the home folder, even when it is a repository', async () => {
    expect(await reading(place.folder, place.folder)).toEqual(ASKED);
    mkdirSync(join(place.folder, '.git'));
    expect(await reading(place.folder, place.folder)).toEqual(ASKED);
  });

  test('a folder that contains the home folder, without a repository', async () => {
    expect(await reading(place.folder, place.work)).toEqual(ASKED);
    mkdirSync(join(place.folder, '.git'));
    expect(await reading(place.folder, place.work)).toEqual(READ);
  });

  test('a folder that others can write, with or without a repository', async () => {
    expect(await reading(place.work, place.folder)).toEqual(READ);
    chmodSync(place.work, 0o1777);
    expect(await reading(place.work, place.folder)).toEqual(ASKED);
    mkdirSync(join(place.work, '.git'));
    expect(await reading(join(place.work, 'mine'), place.folder)).toEqual(ASKED);
  });
});
