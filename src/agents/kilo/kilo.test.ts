import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { makeDatabase } from '../../../test/fixtures/opencode-database.ts';
import { testAgent } from '../../../test/test-agent.ts';
import type { LaunchRequest } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
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

verifies('WA-3', 'progress of the CLI that it removes again is no message', () => {
  const decoder = kilo.session?.decoder();
  const drafts: Draft[] = [];
  const row = (id: string, data: object) => ({
    ...{
      id,
      session_id: 'ses_1',
      time_created: 1_700_000_000_000,
      time_updated: 1_700_000_000_000,
    },
    data: JSON.stringify(data),
  });
  const text = (id: string, fields: object) => ({
    ...row(id, { type: 'text', synthetic: true, ...fields }),
    message_id: 'msg_1',
  });
  const transient = { metadata: { 'kilocode.lifecycle': 'transient' } };
  for (const record of [
    row('msg_1', { role: 'user', time: { created: 1_700_000_000_000 } }),
    text('prt_1', { text: '⠋ Initializing snapshot…', ...transient }),
    text('prt_2', { text: 'Kept.', metadata: { 'kilocode.lifecycle': 'other' } }),
  ])
    decoder?.record(record, drafts);
  decoder?.end(drafts);
  const said = drafts.flatMap((draft) =>
    draft.kind === 'message_finished' ? [draft.data.text] : [],
  );
  expect(said).toEqual(['Kept.']);
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
