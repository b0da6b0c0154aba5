/** The action of `tacho search`. */

import { EXIT_USAGE } from '../../app/run/exit-codes.ts';
import { stateLookup } from '../../app/runs/unfinished.ts';
import type { QueryError } from '../../app/search/query-error.ts';
import {
  checkQuery,
  type SearchPage,
  type SearchRequest,
  searchRuns,
} from '../../app/search/search.ts';
import { bytesText } from '../../lib/figures.ts';
import { columns } from '../../lib/terminal-text.ts';
import type { StateDir } from '../../store/state-dir.ts';
import type { Io } from '../command.ts';
import { type RunFilterFlags, runQuery } from '../run-filter.ts';
import { caughtUp, sayTo, stateIfAny } from '../state.ts';
import { styleOf } from '../style.ts';
import { endText, hitsText } from './text.ts';

export interface SearchFlags extends RunFilterFlags {
  sort: 'relevance' | 'time';
  /** Infinity: all. */
  limit: number;
  hits: number;
  json?: true;
}

/** Runs of one page. All pages together have at most as many as asked for. */
const PAGE_RUNS = 100;
const HITS_MAX = 10_000;
const EXIT_NOTHING = 1;

/** Returns the exit code. */
export async function search(query: string, flags: SearchFlags, io: Io): Promise<number> {
  try {
    const found = await searchPages(query, flags, io);
    return found ? 0 : EXIT_NOTHING;
  } catch (error) {
    // Compared by name: the command line and its parts are separate bundles.
    if (!(error instanceof Error) || !('offset' in error)) throw error;
    await reportMistake(error as QueryError, flags, io);
    return EXIT_USAGE;
  }
}

async function reportMistake(error: QueryError, { json }: SearchFlags, io: Io): Promise<void> {
  const { code, message, offset, length, query } = error;
  if (json) {
    await io.out.json(`${JSON.stringify({ error: { code, message, offset, length } })}\n`);
    return;
  }
  const shown = query.replace(/\s/g, ' ');
  const before = columns(shown.slice(0, offset));
  const marked = Math.max(1, columns(shown.slice(offset, offset + length)));
  const caret = `${' '.repeat(before)}${'^'.repeat(marked)}`;
  await io.err.write(`error: ${message}\n  ${shown}\n  ${caret}\n`);
}

async function searchPages(query: string, flags: SearchFlags, io: Io): Promise<boolean> {
  const any = await stateIfAny(io);
  const request: SearchRequest = {
    ...{ query, sort: flags.sort, stateOf: await stateLookup(any), cursor: null },
    ...{ runs: Math.min(flags.limit, PAGE_RUNS), hits: Math.min(flags.hits, HITS_MAX) },
    filter: await runQuery(any, flags),
  };
  if (any === null) checkQuery(request);
  const state = await caughtUp(any, io);
  let shown = 0;
  for (;;) {
    const runs = Math.min(flags.limit - shown, PAGE_RUNS);
    const page = await pageOf(state, { ...request, runs }, io);
    await printHits(page, flags, io);
    shown += new Set(page.hits.map(({ run_id }) => run_id)).size;
    request.cursor = page.cursor;
    const ended = page.cursor === null || shown >= flags.limit || io.out.gone;
    if (!ended) continue;
    await printEnd(page, shown, flags, io);
    return shown > 0;
  }
}

async function pageOf(state: StateDir, request: SearchRequest, io: Io): Promise<SearchPage> {
  const progress = createProgress(io);
  try {
    return await searchRuns(state, request, { say: sayTo(io), progress: progress.show });
  } finally {
    progress.clear();
  }
}

const CLEAR_LINE = '\r\u001b[K';
const PROGRESS_EVERY_MS = 250;

/** A line on a terminal while the search index is built. Prints nothing elsewhere. */
function createProgress(io: Io) {
  const since = performance.now();
  let last = since;
  let shown = false;
  return {
    show(done: number, all: number): void {
      const now = performance.now();
      if (now - last < PROGRESS_EVERY_MS || process.stderr.isTTY !== true) return;
      last = now;
      shown = true;
      void io.err.own(
        `${CLEAR_LINE}updating the search index: ${bytesText(done)} of ${bytesText(all)}`,
      );
    },
    clear(): void {
      if (shown) void io.err.own(CLEAR_LINE);
    },
  };
}

async function printHits(page: SearchPage, { json }: SearchFlags, io: Io): Promise<void> {
  if (json) await io.out.json(page.hits.map((hit) => `${JSON.stringify(hit)}\n`).join(''));
  else await io.out.write(hitsText(page, styleOf(io), io.out_is_terminal ? io.width : null));
}

/** For programs, notes are on standard error. */
async function printEnd(
  page: SearchPage,
  shown: number,
  { json, sort }: SearchFlags,
  io: Io,
): Promise<void> {
  const text = endText(page, shown, sort);
  await (json ? io.err : io.out).write(json && page.cursor === null && page.exact ? '' : text);
}
