/** Time to store 10,000 outcomes, and to open a state folder with a million events. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { RunOutcome } from '../src/model/outcome.ts';
import { openIndex } from '../src/store/index/index-db.ts';
import { withoutContent } from '../src/store/index/runs-table.ts';
import { openJournal } from '../src/store/journal/journal.ts';
import { openStateDir } from '../src/store/state-dir.ts';
import { measured } from '../test/measured.ts';

const OUTCOMES = 10_000;
const EVENTS = 1_000_000;
const EVENTS_A_RUN = 1_000;

const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
try {
  const bare = bareInserts(join(folder, 'bare.db'));
  report('outcomes_10000_written', writeOutcomes(join(folder, 'outcomes')), bare);
  await fill(join(folder, 'events'));
  const opened = await reopen(join(folder, 'events'));
  report('state_of_1000000_events_opened', opened, readOnce(join(folder, 'events', 'journal')));
} finally {
  rmSync(folder, { recursive: true });
}

function report(name: string, seconds: number, reference: number): void {
  const milliseconds = (value: number) => Math.round(value * 1000);
  const [value, other] = [milliseconds(seconds), milliseconds(reference)];
  const ratio = Math.round((seconds / reference) * 100) / 100;
  process.stdout.write(`${JSON.stringify({ name, value, unit: 'ms', reference: other, ratio })}\n`);
}

/** The same objects as JSON text in one table, one transaction. */
function bareInserts(path: string): number {
  const db = new DatabaseSync(path);
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE runs (id TEXT PRIMARY KEY, outcome TEXT)',
  );
  const insert = db.prepare('INSERT INTO runs VALUES (?, ?)');
  const outcomes = Array.from({ length: OUTCOMES }, (_, n) => withoutContent(outcome(n)));
  const start = performance.now();
  db.exec('BEGIN');
  for (const each of outcomes) insert.run(each.run_id, JSON.stringify(each));
  db.exec('COMMIT');
  const seconds = (performance.now() - start) / 1000;
  db.close();
  return seconds;
}

/** Only reading the bytes of the journal. */
function readOnce(journal: string): number {
  const start = performance.now();
  for (const name of readdirSync(journal)) readFileSync(join(journal, name));
  return (performance.now() - start) / 1000;
}

function runId(n: number): string {
  return `r_01m7ek9wah${String(n).padStart(16, '0')}`;
}

function writeOutcomes(path: string): number {
  const index = openIndex(openStateDir(path));
  const outcomes = Array.from({ length: OUTCOMES }, (_, n) => outcome(n));
  const start = performance.now();
  index.saveRuns(measured(...outcomes));
  const seconds = (performance.now() - start) / 1000;
  index.close();
  return seconds;
}

async function fill(path: string): Promise<void> {
  const state = openStateDir(path);
  const index = openIndex(state);
  const journal = openJournal(state.journal, { index });
  const body = JSON.stringify({ kind: 'call_finished', output: 'x'.repeat(100) });
  for (let run = 0; run < EVENTS / EVENTS_A_RUN; run++) {
    const session = runId(run);
    journal.begin(session);
    const entries = Array.from({ length: EVENTS_A_RUN }, (_, i) => ({
      session,
      source: 'run',
      seq: i + 1,
      body,
    }));
    await journal.append(entries);
    index.saveRuns(measured(outcome(run)));
  }
  await journal.close();
  index.close();
}

/** Opens the folder, lists the runs, reads an old run and stores a new event. */
async function reopen(path: string): Promise<number> {
  const start = performance.now();
  const state = openStateDir(path);
  const index = openIndex(state);
  const listed = [...index.listRuns({ limit: 50 })].length;
  const journal = openJournal(state.journal, { index });
  const last = await journal.lastSeq(runId(7), 'run');
  const [result] = await journal.append([{ session: 'new', source: 'run', seq: 1, body: '1' }]);
  const seconds = (performance.now() - start) / 1000;
  if (listed !== 50 || last !== EVENTS_A_RUN || result !== 'stored')
    throw new Error('the state folder does not have the expected content');
  await journal.close();
  index.close();
  return seconds;
}

function outcome(n: number): RunOutcome {
  const calls = Array.from({ length: 12 }, (_, i) => ({
    id: `call_${n}_${i}`,
    name: 'Bash',
    native_name: 'shell',
    status: 'ok' as const,
    exit_code: 0,
    duration_ms: 12,
    parent_id: null,
    inputs: { command: 'npm test' },
    outputs: 'x'.repeat(1000),
  }));
  return {
    schema_version: 'tacho.outcome.v1',
    run_id: runId(n),
    session_id: `session-${n}`,
    agent: 'demo',
    agent_version: '1.0.0',
    success: true,
    exit_reason: 'ok',
    terminal_evidence: 'native_result',
    completeness: { grade: 'complete', gaps: [], filled: [] },
    message: 'All tests pass now. '.repeat(10),
    error_details: null,
    artifacts: [{ path: 'src/a.ts', operation: 'modified' }],
    tool_calls: calls,
    skills_used: [],
    warnings: [],
    metrics: {
      start_time_ms: 1_700_000_000_000 + n,
      end_time_ms: 1_700_000_060_000 + n,
      duration_ms: 60_000,
      tokens_used: 12_345,
      tokens: {
        input: 10_000,
        output: 2_345,
        cache_read: null,
        cache_write: null,
        reasoning: null,
      },
      cost: 0.12,
      cost_source: 'agent',
      model_name: 'demo/model',
      steps: 5,
      provider_retries: 0,
      provider_errors: 0,
      api_calls_count: 5,
      tool_calls_count: calls.length,
    },
    metadata: {
      session_id: `session-${n}`,
      attempt_number: 1,
      retry_count: 0,
      phase_total_duration_ms: 60_000,
      initial_prompt: 'Fix the failing test in the parser. '.repeat(5),
      fingerprint: null,
      output_mode: 'human',
      labels: {},
    },
  };
}
