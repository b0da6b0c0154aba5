/** The checks of `tacho doctor`: whether runs can be recorded here, and what to do if not. */
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statfsSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { lookUpProgram } from '../../capture/source/find-program.ts';
import { fileError, orElsewhere, TachoError } from '../../lib/errors.ts';
import { bytesText, plural } from '../../lib/figures.ts';
import { localTime } from '../../lib/local-time.ts';
import { compareVersions } from '../../lib/versions.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { listOutboxes, takeOutbox } from '../../store/outbox/outbox.ts';
import { isRecorded, listSpools } from '../../store/spool/spool.ts';
import {
  hasState,
  openStateDir,
  type StateDir,
  type StatePlace,
  stateDirAt,
} from '../../store/state-dir.ts';
import { isOwnState } from '../../store/state-mark.ts';
import { foreignState, NOT_RECOVERED } from '../config/own-state.ts';
import { livePaths } from '../live/paths.ts';
import { PRICE_LIST } from '../prices/price-list.ts';
import { userPrices } from '../prices/price-runs.ts';
import { retentionFindings } from '../watch/retention-findings.ts';
import type { AgentRetention } from '../watch/retention-report.ts';
import { watchFindings } from '../watch/watch-findings.ts';
import { type AgentReport, agentReports } from './agents.ts';

/** The result of one check. */
export interface Finding {
  /** Subject of the check: `node`, `state folder`, `disk`, `git`, `agent ID` and others. */
  name: string;
  /** False: runs cannot be recorded. Null: they can, but something is missing. */
  ok: boolean | null;
  /** The fact that was found, and what to do about a problem. */
  detail: string;
  /** Facts of the finding `retention ID`: the agent's own rule for old sessions. */
  retention?: AgentRetention;
}

const DISK_LEAST_BYTES = 100 * 1024 * 1024;
const CLOCK_MOST_MS = 60_000;

export async function examine(place: StatePlace, env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const findings: Finding[] = [{ name: 'node', ok: true, detail: process.versions.node }];
  const state = openState(place, findings);
  if (state !== null) {
    findings.push(writing(state), disk(state), clock(state), index(state));
    findings.push(await spool(state), ...live(state));
  }
  findings.push(processes(), git(env), ...(await agents(env)));
  findings.push(await prices(env));
  findings.push(...(await retentionFindings(state, env)));
  findings.push(...(await watchFindings(state, env)));
  return findings;
}

/** The list of prices for costs that agents do not report. */
async function prices(env: NodeJS.ProcessEnv): Promise<Finding> {
  const name = 'prices';
  const { name: list, version, date } = PRICE_LIST;
  try {
    const { own } = await userPrices(env);
    const mine = own.length === 0 ? '' : `, and ${plural(own.length, 'price')} of your own`;
    return { name, ok: true, detail: `${list} ${version} of ${date}${mine}` };
  } catch (error) {
    const why = (error as Error).message;
    return { name, ok: null, detail: `${why}; until then, no costs are computed` };
  }
}

/** Why this state folder is used. */
const REASONS: Readonly<Record<StatePlace['source'], string>> = {
  flag: '--state-dir',
  environment: 'TACHO_HOME',
  project: 'the nearest .tacho folder, here or above',
  user: 'your own store; tacho init creates one for this folder',
};

/** A missing folder is not created. */
function openState({ path, source }: StatePlace, findings: Finding[]): StateDir | null {
  const found = (ok: Finding['ok'], detail: string) =>
    findings.push({ name: 'state folder', ok, detail });
  const place = `${path} (${REASONS[source]})`;
  try {
    if (!hasState(path)) {
      accessSync(existingParent(path), constants.W_OK | constants.X_OK);
      found(true, `${place}: the first run creates it`);
      return null;
    }
    const state = openStateDir(path);
    const own = isOwnState(state.path);
    const foreign = foreignState(state.path, `${NOT_RECOVERED}, and nothing of it is sent`);
    found(own || null, own ? place : `${foreign} (${REASONS[source]})`);
    return state;
  } catch (error) {
    found(false, orElsewhere(fileError(error, path, 'state').message));
    return null;
  }
}

function existingParent(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existingParent(dirname(path));
}

/** Writes, reads and removes a file in the journal folder. */
function writing({ journal }: StateDir): Finding {
  const path = join(journal, `doctor-${process.pid}`);
  try {
    writeFileSync(path, 'x', { mode: 0o600, flag: 'wx' });
    const same = readFileSync(path, 'utf8') === 'x';
    unlinkSync(path);
    const detail = same ? 'files can be written and read' : `${path} came back changed`;
    return { name: 'writing', ok: same, detail };
  } catch (error) {
    return { name: 'writing', ok: false, detail: `${journal}: ${(error as Error).message}` };
  }
}

function disk({ path }: StateDir): Finding {
  const { bavail, bsize } = statfsSync(path);
  const free = bavail * bsize;
  const detail = `${(free / 1e9).toFixed(1)} GB free`;
  return { name: 'disk', ok: free < DISK_LEAST_BYTES ? null : true, detail };
}

/** The file system's clock compared with ours: a shared folder may use another machine's. */
function clock({ journal }: StateDir): Finding {
  const path = join(journal, `doctor-clock-${process.pid}`);
  try {
    writeFileSync(path, '', { mode: 0o600, flag: 'wx' });
    const apart = Math.abs(statSync(path).mtimeMs - Date.now());
    unlinkSync(path);
    const near = apart < CLOCK_MOST_MS;
    const detail = near
      ? (localTime(Date.now()) ?? '')
      : `files are stamped ${Math.round(apart / 1000)} s off this clock`;
    return { name: 'clock', ok: near ? true : null, detail };
  } catch (error) {
    return { name: 'clock', ok: null, detail: (error as Error).message };
  }
}

function index(state: StateDir): Finding {
  try {
    using opened = openIndex(state);
    const { runs } = opened.stats();
    const moved = opened.moved_to;
    if (moved === null) return { name: 'index', ok: true, detail: plural(runs, 'run') };
    const detail = `was damaged and moved to ${moved}: run tacho runs reindex`;
    return { name: 'index', ok: null, detail };
  } catch (error) {
    if (!(error instanceof TachoError)) throw error;
    return { name: 'index', ok: false, detail: error.message };
  }
}

async function spool(state: StateDir): Promise<Finding> {
  const spools = listSpools(state).filter((one) => !isRecorded(one));
  if (spools.length === 0) return { name: 'unfinished', ok: true, detail: 'no unfinished runs' };
  const { readSpoolMeta } = await import('../run/spool-meta.ts');
  const faults: string[] = [];
  for (const one of spools) {
    const read = await readSpoolMeta(one);
    if ('fault' in read && read.fault !== null) faults.push(read.fault);
  }
  const detail = `${plural(spools.length, 'run')} running or unfinished; finish with: tacho runs recover`;
  return { name: 'unfinished', ok: null, detail: [detail, ...faults.slice(0, 5)].join('; ') };
}

/** Only if there is anything to report. */
function live({ path }: StateDir): Finding[] {
  const paths = livePaths(path);
  const waiting = waitingIn(paths.outbox);
  const bytes = bytesOf(stateDirAt(paths.dir).journal);
  const refused = filesIn(paths.outbox).filter((name) => name.endsWith('.refused')).length;
  const sent = `${plural(waiting, 'session')} waiting for a collector; the next tacho run, emit or serve sends them`;
  const kept = `${plural(refused, 'session')} refused by a collector: *.refused in ${paths.outbox}; remove the files to discard them`;
  return [
    ...(waiting > 0 ? [{ name: 'outbox', ok: null, detail: sent }] : []),
    ...(refused > 0 ? [{ name: 'refused', ok: null, detail: kept }] : []),
    ...(bytes > 0 ? [{ name: 'collected', ok: true, detail: bytesText(bytes) }] : []),
  ];
}

const filesIn = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);

const bytesOf = (folder: string) =>
  filesIn(folder).reduce(
    (sum, name) => sum + (lstatSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );

/** Fully delivered open sessions wait for nothing. */
function waitingIn(folder: string): number {
  let count = 0;
  for (const path of listOutboxes(folder)) {
    const outbox = takeOutbox(path);
    if (outbox === null || outbox.acked < outbox.last_seq) count += 1;
    outbox?.close();
  }
  return count;
}

function processes(): Finding {
  const there = statSync('/proc/self/stat', { throwIfNoEntry: false }) !== undefined;
  const detail = there
    ? 'tacho can see all processes of an agent'
    : "no /proc: daemons that leave the agent's session are not found";
  return { name: 'processes', ok: there ? true : null, detail };
}

function git(env: NodeJS.ProcessEnv): Finding {
  const found = lookUpProgram('git', env.PATH, process.cwd());
  if (found.state === 'found') return { name: 'git', ok: true, detail: found.path };
  const detail = 'not installed: files changed outside of tool calls are not detected';
  return { name: 'git', ok: null, detail };
}

async function agents(env: NodeJS.ProcessEnv): Promise<Finding[]> {
  return (await agentReports(undefined, env)).map((report) => {
    const name = `agent ${report.id}`;
    if (!report.installed) return { name, ok: null, detail: `not installed: ${report.install}` };
    const note = versionNote(report);
    // A program without a version may not run at all.
    const ok = report.version !== null && note === '' ? true : null;
    return { name, ok, detail: `version ${report.version ?? 'unknown'}${note}` };
  });
}

/** A remark on a version that the adapter was not checked against; '' if there is none. */
function versionNote(report: AgentReport): string {
  const { built_in, version, version_checked, checked_versions, rehearsed } = report;
  const [newest] = rehearsed;
  if (!built_in && version !== null && newest && compareVersions(version, newest.version) > 0)
    return `, newer than the rehearsed ${newest.version} (${newest.date}): compare a recording with tacho drift`;
  return version_checked === false ? `, checked versions: ${checked_versions.join(', ')}` : '';
}
