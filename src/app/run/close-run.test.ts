import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import type { Event, EventOf } from '../../model/event.ts';
import { createOutcomeFold } from '../../projections/outcome.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { bury, removeIfDeleted } from '../../store/journal/tombstones.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { type Closing, endRun } from './close-run.ts';
import { startRecord } from './record.ts';

/** A run at its end, with a journal that fails when it is closed. */
function closing(check: () => void): Closing {
  const recording = {
    run_id: 'r_1',
    state: openStateDir(join(testFolder(), 'state')),
    index: null,
    recorder: { failed: [] },
    covers: [],
    measured: () => ({ outcome: { run_id: 'r_1', agent: 'toy', exit_reason: 'ok' }, usage: [] }),
    transcript: () => null,
    close: async () => {},
    journal: {
      check,
      close: async () => {
        throw new Error('cannot be closed');
      },
    },
  };
  return { recording, cause: null, spool: null, request: {} } as unknown as Closing;
}

verifies('ST-2', 'a record removed after the end of its run is lost', async () => {
  const kept = await endRun(
    closing(() => {}),
    true,
  );
  expect(kept).toMatchObject({ recorded: true, exit_reason: 'ok' });
  expect(kept.unlisted).toMatch(/recorded but not listed: cannot be closed/);
  const lost = await endRun(
    closing(() => {
      throw new Error('was removed or replaced');
    }),
    true,
  );
  expect(lost).toMatchObject({ recorded: false, exit_reason: 'capture_error' });
  expect(lost.unlisted).toMatch(/the record of the run is lost: was removed/);
});

verifies(['ST-2', 'ST-5'], 'a run deleted once it is listed is not a lost record', async () => {
  let deletes = () => {};
  const ending = closing(() => {
    deletes();
    throw new Error('was removed or replaced');
  });
  const { state, run_id } = ending.recording;
  ending.recording.journal.close = async () => {};
  const outcome = { ...createOutcomeFold({ keepIo: false }).finish(), run_id, agent: 'toy' };
  ending.recording.measured = () => ({ outcome: { ...outcome, exit_reason: 'ok' }, usage: [] });
  // Like a gc between storing the run and the last check of its record.
  deletes = () => {
    bury(state, [run_id]);
    using index = openIndex(state);
    expect(index.hasRun(run_id)).toBe(true);
    removeIfDeleted(state, index, run_id);
  };
  expect(await endRun(ending, true)).toMatchObject({
    recorded: true,
    exit_reason: 'ok',
    unlisted: null,
  });
  deletes = () => {};
  expect(await endRun(ending, false)).toMatchObject({
    recorded: false,
    exit_reason: 'capture_error',
  });
});

/** Where each agent looks for the sessions of a home folder: a variable, its value, and a folder or file below. */
const SESSIONS: [agent: string, variable: string, folder: string, below: string][] = [
  ['claude', 'CLAUDE_CONFIG_DIR', 'c', 'projects'],
  ['codex', 'CODEX_HOME', 'c', 'sessions'],
  ['copilot', 'COPILOT_HOME', 'c', 'session-state'],
  ['gemini', 'GEMINI_CLI_HOME', '', '.gemini/tmp'],
  ['opencode', 'XDG_DATA_HOME', '', 'opencode/opencode.db'],
  ['opencode', 'XDG_DATA_HOME', '', 'opencode/storage'],
  ['pi', 'PI_CODING_AGENT_DIR', 'c', 'sessions'],
  ['qwen', 'QWEN_HOME', 'c', 'projects'],
];

function messagesOf(agent: string): string[] {
  const recording = join('../../agents', agent, 'testdata/bash-ok/stdout.jsonl');
  return readFileSync(join(import.meta.dirname, recording), 'utf8')
    .trimEnd()
    .split('\n');
}

/** The problems of a recorded run about its session files. */
async function reported(agent: string, env: Record<string, string>): Promise<unknown[]> {
  const problems: unknown[] = [];
  const take = (events: readonly Event[]) => {
    for (const event of events)
      if (event.kind === 'problem') problems.push((event as EventOf<'problem'>).data);
  };
  const messages = messagesOf(agent).map((line) => JSON.parse(line) as unknown);
  const cwd = '/home/user/project';
  const options = { agent, messages, env, cwd, stateDir: join(testFolder(), 'state') };
  const views = [{ name: 'the problems', take }];
  const { result } = await startRecord(options, views);
  expect((await result).recorded).toBe(true);
  return problems;
}

const unread = (detail: RegExp) =>
  expect.objectContaining({
    stage: 'reconcile',
    code: 'bad_record',
    detail: expect.stringMatching(detail),
  });

for (const [agent, variable, folder, below] of SESSIONS)
  verifies(
    'AG-16',
    `${agent}: an unreadable ${below} is a problem, a missing one is not`,
    async () => {
      const home = testFolder();
      const env = { HOME: home, [variable]: join(home, folder) };
      expect(await reported(agent, env)).toEqual([]);
      const place = join(home, folder, below);
      mkdirSync(dirname(place), { recursive: true });
      // Unreadable, even for root.
      symlinkSync(place, place);
      expect(await reported(agent, env)).toEqual([unread(/session file was not found: ELOOP/)]);
    },
  );

verifies('AG-16', 'an unreadable database of sessions is a problem', async () => {
  const home = testFolder();
  mkdirSync(join(home, 'opencode'));
  writeFileSync(join(home, 'opencode/opencode.db'), 'no database');
  const env = { HOME: home, XDG_DATA_HOME: home };
  expect(await reported('opencode', env)).toEqual([unread(/not found: .*database/)]);
});

verifies('AG-16', 'an unreadable part of a session is a problem', async () => {
  const home = testFolder();
  const session_id = JSON.parse(messagesOf('claude')[0] as string).session_id as string;
  const parts = join(home, 'projects/p', session_id, 'subagents');
  mkdirSync(dirname(parts), { recursive: true });
  writeFileSync(join(home, 'projects/p', `${session_id}.jsonl`), '');
  const env = { HOME: home, CLAUDE_CONFIG_DIR: home };
  expect(await reported('claude', env)).toEqual([]);
  symlinkSync(parts, parts);
  expect(await reported('claude', env)).toEqual([unread(/left out of the session, .*ELOOP/)]);
});
