import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { transcript } from '../../../test/build-transcript.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { grade } from '../../../test/grade.ts';
import { copyWorkspace } from './run-for-test.ts';
import { placeOfRecord, placeOfRun } from './run-place.ts';
import { openTools } from './tools.ts';

const tools = openTools(process.env);
afterAll(() => tools.close());

/** A template, a copy of it that a run has changed, and a file that is in neither. */
function workspace() {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'tacho-test-')));
  const template = join(top, 'template');
  mkdirSync(join(template, 'lib'), { recursive: true });
  for (const name of ['kept.txt', 'edited.txt', 'removed.txt', 'lib/a.txt'])
    writeFileSync(join(template, name), 'one\ntwo\n');
  writeFileSync(join(top, 'secret.txt'), 'one');
  const { path } = copyWorkspace(template);
  afterAll(() => [top, path].map((folder) => rmSync(folder, { recursive: true })));
  writeFileSync(join(path, 'edited.txt'), 'one\nTWO\n');
  writeFileSync(join(path, 'made.bin'), Buffer.from([0xff, 0xfe, 0]));
  rmSync(join(path, 'removed.txt'));
  symlinkSync(join(top, 'secret.txt'), join(path, 'out.txt'));
  symlinkSync(top, join(path, 'up'));
  symlinkSync('kept.txt', join(path, 'link.txt'));
  return { top, template, path, place: placeOfRun(path, { template, changes: [] }) };
}

describe('file', () => {
  const { place, path, top } = workspace();
  const judged = async (fields: object, at = place) => {
    const { verdict, reason, broken } = await grade(
      { type: 'file', ...fields },
      transcript(),
      tools,
      at,
    );
    return [broken ? 'broken' : verdict, reason];
  };

  test.each([
    [{ path: 'kept.txt' }, 'pass', 'kept.txt exists'],
    [{ path: './lib/../kept.txt', changed: false }, 'pass', 'kept.txt was not changed'],
    [{ path: 'none.txt' }, 'fail', 'none.txt does not exist'],
    [{ path: 'none.txt', exists: false }, 'pass', 'none.txt does not exist'],
    [
      { path: 'edited.txt', changed: true, contains: 'TWO' },
      'pass',
      'edited.txt exists; edited.txt was changed; edited.txt contains "TWO"',
    ],
    [
      { path: 'edited.txt', matches: '^two$', flags: 'm' },
      'fail',
      'edited.txt does not match /^two$/m',
    ],
    [
      { path: 'edited.txt', matches: '^two$', flags: 'im' },
      'pass',
      'edited.txt exists; edited.txt matches /^two$/im',
    ],
    [
      { path: 'removed.txt', changed: true, exists: false },
      'pass',
      'removed.txt does not exist; removed.txt was changed',
    ],
    [{ path: 'made.bin', contains: 'x' }, 'fail', 'made.bin is not a readable text file'],
    [{ path: 'none.txt', contains: 'x' }, 'fail', 'none.txt does not exist'],
    [{ path: 'lib', changed: false }, 'pass', 'lib was not changed'],
    [{ path: 'link.txt', contains: 'one' }, 'pass', 'link.txt exists; link.txt contains "one"'],
    [{ path: 'out.txt', contains: 'one' }, 'broken', 'out.txt is outside the folder of the run'],
    [{ path: 'up/secret.txt' }, 'broken', 'up/secret.txt is outside the folder of the run'],
    [
      { path: 'up/none.txt', exists: false },
      'broken',
      'up/none.txt is outside the folder of the run',
    ],
  ])('%j: %s', async (fields, verdict, reason) => {
    expect(await judged(fields)).toEqual([verdict, reason]);
  });

  test('the record of a run names its changes, and its folder must be below the current one', async () => {
    const record = placeOfRecord(path, ['edited.txt', `${path}/lib/a.txt`]);
    expect(await judged({ path: 'edited.txt', changed: true }, record)).toContain('pass');
    expect(await judged({ path: 'lib', changed: true }, record)).toContain('pass');
    expect(await judged({ path: 'kept.txt', changed: true }, record)).toContain('fail');
    expect(await judged({ path: 'kept.txt' }, record)).toEqual([
      'broken',
      `the run worked in ${path}: change to that folder or one above it`,
    ]);
    expect(await judged({ path: 'kept.txt', changed: true }, placeOfRecord(path, null))).toEqual([
      'broken',
      expect.stringMatching(/^whether the run changed kept\.txt is not known: /),
    ]);
    expect(placeOfRecord(join(top, 'gone'), null).refusal).toMatch(
      /^the folder of the run is missing/,
    );
    expect(placeOfRecord(null, null).refusal).toMatch(/^the record does not name/);
    expect(placeOfRecord(process.cwd(), null).folder).toBe(process.cwd());
  });
});

describe('command', () => {
  const { place, path } = workspace();
  const judged = async (command: unknown, fields: object = {}, at = place) => {
    const assertion = { type: 'command', command, timeout: 60, ...fields };
    const { verdict, reason, broken } = await grade(assertion, transcript(), tools, at);
    return [broken ? 'broken' : verdict, reason];
  };

  test('works in the folder of the run, and its exit code and output are compared', async () => {
    expect(await judged('test -f edited.txt')).toEqual([
      'pass',
      '`test -f edited.txt`: exit code 0',
    ]);
    expect(await judged('echo 3 failed >&2; exit 3')).toEqual([
      'fail',
      '`echo 3 failed >&2; exit 3`: exit code 3, expected 0; stderr: "3 failed"',
    ]);
    expect(await judged(['false'], { exit_code: 1 })).toEqual(['pass', '`false`: exit code 1']);
    const both = { stdout: { regex: '^T[a-z]+$', flags: 'm' }, stderr: 'warn', exit_code: 'any' };
    expect(await judged('echo Total; echo a warning >&2; exit 9', both)).toEqual([
      'pass',
      '`echo Total; echo a warning >&2; exit 9`: exit code 9',
    ]);
    expect(await judged('echo no', { stdout: { contains: 'yes' } })).toEqual([
      'fail',
      '`echo no`: stdout does not contain "yes"; stdout: "no"',
    ]);
  });

  test('the end of long output is kept and the loss is reported', async () => {
    const [verdict, reason] = await judged('seq 300000; echo the end', { stdout: 'never' });
    expect([verdict, reason]).toEqual([
      'fail',
      expect.stringMatching(/the end" \(\d+ bytes of output were not kept\)$/),
    ]);
    expect(await judged('seq 300000; echo the end', { stdout: 'the end' })).toEqual([
      'pass',
      '`seq 300000; echo the end`: exit code 0',
    ]);
  });

  test('a command that hangs, cannot start or has no folder gives no verdict', async () => {
    expect(await judged('sleep 60', { timeout: 0.3 })).toEqual([
      'broken',
      '`sleep 60` timed out after 300ms',
    ]);
    expect(await judged(['/nowhere/x'])).toEqual([
      'broken',
      '`/nowhere/x` could not be started: there is no such program',
    ]);
    expect(await judged('true', {}, placeOfRecord(path, null))).toEqual([
      'broken',
      expect.stringMatching(/^the run worked in /),
    ]);
  });
});

test('a path in a call matches with every spelling of the folder', async () => {
  const top = testFolder();
  mkdirSync(join(top, 'real'));
  symlinkSync('real', join(top, 'link'));
  const place = placeOfRun(join(top, 'link'), { template: null, changes: null });
  expect(place.roots).toEqual([join(top, 'link'), join(top, 'real')]);
});
