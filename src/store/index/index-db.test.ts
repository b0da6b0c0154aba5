import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { measured } from '../../../test/measured.ts';
import { fixedClock } from '../../lib/clock.ts';
import type { OutcomeCall, RunOutcome } from '../../model/outcome.ts';
import { openJournal } from '../journal/journal.ts';
import { readSession } from '../journal/read.ts';
import { openStateDir } from '../state-dir.ts';
import { openIndex } from './index-db.ts';
import { MIGRATIONS, SCHEMA_VERSION } from './index-schema.ts';
import type { Position } from './position-index.ts';
import { type RunQuery, withoutContent } from './runs-table.ts';

function newState() {
  return openStateDir(join(testFolder(), 'state'));
}

const runId = (n: number) => `r_01m7ek9wah${String(n).padStart(16, '0')}`;

function outcome(n: number, changes: Partial<RunOutcome> = {}): RunOutcome {
  const nothing = {
    input: null,
    output: null,
    cache_read: null,
    cache_write: null,
    reasoning: null,
  };
  return {
    schema_version: 'tacho.outcome.v1',
    run_id: runId(n),
    session_id: `session ${n}`,
    agent: n % 2 === 0 ? 'demo' : 'other',
    agent_version: null,
    success: n % 3 !== 0,
    exit_reason: n % 3 !== 0 ? 'ok' : 'agent_error',
    terminal_evidence: 'native_result',
    completeness: { grade: 'complete', gaps: [], filled: [] },
    message: 'Done \ud800 é',
    error_details: null,
    artifacts: [],
    tool_calls: [
      {
        id: 'c1',
        name: 'Read',
        native_name: 'read',
        status: 'ok',
        exit_code: null,
        duration_ms: 3,
        parent_id: null,
        inputs: { file_path: 'INPUT-CONTENT' },
        outputs: 'OUTPUT-CONTENT',
      },
    ],
    skills_used: [],
    warnings: [],
    metrics: {
      start_time_ms: 1_000 + n,
      end_time_ms: 2_000 + n,
      duration_ms: 1_000,
      tokens_used: 42,
      tokens: nothing,
      cost: 0.5,
      cost_source: 'agent',
      model_name: 'a/model',
      steps: 2,
      provider_retries: 0,
      provider_errors: 0,
      api_calls_count: null,
      tool_calls_count: 1,
    },
    metadata: {
      session_id: `session ${n}`,
      attempt_number: 1,
      retry_count: 0,
      phase_total_duration_ms: null,
      initial_prompt: `Do ${n} ${'x'.repeat(600)}`,
      fingerprint: null,
      output_mode: null,
      labels: { team: 'a' },
    },
    ...changes,
  };
}

describe('runs', () => {
  verifies('ST-1', 'are stored without the inputs and outputs of tools', () => {
    const state = newState();
    const index = openIndex(state);
    index.saveRuns(measured(outcome(1)));
    const saved = index.getRun(runId(1));
    expect(saved).toEqual(withoutContent(outcome(1)));
    expect(saved?.tool_calls).toEqual([
      {
        id: 'c1',
        name: 'Read',
        native_name: 'read',
        status: 'ok',
        exit_code: null,
        duration_ms: 3,
        parent_id: null,
      },
    ]);
    index.close();
    for (const name of readdirSync(state.path).filter((file) => file.startsWith('tacho.db'))) {
      const bytes = readFileSync(join(state.path, name));
      expect(bytes.includes('INPUT-CONTENT') || bytes.includes('OUTPUT-CONTENT')).toBe(false);
      expect(statSync(join(state.path, name)).mode & 0o777).toBe(0o600);
    }
  });

  test('are found by id, session id, a prefix of either, and counting back from the last one', () => {
    const index = openIndex(newState());
    const found = (text: string) => index.findRuns(text).map(({ run_id }) => run_id);
    expect([found('last'), index.getRun('none'), found('r_'), found('')]).toEqual([
      [],
      null,
      [],
      [],
    ]);
    const session_id = '0199a5b8-9d8e-7000';
    index.saveRuns(measured(outcome(1, { session_id }), outcome(21), outcome(22), outcome(23)));
    expect(found('last')).toEqual([runId(23)]);
    expect([found('last~0'), found('last~3'), found('last~4')]).toEqual([
      [runId(23)],
      [runId(1)],
      [],
    ]);
    expect(found(runId(1))).toEqual([runId(1)]);
    expect(found(runId(21).slice(2))).toEqual([runId(21)]);
    expect(found(runId(1).slice(0, -1))).toEqual([runId(1)]);
    expect(found(runId(22).slice(0, -1))).toEqual([runId(23), runId(22), runId(21)]);
    expect([found(session_id), found('0199a')]).toEqual([[runId(1)], [runId(1)]]);
    expect([found('session 2'), found('session 22')]).toEqual([
      [runId(23), runId(22), runId(21)],
      [runId(22)],
    ]);
    expect([found("x' OR 1=1 --"), found('last~'), found('last~x'), found('')]).toEqual([
      [],
      [],
      [],
      [],
    ]);
    index.close();
  });

  test('are filtered by time, project, label and model', () => {
    const index = openIndex(newState());
    const of = (n: number, changes: { path?: string; labels?: object; model?: string }) => {
      const { metadata, metrics } = outcome(n);
      const project = changes.path === undefined ? null : { path: changes.path, remote: null };
      const labels = { ...metadata.labels, ...changes.labels };
      const model_name = changes.model ?? metrics.model_name;
      return outcome(n, {
        metadata: { ...metadata, labels, project },
        metrics: { ...metrics, model_name },
      });
    };
    index.saveRuns(
      measured(
        of(1, { path: '/w/one' }),
        of(2, { path: '/w/one/sub', labels: { build: '7' } }),
        of(3, { path: '/w/one-more', labels: { build: '8' } }),
        of(4, { model: 'Big-Model-2' }),
      ),
    );
    const ids = (query: RunQuery) =>
      [...index.listRuns(query)].map(({ run_id }) => Number(run_id.slice(-2)));
    expect(ids({ since_ms: 1_003 })).toEqual([4, 3]);
    expect(ids({ since_ms: 1_002, until_ms: 1_003 })).toEqual([2]);
    expect(ids({ project: '/w/one' })).toEqual([2, 1]);
    expect(ids({ project: '/w/one-more' })).toEqual([3]);
    expect(ids({ project: '/' })).toEqual([3, 2, 1]);
    expect(ids({ labels: [{ name: 'build', value: null }] })).toEqual([3, 2]);
    expect(ids({ labels: [{ name: 'build', value: '8' }] })).toEqual([3]);
    expect(
      ids({
        labels: [
          { name: 'build', value: '7' },
          { name: 'team', value: 'b' },
        ],
      }),
    ).toEqual([]);
    expect(ids({ model: 'big-model' })).toEqual([4]);
    expect(ids({ project: '/w', agent: 'demo', status: 'ok', limit: 1 })).toEqual([2]);
    index.close();
  });

  test('have the number of failed and denied calls, unless not all calls are listed', () => {
    const index = openIndex(newState());
    const [call] = outcome(1).tool_calls;
    const statuses = ['ok', 'error', 'denied', 'denied', 'timeout', 'cancelled'] as const;
    const tool_calls = statuses.map((status) => ({ ...(call as OutcomeCall), status }));
    const { metrics } = outcome(1);
    const counted = (count: number) => ({ metrics: { ...metrics, tool_calls_count: count } });
    index.saveRuns(
      measured(
        outcome(1, { tool_calls, ...counted(6) }),
        outcome(2, { tool_calls, ...counted(7), run_id: runId(0) }),
      ),
    );
    expect(
      [...index.listRuns()].map(({ failed_calls, denied_calls }) => [failed_calls, denied_calls]),
    ).toEqual([
      [2, 2],
      [null, null],
    ]);
    index.close();
  });

  test('are listed newest first, by filter', () => {
    const index = openIndex(newState());
    index.saveRuns(measured(...[1, 2, 3, 4, 5, 6].map((n) => outcome(n))));
    const ids = (query?: Parameters<typeof index.listRuns>[0]) =>
      [...index.listRuns(query)].map(({ run_id }) => Number(run_id.slice(-2)));
    expect(ids()).toEqual([6, 5, 4, 3, 2, 1]);
    expect(ids({ limit: 2 })).toEqual([6, 5]);
    expect(ids({ agent: 'demo' })).toEqual([6, 4, 2]);
    expect(ids({ status: 'ok' })).toEqual([5, 4, 2, 1]);
    expect(ids({ status: 'failed' })).toEqual([6, 3]);
    expect(ids({ status: 'agent_error', limit: 1 })).toEqual([6]);
    expect([...index.listRuns({ limit: 1 })]).toEqual([
      {
        run_id: runId(6),
        agent: 'demo',
        session_id: 'session 6',
        model: 'a/model',
        started_ms: 1_006,
        finished_ms: 2_006,
        success: false,
        exit_reason: 'agent_error',
        cost: 0.5,
        cost_source: 'agent',
        tokens: 42,
        steps: 2,
        tool_calls: 1,
        failed_calls: 0,
        denied_calls: 0,
        project: null,
        project_remote: null,
        prompt: `Do 6 ${'x'.repeat(495)}`,
        labels: { team: 'a' },
      },
    ]);
    index.deleteRuns([runId(6)]);
    expect(index.stats()).toMatchObject({
      schema: SCHEMA_VERSION,
      runs: 5,
      positions: 0,
      segments: 0,
    });
    index.deleteRuns(index.runIds());
    expect(ids()).toEqual([]);
    index.close();
  });

  test('saved again replace the earlier rows', () => {
    const index = openIndex(newState());
    index.saveRuns(measured(outcome(1)));
    index.saveRuns(measured(outcome(1, { message: 'again' })));
    expect(index.getRun(runId(1))?.message).toBe('again');
    expect(index.stats().runs).toBe(1);
    index.close();
  });
});

describe('positions', () => {
  test('are returned for ids of any characters, and only grow', () => {
    const index = openIndex(newState());
    const position = (session: string, last_seq: number): Position => ({
      session,
      source: 'main',
      segment: 'a.jsonl',
      offset: 10,
      first_seq: 1,
      last_seq,
    });
    const odd = ['plain', '\ud800', 'a\0b', '"quoted"', '__proto__', ''];
    for (const last_seq of [5, 3])
      index.cover(
        'a.jsonl',
        20 * last_seq,
        odd.map((session) => position(session, last_seq)),
      );
    for (const session of odd) expect(index.getPositions(session)).toEqual([position(session, 5)]);
    expect(index.sessionsIn('a.jsonl').sort()).toEqual([...odd].sort());
    expect(index.covered()).toEqual(new Map([['a.jsonl', 100]]));
    index.forgetSegment('a.jsonl');
    expect([index.covered().size, index.getPositions('plain')]).toEqual([0, []]);
    index.close();
  });

  test('let a session be read and continued without reading other segments', async () => {
    const state = newState();
    const index = openIndex(state);
    for (const session of ['a', 'b', 'a']) {
      const journal = openJournal(state.journal, { index });
      const seq = (await journal.lastSeq(session, 'm')) + 1;
      expect(
        await journal.append([{ session, source: 'm', seq, body: `"${session}${seq}"` }]),
      ).toEqual(['stored']);
      await journal.close();
    }
    const bodies: string[] = [];
    for await (const { body } of readSession(state.journal, 'a', { index })) bodies.push(body);
    expect(bodies).toEqual(['"a1"', '"a2"']);
    expect(index.stats()).toMatchObject({ positions: 3, segments: 3 });
    index.close();
  });
});

describe('a database', () => {
  test('that is not a database, or damaged, is moved aside and replaced', () => {
    const now_ms = Date.UTC(2026, 0, 2, 3, 4, 5);
    for (const bytes of [Buffer.from('this is no database'.repeat(300)), Buffer.alloc(8192, 7)]) {
      const state = newState();
      writeFileSync(state.db, bytes);
      const index = openIndex(state, { clock: fixedClock(now_ms) });
      expect(index.moved_to).toBe(`${state.db}.broken-2026-01-02T03-04-05-000Z`);
      expect(readFileSync(index.moved_to as string)).toEqual(bytes);
      index.saveRuns(measured(outcome(1)));
      index.close();
      const again = openIndex(state);
      expect([again.moved_to, again.stats().runs]).toEqual([null, 1]);
      again.close();
    }
  });

  const FOREIGN = {
    'without its tables': 'DROP TABLE runs',
    'with a trigger of others': 'CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END',
    'with a view in a place of a table':
      'ALTER TABLE runs RENAME TO r; CREATE VIEW runs AS SELECT * FROM r',
  };
  for (const [how, sql] of Object.entries(FOREIGN))
    verifies('ST-10', `${how} is moved aside and replaced`, () => {
      const state = newState();
      openIndex(state).close();
      const other = new DatabaseSync(state.db);
      other.exec(sql);
      other.close();
      const index = openIndex(state);
      expect(index.moved_to).not.toBeNull();
      index.saveRuns(measured(outcome(1)));
      expect(index.runIds()).toEqual([runId(1)]);
      index.close();
    });

  verifies(
    'ST-10',
    'that a read finds damaged is moved aside, and does not give an empty answer',
    () => {
      const state = newState();
      const READS: ((index: ReturnType<typeof openIndex>) => unknown)[] = [
        (index) => index.getRun(runId(1)),
        (index) => [...index.listRuns()],
        (index) => [...index.weighRuns({ entry_bytes: {}, file_bytes: {} }, true)],
      ];
      for (const read of READS) {
        const index = openIndex(state);
        index.saveRuns(measured(outcome(1)));
        const other = new DatabaseSync(state.db);
        other.exec(`UPDATE runs SET outcome = '{', labels = '{'`);
        other.close();
        expect(() => read(index)).toThrow(/index was damaged and is now .*: run the command again/);
        expect(index.runIds()).toEqual([]);
        index.close();
      }
    },
  );

  verifies('ST-10', 'that is damaged does not keep the journal from being read', () => {
    const READS: ((index: ReturnType<typeof openIndex>) => unknown)[] = [
      (index) => index.runIds(),
      (index) => [...index.covered()],
      (index) => [...index.settled()],
    ];
    for (const read of READS) {
      const state = newState();
      const index = openIndex(state);
      index.saveRun({ outcome: outcome(1), usage: [] }, [
        { segment: 's.jsonl', bytes: 10, positions: [] },
      ]);
      expect(read(index)).toHaveLength(1);
      const other = new DatabaseSync(state.db);
      other.exec('DELETE FROM runs; PRAGMA wal_checkpoint(TRUNCATE)');
      other.close();
      // All but the first page, which contains the schema.
      const bytes = readFileSync(state.db);
      writeFileSync(state.db, bytes.fill(7, 4096), { flag: 'r+' });
      expect(read(index)).toEqual([]);
      expect(index.moved_to).not.toBeNull();
      index.close();
    }
  });

  verifies('ST-9', 'that was moved aside is removed when runs are deleted', () => {
    const state = newState();
    writeFileSync(state.db, 'a prompt of a run that is deleted later'.repeat(300));
    const index = openIndex(state);
    const aside = index.moved_to as string;
    writeFileSync(`${aside}-wal`, 'a prompt');
    index.saveRuns(measured(outcome(1)));
    index.deleteRuns([runId(1)]);
    index.compact();
    index.close();
    expect(readdirSync(state.path).filter((name) => name.includes('broken'))).toEqual([]);
    expect(existsSync(state.db)).toBe(true);
  });

  test('with bytes changed anywhere never stops the work', () => {
    for (let round = 0; round < 40; round++) {
      const state = newState();
      const index = openIndex(state);
      index.saveRuns(measured(...Array.from({ length: 30 }, (_, n) => outcome(n))));
      index.close();
      const bytes = readFileSync(state.db);
      for (let i = 0; i < 64; i++)
        bytes[(round * 997 + i * 131) % bytes.length] = (round * 31 + i) & 0xff;
      writeFileSync(state.db, bytes);
      let damaged: ReturnType<typeof openIndex>;
      try {
        damaged = openIndex(state);
      } catch (error) {
        // A changed version number looks like a newer database: refused, not overwritten.
        expect(String(error)).toContain('made by a newer tacho');
        continue;
      }
      damaged.saveRuns(measured(...Array.from({ length: 30 }, (_, n) => outcome(n + 100))));
      expect(damaged.findRuns(runId(105))).toHaveLength(1);
      damaged.close();
      if (damaged.moved_to !== null) expect(existsSync(damaged.moved_to)).toBe(true);
    }
  });

  verifies('ST-10', 'is replaced by another one as a whole or not at all', () => {
    const state = newState();
    const index = openIndex(state);
    index.saveRun({ outcome: outcome(1), usage: [] }, [
      { segment: 's.jsonl', bytes: 10, positions: [] },
    ]);
    const path = `${state.db}.new-1`;
    const fresh = openIndex({ ...state, db: path });
    fresh.saveRun({ outcome: outcome(2), usage: [] }, [
      { segment: 's.jsonl', bytes: 20, positions: [] },
    ]);
    fresh.close();
    const known = { runs: [runId(1)], segments: ['s.jsonl'] };
    const other = new DatabaseSync(path);
    other.exec('ALTER TABLE segments RENAME TO others');
    expect(() => index.mergeFrom(path, known)).toThrow('fresh.segments');
    expect([index.runIds(), index.covered()]).toEqual([[runId(1)], new Map([['s.jsonl', 10]])]);
    other.exec('ALTER TABLE others RENAME TO segments');
    other.close();
    index.mergeFrom(path, known);
    expect([index.runIds(), index.covered()]).toEqual([[runId(2)], new Map([['s.jsonl', 20]])]);
    index.close();
  });

  test('of an older schema is brought up to date with its runs', () => {
    const state = newState();
    const older = new DatabaseSync(state.db);
    older.exec(MIGRATIONS[0] as string);
    older.exec('PRAGMA user_version = 1');
    older.exec(
      `INSERT INTO runs VALUES ('${runId(1)}', 'demo', NULL, NULL, 1, 2, 1, 'ok', NULL, NULL, 0, 2, NULL, '{}', '{"run_id":"${runId(1)}","tool_calls":[{"status":"denied"},{"status":"ok"}]}')`,
    );
    older.exec(
      `INSERT INTO runs VALUES ('${runId(2)}', 'demo', NULL, NULL, 2, 2, 1, 'ok', NULL, NULL, 0, 2, NULL, '{}', 'damaged')`,
    );
    older.close();
    const index = openIndex(state);
    expect([index.getRun(runId(1))?.run_id, index.stats().schema, index.covered().size]).toEqual([
      runId(1),
      SCHEMA_VERSION,
      0,
    ]);
    expect([...index.listRuns()]).toMatchObject([
      { run_id: runId(2), failed_calls: null, denied_calls: null, project: null },
      { run_id: runId(1), failed_calls: 0, denied_calls: 1, project: null },
    ]);
    index.close();
  });

  test('of a newer schema is refused and left unchanged', () => {
    const state = newState();
    const newer = new DatabaseSync(state.db);
    newer.exec(`CREATE TABLE future (x); PRAGMA user_version = ${SCHEMA_VERSION + 1}`);
    newer.close();
    const before = readFileSync(state.db);
    expect(() => openIndex(state)).toThrow(`made by a newer tacho (schema ${SCHEMA_VERSION + 1}`);
    expect(readFileSync(state.db)).toEqual(before);
  });

  verifies(['ST-8', 'ST-9'], 'that is a link or a folder is refused with its path', async () => {
    const state = newState();
    const victim = join(state.path, 'victim');
    writeFileSync(victim, 'kept');
    symlinkSync(victim, state.db);
    expect(() => openIndex(state)).toThrow(`${state.db}: it is a symbolic link`);
    expect(readFileSync(victim, 'utf8')).toBe('kept');
    const other = newState();
    const { mkdirSync } = await import('node:fs');
    mkdirSync(other.db);
    expect(() => openIndex(other)).toThrow(`${other.db}: it is a folder, not a file`);
  });
});

verifies('ST-1', 'an index with one run uses a small page for each table', () => {
  const state = newState();
  using index = openIndex(state);
  index.saveRuns(measured(outcome(1)));
  expect(index.stats().bytes).toBeLessThan(32 * 1024);
});
