/** The actions of `runs gc` and `runs restore`. */
import { AGENT_IDS } from '../../agents/registry.ts';
import { findConfig, loadConfig } from '../../app/config/config.ts';
import { policyOf } from '../../app/config/retention.ts';
import { collect } from '../../app/runs/retention.ts';
import { TachoError } from '../../lib/errors.ts';
import { bytesText, plural } from '../../lib/figures.ts';
import { isNamed } from '../../lib/ids.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import type { KeptRun } from '../../store/journal/gc.ts';
import type { Leaving, RetentionPolicy } from '../../store/journal/retention.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { actingOf } from '../acting.ts';
import type { Io } from '../command.ts';
import { checkNames, filterText, projectPath, type RunFilterFlags } from '../run-filter.ts';
import { sayTo } from '../state.ts';
import { writeGathered } from './gathered.ts';

export interface GcFlags
  extends Pick<RunFilterFlags, 'agent' | 'status' | 'project' | 'here' | 'label'> {
  /** Ms. */
  maxAge?: number;
  maxRuns?: number;
  /** Bytes. */
  maxSize?: number;
  keepFailed?: true;
  keepSuccessful?: true;
  archive: boolean;
  dryRun?: true;
  force?: true;
  json?: true;
  trust?: true;
}

export async function gcRuns(state: StateDir, flags: GcFlags, io: Io): Promise<number> {
  await checkNames(flags);
  const policies = await policiesOf(state, flags, io);
  const dry_run = flags.dryRun ?? false;
  const options = { now_ms: Date.now(), dry_run, force: flags.force, say: sayTo(io) };
  const { leaving, done } = await collect(state, policies, options);
  const bytes = leaving.reduce((sum, item) => sum + item.bytes, 0);
  const kept = done?.kept ?? [];
  if (kept.length > 0) await io.err.write(keptText(kept));
  const code = kept.length === 0 ? 0 : 1;
  if (flags.json) {
    await writeGathered(gcJson({ dry_run, bytes }, leaving, done), (text) => io.out.json(text));
    return code;
  }
  if (dry_run) await writeGathered(leaving.values().map(leavingText), (text) => io.out.write(text));
  const what = `${plural(leaving.length, 'run')}, ${bytesText(bytes)}`;
  if (done === null) await io.out.write(`${what} would be removed\n`);
  else if (leaving.length + kept.length === 0) await io.out.write('nothing to remove\n');
  else {
    const where = done.archive === null ? '' : `, archived in ${forTerminal(done.archive)}`;
    await io.out.write(`${what} removed${where}\n`);
  }
  return code;
}

/** One line of JSON, in chunks. */
function* gcJson(
  head: object,
  leaving: readonly Leaving[],
  done: object | null,
): Generator<string> {
  yield `${JSON.stringify(head).slice(0, -1)},"runs":[`;
  for (const [at, { run, ...rest }] of leaving.entries()) {
    const { run_id, agent } = run;
    yield `${at === 0 ? '' : ','}${JSON.stringify({ run_id, agent, ...rest })}`;
  }
  const end = done === null ? '{}' : JSON.stringify(done);
  yield `]${end === '{}' ? '' : ','}${end.slice(1)}\n`;
}

const KEPT_SHOWN = 20;

function keptText(kept: readonly KeptRun[]): string {
  const lines = kept
    .slice(0, KEPT_SHOWN)
    .map(({ run_id, why }) => `warning: ${run_id} was not removed: ${forTerminal(why)}\n`);
  const more = kept.length - lines.length;
  if (more > 0) lines.push(`warning: ${plural(more, 'more run')} not removed: see --json\n`);
  lines.push('note: these runs cannot be archived; --no-archive removes them without a copy\n');
  return lines.join('');
}

function leavingText({ run, bytes, why, archive }: Leaving): string {
  const end = archive ? ' (archived)' : '';
  return `${run.run_id}  ${run.agent.padEnd(8)} ${run.exit_reason.padEnd(17)} ${bytesText(bytes).padStart(9)}  ${forTerminal(why)}${end}\n`;
}

const LIMIT_FLAGS = '--max-age, --max-runs or --max-size';
const usage = (text: string) => new TachoError('usage', text, { stage: 'gc' });

/** Flags make their own policy, which takes precedence over those of tacho.yaml. */
async function policiesOf(state: StateDir, flags: GcFlags, io: Io): Promise<RetentionPolicy[]> {
  const fields = {
    agent: flags.agent,
    status: flags.status,
    project: await projectPath(state, flags),
    label: flags.label && Object.fromEntries(flags.label.map(({ name, value }) => [name, value])),
    max_age: flags.maxAge,
    max_runs: flags.maxRuns,
    max_size: flags.maxSize,
    keep_failed: flags.keepFailed,
    keep_successful: flags.keepSuccessful,
    archive: flags.archive,
  };
  const given = policyOf(fields, 'flags');
  if (given !== null) return [given];
  const alone = filterText(flags) || (flags.keepFailed ?? flags.keepSuccessful) || !flags.archive;
  if (alone) throw usage(`without a limit nothing is removed: add ${LIMIT_FLAGS}`);
  const consenting = actingOf(flags.trust, io);
  const path = findConfig(process.cwd(), consenting.say);
  const config = path === null ? null : await loadConfig(path, AGENT_IDS);
  if (config !== null && config.retention.length > 0) {
    const { configAsking, needConsent, retentionEffects } = await import(
      '../../app/config/consent.ts'
    );
    needConsent(configAsking(config, retentionEffects(config)), consenting);
    return config.retention;
  }
  throw usage(`no policy: give ${LIMIT_FLAGS}, or add retention: to tacho.yaml`);
}

export interface RestoreFlags {
  anySize?: true;
  force?: true;
}

export async function restoreRuns(
  state: StateDir,
  archive: string,
  { runs, anySize: any_size, force }: RestoreFlags & { runs: readonly string[] },
  io: Io,
): Promise<number> {
  const { restore } = await import('../../app/runs/restore.ts');
  const options = { runs, any_size, force, say: sayTo(io) };
  const { restored, known, replaced, left_out, damaged } = await restore(state, archive, options);
  const path = forTerminal(archive);
  for (const run_id of restored) await io.out.write(`${run_id} restored\n`);
  for (const run_id of known) await io.out.write(`${run_id} is already in the store\n`);
  for (const run_id of replaced)
    await io.out.write(`${run_id} is not kept: another run contains its session\n`);
  for (const { run_id, why } of left_out)
    await io.err.write(`error: ${forTerminal(run_id)}: not restored: ${forTerminal(why)}\n`);
  if (damaged > 0) await io.err.write(`warning: ${path}: ${plural(damaged, 'damaged line')}\n`);
  const unfit = left_out.map(({ run_id }) => run_id);
  const found = [...restored, ...known, ...replaced, ...unfit];
  const missing = runs.filter((name) => !found.some((run_id) => isNamed(run_id, name)));
  for (const name of missing)
    await io.err.write(`error: ${path} does not contain ${forTerminal(name)}\n`);
  return missing.length + left_out.length === 0 ? 0 : 1;
}
