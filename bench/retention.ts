/** Time to remove 100,000 runs, compared with deleting as many rows from a bare SQLite table. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Event } from '../src/model/event.ts';
import type { MeasuredRun } from '../src/model/usage.ts';
import { createOutcomeFold, measuredBy } from '../src/projections/outcome.ts';
import { openIndex } from '../src/store/index/index-db.ts';
import { openJournal } from '../src/store/journal/journal.ts';
import { openStateDir } from '../src/store/state-dir.ts';
import type { Row } from './measure.ts';

const RUNS = 100_000;
const KEPT = 1_000;
const AT_ONCE = 1_000;
const SECONDS_MOST = 10;

const runId = (at: number) => `r_${String(at).padStart(26, '0')}`;

function eventsOf(at: number): Event[] {
  const base = { v: 1 as const, run_id: runId(at), at_source: 'native' as const, raw: null };
  const at_ms = Date.UTC(2026, 0, 1) + at * 1000;
  const completeness = { grade: 'complete', gaps: [], filled: [] };
  const nothing = { agent_version: null, model: null, session_id: null, fingerprint: null };
  const started = { agent: 'demo', prompt: 'do it', cwd: '/work', config: null, ...nothing };
  const step = { step_id: null, step_index: 1, allowed_tools: [], enforcement_mode: null };
  const unknown = {
    ...{ error: null, session_id: null, model: null, usage: null, cost_usd: null },
    ...{ agent_exit_code: null, agent_signal: null, redactions: {}, digest: null },
  };
  const figures = {
    duration_ms: 5,
    tool_calls: 0,
    steps: 1,
    provider_retries: 0,
    provider_errors: 0,
  };
  const finished = {
    ...unknown,
    ...figures,
    cost_source: 'unknown',
    terminal_evidence: 'none',
    ok: true,
    exit_reason: 'ok',
    final_output: 'Done.'.repeat(40),
    completeness,
  };
  return [
    { ...base, seq: 1, at_ms, step: 0, kind: 'run_started', data: started },
    { ...base, seq: 2, at_ms, step: 1, kind: 'step_started', data: step },
    { ...base, seq: 3, at_ms, step: 1, kind: 'run_finished', data: finished },
  ] as unknown as Event[];
}

/** In a separate process: a segment with a live writer is not touched. */
async function build(folder: string): Promise<void> {
  const state = openStateDir(folder);
  const index = openIndex(state);
  const journal = openJournal(state.journal, { index });
  for (let from = 0; from < RUNS + KEPT; from += AT_ONCE) {
    const runs: MeasuredRun[] = [];
    const entries = [];
    for (let at = from; at < from + AT_ONCE; at++) {
      const fold = createOutcomeFold({ keepIo: false });
      journal.begin(runId(at));
      for (const event of eventsOf(at)) {
        fold.push(event);
        const body = JSON.stringify(event);
        entries.push({ session: event.run_id, source: 'capture', seq: event.seq, body });
      }
      runs.push(measuredBy(fold));
    }
    await journal.append(entries);
    index.saveRuns(runs);
  }
  await journal.close();
  index.close();
}

/** Seconds that SQLite alone takes for rows of about the same size. */
function bareDelete(folder: string): number {
  const db = new DatabaseSync(join(folder, 'bare.db'));
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE runs (id TEXT PRIMARY KEY, outcome TEXT)');
  db.exec('BEGIN');
  const insert = db.prepare('INSERT INTO runs VALUES (?, ?)');
  for (let at = 0; at < RUNS + KEPT; at++) insert.run(runId(at), 'x'.repeat(1200));
  db.exec('COMMIT');
  const began = performance.now();
  db.exec('BEGIN');
  const remove = db.prepare('DELETE FROM runs WHERE id = ?');
  for (let at = 0; at < RUNS; at++) remove.run(runId(at));
  db.exec('COMMIT; VACUUM');
  db.close();
  return (performance.now() - began) / 1000;
}

export function run(): Row[] {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  try {
    const state = join(folder, 'state');
    execFileSync(process.execPath, [import.meta.filename, state], { stdio: 'inherit' });
    const began = performance.now();
    const bin = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');
    const args = ['runs', 'gc', '--max-runs', String(KEPT), '--no-archive', '--json'];
    const said = execFileSync(process.execPath, [bin, '--state-dir', state, ...args], {
      encoding: 'utf8',
      maxBuffer: 256 * 1024 * 1024,
    });
    const seconds = (performance.now() - began) / 1000;
    const { removed } = JSON.parse(said) as { removed: number };
    if (removed !== RUNS) throw new Error(`${removed} runs were removed, not ${RUNS}`);
    const reference = bareDelete(folder);
    return [
      {
        name: '`tacho runs gc` of 100,000 runs, vs. SQLite deleting as many rows',
        value: `${seconds.toFixed(1)} s`,
        reference: `${reference.toFixed(1)} s`,
        ratio: seconds / reference,
        target: `≤ ${SECONDS_MOST} s`,
        ok: seconds <= SECONDS_MOST,
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) await build(process.argv[2] as string);
