/**
 * `node bench/many-runs-store.ts FOLDER RUNS [apart]`: makes a state folder with many small runs in a few seconds. Each
 * has the events of one recorded run of the demo agent, with its own ids and times. Every second one is an import,
 * without a transcript. `apart`: each has its own segment, as `tacho run` leaves it.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { importId, type NewId } from '../src/app/runs/import-id.ts';
import type { Event } from '../src/model/event.ts';
import type { RunOutcome } from '../src/model/outcome.ts';
import type { MeasuredRun } from '../src/model/usage.ts';
import { IMPORTED_FILE_LABEL } from '../src/model/words.ts';
import { createOutcomeFold, measuredBy } from '../src/projections/outcome.ts';
import { type Index, openIndex } from '../src/store/index/index-db.ts';
import type { Cover } from '../src/store/index/position-index.ts';
import { openJournal } from '../src/store/journal/journal.ts';
import { headOf, LINE_EXTRA_BYTES, writeLine } from '../src/store/journal/line.ts';
import { readAll } from '../src/store/journal/read.ts';
import { thisOwner } from '../src/store/owner.ts';
import { transcriptPath } from '../src/store/spool/run-files.ts';
import { openStateDir, type StateDir } from '../src/store/state-dir.ts';

const AGENTS = ['claude', 'codex', 'demo', 'gemini', 'pi'] as const;
const FIRST_MS = Date.UTC(2026, 0, 1);
const APART_MS = 60_000;
const AT_ONCE = 500;
const TRANSCRIPT = `${JSON.stringify({ text: 'x'.repeat(6_000) })}\n`;

const isImport = (at: number) => at % 2 === 1;

const agentAt = (at: number) => AGENTS[at % AGENTS.length] as string;

/** The id and the labels of an import, as `tacho import` makes them. */
function importAt(at: number): NewId {
  const sha256 = createHash('sha256').update(String(at)).digest('hex');
  const { run_id, labels } = importId({ agent: agentAt(at), sha256 }, 0, FIRST_MS + at * APART_MS);
  return { run_id, labels: { [IMPORTED_FILE_LABEL]: `${at}.jsonl`, ...labels } };
}

export const runId = (at: number) =>
  isImport(at) ? importAt(at).run_id : `r_01m7ek9wah${String(at).padStart(16, '0')}`;

/** The events of one real run. */
async function recorded(): Promise<Event[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  try {
    const bin = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');
    const options = { cwd: folder, stdio: 'ignore', env: { ...process.env, TACHO_TRUST: '1' } };
    const state = join(folder, 'state');
    const args = [bin, 'run', '--state-dir', state, '--agent', 'demo', 'try it'];
    execFileSync(process.execPath, args, options as object);
    const events: Event[] = [];
    for await (const { body } of readAll(join(state, 'journal')))
      events.push(JSON.parse(body) as Event);
    return events;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The bodies of run `at`, and its outcome. */
function runAt(events: readonly Event[], at: number): { bodies: string[] } & MeasuredRun {
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
  return { bodies, ...measuredBy(fold) };
}

function changed(event: Event, at: number, digest: { events: number; sha256: string }): Event {
  if (event.kind === 'run_started' && event.data.config !== null) {
    const agent = agentAt(at);
    const labels = isImport(at) ? importAt(at).labels : {};
    const config = { ...event.data.config, agent, labels };
    return { ...event, data: { ...event.data, agent, session_id: `session-${at}`, config } };
  }
  if (event.kind !== 'run_finished') return event;
  const failed = at % 10 === 0 ? { ok: false, exit_reason: 'agent_error' as const } : {};
  return { ...event, data: { ...event.data, ...failed, session_id: `session-${at}`, digest } };
}

type Made = ReturnType<typeof runAt>;

/** Appends the runs of a batch to the journal. */
interface Writer {
  write(runs: readonly Made[]): Promise<void>;
  close(): Promise<void>;
}

/** Writes all runs with one journal, as an import of many sessions does. */
function together(state: StateDir, index: Index): Writer {
  const journal = openJournal(state.journal, { index });
  return {
    async write(runs) {
      const entries = runs.flatMap(({ bodies, outcome: { run_id: session } }) => {
        journal.begin(session);
        return bodies.map((body, n) => ({ session, source: 'capture', seq: n + 1, body }));
      });
      await journal.append(entries);
    },
    close: journal.close,
  };
}

/** Writes one segment per run, without the syncs of a real run. */
function apart(state: StateDir, index: Index): Writer {
  const first = Buffer.from(`${JSON.stringify({ v: 1, ...thisOwner(state.journal) })}\n`);
  return {
    async write(runs) {
      const covers = runs.map(({ bodies, outcome }) => writeSegment(state, first, bodies, outcome));
      index.coverAll(covers);
      index.settle(new Map(covers.map(({ segment, bytes }) => [segment, bytes])));
    },
    close: async () => undefined,
  };
}

function writeSegment(
  { journal }: StateDir,
  first: Buffer,
  bodies: readonly string[],
  { run_id: session }: RunOutcome,
): Cover {
  const head = headOf(session, 'capture');
  const chars = bodies.reduce((sum, body) => sum + body.length, 0);
  const most = first.length + bodies.length * (head.bytes + LINE_EXTRA_BYTES) + 3 * chars;
  const bytes = Buffer.allocUnsafe(most);
  let end = first.copy(bytes);
  for (const [n, body] of bodies.entries())
    end = writeLine(bytes, end, { head, seq: n + 1, body }).end;
  const segment = `${session.slice(2)}.jsonl`;
  writeFileSync(join(journal, segment), bytes.subarray(0, end), { mode: 0o600 });
  const range = { offset: first.length, first_seq: 1, last_seq: bodies.length };
  return { segment, bytes: end, positions: [{ session, source: 'capture', segment, ...range }] };
}

/** In a separate process: other commands do not touch segments that a live process may write. */
async function fill(folder: string, runs: number, segments: string | undefined): Promise<void> {
  const events = await recorded();
  const state = openStateDir(folder);
  using index = openIndex(state);
  const writer = segments === 'apart' ? apart(state, index) : together(state, index);
  for (const agent of AGENTS)
    mkdirSync(dirname(transcriptPath(state, agent, runId(0))), { recursive: true, mode: 0o700 });
  for (let from = 0; from < runs; from += AT_ONCE) {
    const some: Made[] = [];
    for (let at = from; at < Math.min(runs, from + AT_ONCE); at++) {
      const made = runAt(events, at);
      some.push(made);
      const { agent, run_id } = made.outcome;
      if (!isImport(at))
        writeFileSync(transcriptPath(state, agent, run_id), TRANSCRIPT, { mode: 0o600 });
    }
    await writer.write(some);
    index.saveRuns(some);
  }
  await writer.close();
}

if (import.meta.main) {
  const [folder, runs, segments] = process.argv.slice(2);
  await fill(folder as string, Number(runs), segments);
}
