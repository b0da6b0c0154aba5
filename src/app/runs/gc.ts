/** Removes old runs by a policy: the limits that the caller gives, otherwise the policies of tacho.yaml. */
import { dirname } from 'node:path';
import { AGENT_IDS } from '../../agents/registry.ts';
import { projectOf } from '../../capture/source/project.ts';
import { TachoError } from '../../lib/errors.ts';
import type { KeptRun } from '../../store/journal/gc.ts';
import type { RetentionPolicy } from '../../store/journal/retention.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { userStatePath } from '../../store/user-state.ts';
import { type Config, findConfig, loadConfig } from '../config/config.ts';
import type { Consenting } from '../config/consent.ts';
import { policyOf } from '../config/retention.ts';
import { checkNames } from './query.ts';
import { collect } from './retention.ts';

/** Options of `gc`. Without any of the three limits, the policies of tacho.yaml apply. */
export interface GcOptions {
  /** Remove runs that are older than this many milliseconds. */
  maxAgeMs?: number | undefined;
  /** Keep this many runs, the newest. */
  maxRuns?: number | undefined;
  /** Keep the newest runs that fit into this many bytes. */
  maxSizeBytes?: number | undefined;
  /** Remove only runs of this agent. Default: of all agents. */
  agent?: string | undefined;
  /** Remove only runs with this status: `ok`, `failed`, or an exit reason. Default: any. */
  status?: string | undefined;
  /** Remove only runs of this project: a folder in it, or its name. Default: of all projects. */
  project?: string | undefined;
  /** Remove only runs with these labels; null accepts every value. Default: any. */
  labels?: Readonly<Record<string, string | null>> | undefined;
  /** Neither remove nor count failed runs. Default: false. */
  keepFailed?: boolean | undefined;
  /** Neither remove nor count successful runs. Default: false. */
  keepSuccessful?: boolean | undefined;
  /** Keep a compressed copy of the removed runs. Default: true. */
  archive?: boolean | undefined;
  /** Remove nothing, and return what would be removed. Default: false. */
  dryRun?: boolean | undefined;
  /** Take the store's lock from a process that holds it. Default: false. */
  force?: boolean | undefined;
  /** Agree to the policies of tacho.yaml. Default: the consent given by `tacho trust`. */
  trust?: boolean | undefined;
}

/** A run that `gc` removed, or would remove. */
export interface CollectedRun {
  /** Id of the run. */
  run_id: string;
  /** Id of its agent. */
  agent: string;
  /** Bytes of the run in the store. */
  bytes: number;
  /** The policy's name, and the limit that applied. */
  why: string;
  /** Whether an archive has a copy. */
  archive: boolean;
}

/** The result of `gc`. */
export interface Collected {
  /** Whether nothing was removed because of `dryRun`. */
  dry_run: boolean;
  /** Size of `runs` together. */
  bytes: number;
  /** The runs that were removed, or would be. */
  runs: CollectedRun[];
  /** Runs that were not removed because they cannot be archived. */
  kept: KeptRun[];
  /** Path of the archive; null if nothing was archived. */
  archive: string | null;
}

const LIMITS = '--max-age, --max-runs or --max-size';
const usage = (text: string) => new TachoError('usage', text, { stage: 'gc' });

/** `options.project` is a path. In the result, `leaving` lacks the runs that had to be kept; `done` is null on a dry run. */
export async function collectByPolicy(
  state: StateDir,
  options: GcOptions,
  consenting: Consenting,
): ReturnType<typeof collect> {
  checkNames(options);
  const policies = await policiesOf(state, options, consenting);
  const { dryRun: dry_run = false, force } = options;
  return collect(state, policies, { now_ms: Date.now(), dry_run, force, say: consenting.say });
}

export function collectedOf({ leaving, done }: Awaited<ReturnType<typeof collect>>): Collected {
  return {
    dry_run: done === null,
    bytes: leaving.reduce((sum, { bytes }) => sum + bytes, 0),
    runs: leaving.map(({ run: { run_id, agent }, ...rest }) => ({ run_id, agent, ...rest })),
    kept: done?.kept ?? [],
    archive: done?.archive ?? null,
  };
}

async function policiesOf(
  state: StateDir,
  options: GcOptions,
  consenting: Consenting,
): Promise<RetentionPolicy[]> {
  const given = policyOf(
    {
      agent: options.agent,
      status: options.status,
      project: options.project ?? null,
      label: options.labels,
      max_age: options.maxAgeMs,
      max_runs: options.maxRuns,
      max_size: options.maxSizeBytes,
      keep_failed: options.keepFailed,
      keep_successful: options.keepSuccessful,
      archive: options.archive,
    },
    'limits',
  );
  if (given !== null) return [given];
  const { agent, status, project, labels, keepFailed, keepSuccessful, archive = true } = options;
  const chosen = agent ?? status ?? project ?? labels ?? keepFailed ?? keepSuccessful;
  if (chosen !== undefined || !archive)
    throw usage(`without a limit nothing is removed: add ${LIMITS}`);
  const path = findConfig(process.cwd(), consenting.say);
  const config = path === null ? null : await loadConfig(path, AGENT_IDS);
  if (config !== null && config.retention.length > 0) {
    const { configAsking, needConsent, retentionEffects } = await import('../config/consent.ts');
    needConsent(configAsking(config, retentionEffects(config)), consenting);
    return policiesIn(config, state);
  }
  throw usage(`no policy: give ${LIMITS}, or add retention: to tacho.yaml`);
}

/** In the user's store, the policies of a project apply only to the runs of that project. */
function policiesIn({ path, retention }: Config, state: StateDir): RetentionPolicy[] {
  if (state.path !== userStatePath(process.env)) return [...retention];
  const project = projectOf(dirname(path)).path;
  return retention.map((policy) => ({ ...policy, project }));
}
