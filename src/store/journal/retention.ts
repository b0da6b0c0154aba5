/** Chooses runs to remove, by applying policies to the list of runs. Pure. */
import { sep } from 'node:path';
import type { WeighedRun } from '../index/runs-table.ts';

/** All conditions of a policy apply to the runs it covers. A run is removed if any policy selects it. */
export interface RetentionPolicy {
  name: string;
  /** The runs it covers. Null: runs of any agent. */
  agent: string | null;
  /** `ok`, `failed` or an exit reason. */
  status: string | null;
  /** Absolute path: runs of this project and of folders in it. */
  project: string | null;
  /** A null value accepts any value. */
  labels: Readonly<Record<string, string | null>>;
  /** The limit above which a run is removed. Null: no limit. */
  age_ms_max: number | null;
  runs_max: number | null;
  bytes_max: number | null;
  /** Runs that this policy neither removes nor counts. */
  keep_failed: boolean;
  keep_successful: boolean;
  /** Whether removed runs are kept in a compressed archive. */
  archive: boolean;
}

export interface Leaving {
  run: Pick<WeighedRun, 'run_id' | 'agent' | 'exit_reason'>;
  bytes: number;
  /** The policy's name, and the limit that applied. */
  why: string;
  archive: boolean;
}

/**
 * `runs`: newest first; requested once per policy and read row by row, so that only the selected runs are in memory.
 * A run selected by several policies is archived if one of them says so.
 */
export function planRemoval(
  runs: () => Iterable<WeighedRun>,
  policies: readonly RetentionPolicy[],
  now_ms: number,
): Leaving[] {
  const leaving = new Map<string, Leaving>();
  for (const policy of policies) {
    let count = 0;
    let bytes = 0;
    for (const run of runs()) {
      if (!isFor(policy, run)) continue;
      count += 1;
      bytes += run.bytes;
      const why = overWhich(policy, { age_ms: ageOf(run, now_ms), count, bytes });
      if (why === null) continue;
      const { run_id, agent, exit_reason } = run;
      const before = leaving.get(run_id);
      leaving.set(run_id, {
        run: { run_id, agent, exit_reason },
        bytes: run.bytes,
        why: before?.why ?? `${policy.name}: ${why}`,
        archive: policy.archive || (before?.archive ?? false),
      });
    }
  }
  return [...leaving.values()];
}

function isFor(policy: RetentionPolicy, run: WeighedRun): boolean {
  if (run.success ? policy.keep_successful : policy.keep_failed) return false;
  if (policy.agent !== null && policy.agent !== run.agent) return false;
  if (policy.status !== null && !hasStatus(run, policy.status)) return false;
  if (policy.project !== null && !isWithin(policy.project, run.project)) return false;
  return Object.entries(policy.labels).every(([name, value]) =>
    value === null ? Object.hasOwn(run.labels, name) : run.labels[name] === value,
  );
}

function isWithin(folder: string, path: string | null): boolean {
  return path === folder || path?.startsWith(folder.endsWith(sep) ? folder : folder + sep) === true;
}

function hasStatus({ success, exit_reason }: WeighedRun, status: string): boolean {
  if (status === 'ok' || status === 'failed') return success === (status === 'ok');
  return exit_reason === status;
}

/** A run without known times has no age. */
function ageOf({ finished_ms, started_ms }: WeighedRun, now_ms: number): number | null {
  const at_ms = finished_ms ?? started_ms;
  return at_ms === null ? null : now_ms - at_ms;
}

function overWhich(
  { age_ms_max, runs_max, bytes_max }: RetentionPolicy,
  figures: { age_ms: number | null; count: number; bytes: number },
): string | null {
  const { age_ms, count, bytes } = figures;
  if (age_ms_max !== null && age_ms !== null && age_ms > age_ms_max) return 'max_age';
  if (runs_max !== null && count > runs_max) return 'max_runs';
  if (bytes_max !== null && bytes > bytes_max) return 'max_size';
  return null;
}
