/**
 * `node bench/many-runs-store.ts FOLDER RUNS`: a state folder with many small runs, in some seconds. Each has the events of
 * one recorded run of the demo agent, with ids and times of its own. Every second one is an import, without a transcript.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Event } from '../src/model/event.ts';
import type { RunOutcome } from '../src/model/outcome.ts';
import { IMPORTED_FILE_LABEL } from '../src/model/words.ts';
import { createOutcomeFold } from '../src/projections/outcome.ts';
import { openIndex } from '../src/store/index/index-db.ts';
import { openJournal } from '../src/store/journal/journal.ts';
import { readAll } from '../src/store/journal/read.ts';
import { transcriptPath } from '../src/store/spool/run-files.ts';
import { openStateDir } from '../src/store/state-dir.ts';

const AGENTS = ['claude', 'codex', 'demo', 'gemini', 'pi'] as const;
const FIRST_MS = Date.UTC(2026, 0, 1);
const APART_MS = 60_000;
const AT_ONCE = 500;
const TRANSCRIPT = `${JSON.stringify({ text: 'x'.repeat(6_000) })}\n`;

export const runId = (at: number) => `r_01m7ek9wah${String(at).padStart(16, '0')}`;

/** The events of one real run. */
async function recorded(): Promise<Event[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  try {
    const bin = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');
    const options = { cwd: folder, stdio: 'ignore', env: { ...process.env, TACHO_TRUST: '1' } };
    execFileSync(process.execPath, [bin, 'run', '--agent', 'demo', 'try it'], options as object);
    const events: Event[] = [];
    for await (const { body } of readAll(join(folder, '.tacho', 'journal')))
      events.push(JSON.parse(body) as Event);
    return events;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The bodies of run `at`, and its outcome. */
function runAt(events: readonly Event[], at: number): { bodies: string[]; outcome: RunOutcome } {
  const fold = createOutcomeFold({ keepIo: false });
  const digest = createHash('sha256');
  const moved_ms = FIRST_MS + at * APART_MS - (events[0] as Event).at_ms;
  const bodies = events.map((event) => {
    const own = changed(event, at, { events: event.seq - 1, sha256: digest.copy().digest('hex') });
    const moved = { ...own, run_id: runId(at), at_ms: event.at_ms + moved_ms } as Event;
    fold.push(moved);
    const body = JSON.stringify(moved);
    digest.update(body).update('\n');
    return body;
  });
  return { bodies, outcome: fold.finish() };
}

const isImport = (at: number) => at % 2 === 1;

function changed(event: Event, at: number, digest: { events: number; sha256: string }): Event {
  if (event.kind === 'run_started' && event.data.config !== null) {
    const agent = AGENTS[at % AGENTS.length] as string;
    const labels = isImport(at) ? { [IMPORTED_FILE_LABEL]: `${at}.jsonl` } : {};
    const config = { ...event.data.config, agent, labels };
    return { ...event, data: { ...event.data, agent, session_id: `session-${at}`, config } };
  }
  if (event.kind !== 'run_finished') return event;
  const failed = at % 10 === 0 ? { ok: false, exit_reason: 'agent_error' as const } : {};
  return { ...event, data: { ...event.data, ...failed, session_id: `session-${at}`, digest } };
}

/** In a process of its own: segments that a living process may write are left alone by other commands. */
async function fill(folder: string, runs: number): Promise<void> {
  const events = await recorded();
  const state = openStateDir(folder);
  using index = openIndex(state);
  const journal = openJournal(state.journal, { index });
  for (const agent of AGENTS)
    mkdirSync(dirname(transcriptPath(state, agent, runId(0))), { recursive: true, mode: 0o700 });
  for (let from = 0; from < runs; from += AT_ONCE) {
    const outcomes: RunOutcome[] = [];
    const entries = [];
    for (let at = from; at < Math.min(runs, from + AT_ONCE); at++) {
      const { bodies, outcome } = runAt(events, at);
      const session = outcome.run_id;
      journal.begin(session);
      for (const [n, body] of bodies.entries())
        entries.push({ session, source: 'capture', seq: n + 1, body });
      outcomes.push(outcome);
      if (!isImport(at))
        writeFileSync(transcriptPath(state, outcome.agent, session), TRANSCRIPT, { mode: 0o600 });
    }
    await journal.append(entries);
    index.saveOutcomes(outcomes);
  }
  await journal.close();
}

if (import.meta.main) await fill(process.argv[2] as string, Number(process.argv[3]));
