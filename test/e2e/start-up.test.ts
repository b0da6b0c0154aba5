/** Modules loaded at start, and the texts that need no command. bench/start-up.ts measures the CPU time. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fixedTexts } from '../../src/cli/fixed-texts.ts';
import { CHAOS, played } from '../chaos-agent.ts';
import { fixture, root, usePlace } from './cli.ts';

const place = usePlace();
const folder = join(root, 'dist', 'texts');

/** Each takes a good part of the whole command's time to load. */
const EXPENSIVE =
  'child_process crypto http http2 https net readline sqlite stream tls worker_threads zlib';

/** The expensive modules that a command loads, and the segmenters that it creates. */
async function loadedBy(args: readonly string[], env: Record<string, string> = {}) {
  const LOADED_FILE = join(place.folder, 'loaded.json');
  const NODE_OPTIONS = `--require ${fixture('loaded-modules.cjs')}`;
  const { code, stderr } = await place.tacho(args, { env: { LOADED_FILE, NODE_OPTIONS, ...env } });
  expect([code, stderr]).toEqual([0, '']);
  const { loaded, segmenters } = JSON.parse(readFileSync(LOADED_FILE, 'utf8'));
  return { expensive: EXPENSIVE.split(' ').filter((name) => loaded.includes(name)), segmenters };
}

describe('help and version', () => {
  test('are in files that match the current commands', () => {
    const files = readdirSync(folder).map((name) => [
      name.replace('.txt', ''),
      readFileSync(join(folder, name), 'utf8'),
    ]);
    expect(Object.fromEntries(files)).toEqual(Object.fromEntries(fixedTexts()));
  });

  test('are the same from the launcher and from the command', async () => {
    for (const words of [[], ['run'], ['runs'], ['runs', 'list'], ['eval', 'compare']]) {
      const text = readFileSync(join(folder, `${['tacho', ...words].join('-')}.txt`), 'utf8');
      for (const flag of ['--help', '-h']) {
        expect(await place.tacho([...words, flag])).toMatchObject({ code: 0, stdout: text });
        const made = await place.tacho(['--state-dir', 'x', ...words, flag]);
        expect(made).toMatchObject({ code: 0, stdout: text, stderr: '' });
      }
    }
    for (const flag of ['--version', '-V'])
      expect((await place.tacho([flag])).stdout).toBe(
        readFileSync(join(folder, 'version.txt'), 'utf8'),
      );
  });

  test("for an unknown command are the program's own help or error", async () => {
    const extra = await place.tacho(['run', 'prompt', '--help']);
    expect(extra.stdout).toBe(readFileSync(join(folder, 'tacho-run.txt'), 'utf8'));
    const unknown = await place.tacho(['rns', 'list']);
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('Did you mean')]);
    const path = await place.tacho(['../version', '--help']);
    expect(path.stdout).toBe(readFileSync(join(folder, 'tacho.txt'), 'utf8'));
  });

  test('that cannot be written are reported', async () => {
    const under = ['sh', '-c', 'exec "$@" > /dev/full', 'sh'];
    const { code, stderr } = await place.tacho(['--help'], { under });
    expect([code, stderr]).toEqual([70, expect.stringContaining('the disk is full')]);
  });

  test('load no expensive module', async () => {
    for (const args of [['--help'], ['--version'], ['run', '--help'], ['--state-dir', 'x', '-h']])
      expect(await loadedBy(args)).toEqual({ expensive: [], segmenters: 0 });
  });
});

test('listing no runs loads no expensive module', async () => {
  expect(await loadedBy(['runs', 'list'])).toEqual({ expensive: [], segmenters: 0 });
});

test('a command loads only the modules it needs', async () => {
  await place.tacho(['run', ...CHAOS, 'zażółć 日本語', '--', ...played('text')]);
  const list = await loadedBy(['runs', 'list']);
  expect(list).toEqual({ expensive: ['crypto', 'sqlite', 'stream'], segmenters: 0 });
});

test('completion of commands, options and agents loads no expensive module', async () => {
  const args = ['__complete', 'bash', '--', 'run', '--agent', 'c'];
  expect(await loadedBy(args)).toEqual({ expensive: [], segmenters: 0 });
});
