/** What `tacho import` does. */

import { text } from 'node:stream/consumers';
import { agentOf } from '../../app/config/agent-of.ts';
import { passingRedactor, patternsIn } from '../../app/config/redaction.ts';
import { type Imported, type ImportTarget, importSessions } from '../../app/sessions/import.ts';
import { importInJobs, type ShareLine } from '../../app/sessions/import-jobs.ts';
import { findTargets, type Selection } from '../../app/sessions/import-targets.ts';
import { TachoError } from '../../lib/errors.ts';
import { jsonIn } from '../../lib/json.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import type { Memo } from '../../model/agent.ts';
import { redactFields } from '../../redact/gate.ts';
import { resolveStateDir } from '../../store/state-dir.ts';
import type { Io } from '../command.ts';
import { sayTo } from '../state.ts';

export interface ImportFlags {
  session?: string;
  last?: true;
  all?: true;
  since?: number;
  force?: true;
  redact?: string[];
  json?: true;
  jobs: number;
  /** Part of an import with several jobs: the targets come on standard input. */
  share?: true;
}

const usage = (say: string) => new TachoError('usage', say, { stage: 'request' });

/** The targets of a share. */
async function sharedTargets(): Promise<ImportTarget[]> {
  const lines = (await text(process.stdin)).split('\n').filter((line) => line !== '');
  return Promise.all(
    lines.map(async (line) => {
      const { agent, path, by_name } = (jsonIn(line) ?? {}) as Partial<ShareLine>;
      if (typeof path !== 'string') throw usage('--share is for tacho import --jobs alone');
      return { agent: await agentOf(String(agent)), path, by_name: by_name === true };
    }),
  );
}

function selectionOf(files: readonly string[], flags: ImportFlags): Selection {
  const { session, last, all, since: since_ms = null } = flags;
  const selections: Selection[] = [];
  if (files.length > 0) selections.push({ what: 'files', paths: files });
  if (session !== undefined) selections.push({ what: 'session', session_id: session });
  if (last) selections.push({ what: 'last', since_ms });
  if (all) selections.push({ what: 'all', since_ms });
  const [selection] = selections;
  if (selection === undefined || selections.length > 1)
    throw usage('say what to import: --last, --all, --session ID, or AGENT FILE…, one of them');
  if (since_ms !== null && !('since_ms' in selection))
    throw usage('--since goes with --all or --last');
  return selection;
}

/** Between two notes of how far it is: often enough to see it move. */
const NOTE_EVERY_MS = 100;
const CLEAR_LINE = '\r\x1b[K';

/** How far it is, on one line of a terminal; nothing elsewhere. */
class Progress {
  readonly #io: Io;
  readonly #total: number;
  readonly #shown = process.stderr.isTTY === true;
  #last_ms = 0;

  constructor(io: Io, total: number) {
    this.#io = io;
    this.#total = total;
  }

  note(done: number, { agent, path }: ImportTarget, bytes: number): void {
    const now_ms = performance.now();
    if (!this.#shown || now_ms - this.#last_ms < NOTE_EVERY_MS) return;
    this.#last_ms = now_ms;
    const read = bytes < 1e6 ? '' : `, ${Math.floor(bytes / 1e6)} MB`;
    const text = `${done + 1} of ${this.#total}: ${agent.id} ${path}${read}`;
    this.clear();
    void this.#io.err.write(forTerminal(text).slice(0, this.#io.width - 1));
  }

  clear(): void {
    if (this.#shown) void this.#io.err.own(CLEAR_LINE);
  }
}

/** Words and ids of tacho's own. */
const OWN_FIELDS = new Set(['state', 'agent', 'run_id', 'replaced']);

export async function importCommand(
  agent: string | null,
  files: readonly string[],
  flags: ImportFlags,
  io: Io,
): Promise<number> {
  const memo: Memo = new Map();
  const targets = flags.share
    ? await sharedTargets()
    : await findTargets(agent, selectionOf(files, flags), { env: io.env, memo });
  const state_dir = resolveStateDir({ flag: io.state_flag, env: io.env });
  const { redact } = flags;
  const agents = [...new Set(targets.map(({ agent }) => agent))];
  const redactor = await passingRedactor(io.env, { state_dir: io.state_flag, redact, agents });
  const progress = new Progress(io, targets.length);
  const counts = new Map<Imported['state'], number>();
  let done = 0;
  const options = {
    state_dir,
    env: io.env,
    force: flags.force,
    memo,
    share: flags.share,
    jobs: flags.jobs,
    given_redact: redact ?? [],
    say: sayTo(io),
    redact: await patternsIn(process.cwd(), redact),
    progress: (target: ImportTarget, bytes: number) =>
      progress.note(done, { ...target, path: redactor.name(target.path) }, bytes),
  };
  const several = flags.jobs > 1 && targets.length > 1 && !flags.share;
  const importing = several ? importInJobs : importSessions;
  for await (const given of importing(targets, options)) {
    const imported = redactFields(given, redactor, OWN_FIELDS);
    done += 1;
    counts.set(imported.state, (counts.get(imported.state) ?? 0) + 1);
    const line = flags.json ? '' : lineOf(imported);
    if (line !== '' || flags.json) progress.clear();
    if (flags.json) await io.out.json(`${JSON.stringify(imported)}\n`);
    else await (imported.state === 'failed' ? io.err : io.out).write(line);
  }
  progress.clear();
  if (!flags.json) await io.out.write(summary(counts));
  // Whoever started a share counts what failed; an exit code of its own says that the share did.
  return counts.has('failed') && !flags.share ? 1 : 0;
}

function lineOf({ state, agent, path, run_id, replaced, why }: Imported): string {
  if (state === 'failed') return `error: ${forTerminal(why ?? path)}\n`;
  if (state !== 'imported') return '';
  const instead = replaced.length === 0 ? '' : ` (instead of ${replaced.join(', ')})`;
  return `${run_id}  ${agent.padEnd(8)} ${forTerminal(path)}${instead}\n`;
}

const WORDS: Record<Imported['state'], string> = {
  imported: 'imported',
  known: 'imported before',
  recorded: 'recorded by tacho itself',
  shared: 'with nothing of their own',
  older: 'replaced by a later state',
  deleted: 'deleted before',
  empty: 'empty',
  failed: 'failed',
};

function summary(counts: ReadonlyMap<Imported['state'], number>): string {
  if (counts.size === 0) return 'No sessions found.\n';
  const parts = Object.entries(WORDS)
    .map(([state, words]) => [counts.get(state as Imported['state']), words])
    .filter(([count]) => count !== undefined);
  return `${parts.map(([count, words]) => `${count} ${words}`).join(', ')}.\n`;
}
