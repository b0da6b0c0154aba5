import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { makeDatabase } from '../../../test/fixtures/opencode-database.ts';
import { testAgent } from '../../../test/test-agent.ts';
import type { LaunchRequest } from '../../model/agent.ts';
import { kilo } from './index.ts';

testAgent(kilo, join(import.meta.dirname, 'testdata'), {
  sessionFile: (folder) => join(folder, 'db-part.jsonl'),
});

verifies('AG-15', 'sessions are found in its own database', async () => {
  const home = mkdtempSync(join(tmpdir(), 'tacho-kilo-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const usual = join(home, '.local/share/kilo/kilo.db');
  const other = join(home, 'other.db');
  mkdirSync(dirname(usual), { recursive: true });
  makeDatabase(usual, ['text']).close();
  makeDatabase(other, ['read']).close();
  const listed = async (env: NodeJS.ProcessEnv) => {
    const files = await Array.fromAsync(kilo.session?.list?.({ env }) ?? []);
    return files.map(({ path }) => dirname(path));
  };
  expect(await listed({ HOME: home })).toEqual([usual]);
  expect(await listed({ HOME: home, KILO_DB: other })).toEqual([other]);
});

verifies('AG-18', 'the command line', () => {
  const request: LaunchRequest = {
    prompt: '--help "x"',
    model: 'a/b',
    approve: 'edits',
    resume: 'ses_1',
    stream: false,
    args: ['--title', 't'],
    command: null,
    self: { node: 'node', entry: 'x' },
  };
  expect(kilo.launch(request)).toEqual({
    command: 'kilo',
    args: [
      ...['run', '--format', 'json', '--thinking', '--model', 'a/b', '--session', 'ses_1'],
      ...['--title', 't'],
    ],
    env: { KILO_PERMISSION: '{"edit":"allow"}' },
    stdin: '--help "x"',
  });
});
