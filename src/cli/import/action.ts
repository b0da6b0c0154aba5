/** Runs `tacho import`. */
import { text } from 'node:stream/consumers';
import { AGENT_IDS, allAgents } from '../../agents/registry.ts';
import { agentOf } from '../../app/config/agent-of.ts';
import { passingRedactor, patternsIn } from '../../app/config/redaction.ts';
import { importSessions } from '../../app/sessions/import.ts';
import { importInJobs, type ShareLine } from '../../app/sessions/import-jobs.ts';
import { findTargets, type Selection } from '../../app/sessions/import-targets.ts';
import type { ImportTarget } from '../../app/sessions/imported.ts';
import { HEAD_BYTES, looksLike } from '../../app/sessions/recognition.ts';
import { findStrays, straysText } from '../../app/sessions/strays.ts';
import { userPrivacy } from '../../app/watch/privacy.ts';
import { TachoError } from '../../lib/errors.ts';
import { headIn } from '../../lib/folders.ts';
import { jsonIn } from '../../lib/json.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import type { Memo } from '../../model/agent.ts';
import { redactFields } from '../../redact/gate.ts';
import { resolveStateDir } from '../../store/state-dir.ts';
import type { Io } from '../command.ts';
import { ProgressLine } from '../progress-line.ts';
import { sessionText } from '../session-line.ts';
import { sayTo } from '../state.ts';
import { Tally } from './report.ts';

export interface ImportFlags {
  session?: string;
  last?: true;
  all?: true;
  since?: number;
  force?: true;
  redact?: string[];
  json?: true;
  verbose?: true;
  jobs: number;
  /** Part of an import with several jobs: reads its targets from standard input. */
  share?: true;
}

const usage = (say: string) => new TachoError('usage', say, { stage: 'request' });

/** The targets of a share. */
async function sharedTargets(): Promise<ImportTarget[]> {
  const lines = (await text(process.stdin)).split('\n').filter((line) => line !== '');
  return Promise.all(
    lines.map(async (line) => {
      const { agent, path, by_name } = (jsonIn(line) ?? {}) as Partial<ShareLine>;
      if (typeof path !== 'string') throw usage('--share is only for tacho import --jobs');
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
  if (selection === undefined)
    throw usage('choose what to import: --last, --all, --session ID, or AGENT FILES');
  if (selections.length > 1) throw usage('give only one of --last, --all, --session ID and FILES');
  if (since_ms !== null && !('since_ms' in selection)) throw usage('--since needs --all or --last');
  return selection;
}

/** A file in place of the agent: suggests the agent that wrote it. */
async function checkNotFile(agent: string): Promise<void> {
  const head = AGENT_IDS.includes(agent) ? null : headIn(agent, Buffer.alloc(HEAD_BYTES));
  if (head === null) return;
  const found = (await looksLike(head)).find(({ from }) => from === 'session');
  throw usage(
    `name the agent that wrote the file: tacho import ${found?.agent ?? 'AGENT'} ${agent}`,
  );
}

/** Fields with tacho's own words and ids. */
const OWN_FIELDS = new Set(['state', 'agent', 'run_id', 'replaced']);

export async function importCommand(
  agent: string | null,
  files: readonly string[],
  flags: ImportFlags,
  io: Io,
): Promise<number> {
  if (agent !== null) await checkNotFile(agent);
  const memo: Memo = new Map();
  const targets = flags.share
    ? await sharedTargets()
    : await findTargets(agent, selectionOf(files, flags), { env: io.env, memo });
  const state_dir = resolveStateDir({ flag: io.state_flag, env: io.env });
  const { privacy, redact: own } = await userPrivacy(io.env);
  const { redact } = flags;
  const agents = [...new Set(targets.map(({ agent }) => agent))];
  const redactor = await passingRedactor(io.env, { state_dir: io.state_flag, redact, agents });
  const progress = new ProgressLine(io);
  const tally = new Tally();
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
    redact: [...(await patternsIn(process.cwd(), redact)), ...own],
    privacy,
    progress: ({ agent: { id }, path }: ImportTarget, bytes: number) =>
      progress.note(() => {
        const read = bytes < 1e6 ? '' : `, ${Math.floor(bytes / 1e6)} MB`;
        return `${done + 1} of ${targets.length}: ${id} ${redactor.name(path)}${read}`;
      }),
  };
  const several = flags.jobs > 1 && targets.length > 1 && !flags.share;
  const importing = several ? importInJobs : importSessions;
  for await (const given of importing(targets, options)) {
    const imported = redactFields(given, redactor, OWN_FIELDS);
    done += 1;
    tally.add(imported);
    if (flags.json) {
      progress.clear();
      await io.out.json(`${JSON.stringify(imported)}\n`);
    } else if (imported.state === 'failed') {
      progress.clear();
      await io.err.write(`error: ${forTerminal(imported.why ?? imported.path)}\n`);
    } else if (flags.verbose) {
      progress.clear();
      await io.out.write(sessionText(imported));
    }
  }
  progress.clear();
  if (!flags.json) await io.out.write(tally.text());
  if (flags.all) {
    const looked = agent === null ? await allAgents() : [await agentOf(agent)];
    const strays = await findStrays(looked, io.env);
    await io.err.write(straysText(strays, (path) => forTerminal(redactor.name(path))));
  }
  // The process that started a share counts failed sessions; an exit code of the share means that the share itself failed.
  return tally.failed && !flags.share ? 1 : 0;
}
