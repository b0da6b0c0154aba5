/** Reads single events of a run from the journal. The search index has the position of every 64th event. */
import { jsonIn } from '../../lib/json.ts';
import { CAPTURE_SOURCE } from '../../model/words.ts';
import type { Index } from '../index/index-db.ts';
import { readSession } from '../journal/read.ts';
import { newReport, scanSegment } from '../journal/scan.ts';
import type { StateDir } from '../state-dir.ts';
import type { FoundRun } from './find.ts';
import type { SearchDb } from './search-db.ts';
import { PAGE_EVENTS } from './search-schema.ts';

const PAGE = `SELECT main.segments.segment AS segment, offset FROM pages
  JOIN main.segments ON main.segments.id = pages.segment WHERE key = ? AND page = ?`;

/** A known position is only a hint, because segments are rewritten. More bytes than this mean that it is wrong. */
const READ_BYTES_MAX = 8 * 1024 * 1024;

/** The bodies of the hits of a run, by the numbers of their events. A missing one was damaged or removed since. */
export async function readHits(
  state: StateDir,
  index: Index,
  db: SearchDb,
  run: FoundRun,
): Promise<Map<number, unknown>> {
  const found = new Map<number, unknown>();
  const wanted = new Set(run.hits.map(({ seq }) => seq));
  for (const seq of [...wanted].sort((a, b) => a - b))
    if (!found.has(seq)) await readPage(state, db, { run, seq, wanted }, found);
  if (found.size === wanted.size) return found;
  for await (const { source, seq, body } of readSession(state.journal, run.run_id, { index })) {
    if (source === CAPTURE_SOURCE && wanted.has(seq)) found.set(seq, jsonIn(body));
    if (found.size === wanted.size) break;
  }
  return found;
}

interface Wanted {
  run: FoundRun;
  seq: number;
  wanted: ReadonlySet<number>;
}

async function readPage(
  { journal }: StateDir,
  db: SearchDb,
  { run, seq, wanted }: Wanted,
  found: Map<number, unknown>,
): Promise<void> {
  const page = Math.floor(seq / PAGE_EVENTS);
  const place = db.read((prepared) => prepared.get(PAGE, run.key, page));
  if (place === undefined) return;
  const from = Number(place.offset);
  let passed = false;
  for await (const lines of scanSegment(journal, String(place.segment), {
    from,
    report: newReport(),
  })) {
    for (const line of lines) {
      if (line.session !== run.run_id || line.source !== CAPTURE_SOURCE) continue;
      if (wanted.has(line.seq))
        found.set(line.seq, jsonIn(line.bytes.toString('utf8', line.start, line.end)));
      passed ||= line.seq >= (page + 1) * PAGE_EVENTS;
    }
    // Further hits are often in the same chunk.
    if (passed || found.size === wanted.size) return;
    if ((lines.at(-1)?.next ?? 0) > from + READ_BYTES_MAX) return;
  }
}
