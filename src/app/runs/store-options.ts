/** Options of the store's methods that change it or sum it up, by name and type. */
import { aSignal } from '../../lib/schema/options.ts';
import * as is from '../../lib/schema/read.ts';
import type { GcOptions } from './gc.ts';
import { FILTER_FIELDS, type RunFilter } from './query.ts';

type Table<O> = Readonly<Record<keyof O, is.Fields[string]>>;

/** Options of `reindex` and `remove`. */
export interface LockOptions {
  /** Take the store's lock from a process that holds it. Default: false. */
  force?: boolean | undefined;
}

/** Options of `restore`. */
export interface RestoreOptions extends LockOptions {
  /** Restore only these runs, by id or its beginning. Default: all runs of the archive. */
  runs?: readonly string[] | undefined;
  /** Do not limit the unpacked size. Default: false. */
  anySize?: boolean | undefined;
}

/** Options of `recover`. */
export interface RecoverOptions {
  /** Id, or its beginning, of the only run to recover. Default: all unfinished runs. */
  run?: string | undefined;
  /** Wait for agents that are still running. Default: true. */
  wait?: boolean | undefined;
  /** Take a run over from another recovery. Default: false. */
  force?: boolean | undefined;
  /** Act on a store that another user made. Default: the consent given by `tacho trust`. */
  trust?: boolean | undefined;
  /** Stops waiting for agents when it is aborted. */
  signal?: AbortSignal | undefined;
}

/** Options of `stats`. */
export interface StatsOptions extends RunFilter {
  /** Number of local days to list, the newest. Default: 14. */
  days?: number | undefined;
  /** Also sum up by model or project. Default: neither. */
  by?: readonly ('model' | 'project')[] | undefined;
}

const LOCK_FIELDS = { force: is.flag } as const satisfies Table<LockOptions>;

/** By the name of the method. */
export const METHOD_FIELDS = {
  remove: LOCK_FIELDS,
  reindex: LOCK_FIELDS,
  restore: {
    ...LOCK_FIELDS,
    runs: is.filled(is.texts),
    anySize: is.flag,
  } as const satisfies Table<RestoreOptions>,
  recover: {
    run: is.text,
    wait: is.flag,
    force: is.flag,
    trust: is.flag,
    signal: aSignal,
  } as const satisfies Table<RecoverOptions>,
  stats: {
    ...FILTER_FIELDS,
    days: is.whole(1),
    by: is.listOf(is.oneOf(['model', 'project'])),
  } as const satisfies Table<StatsOptions>,
  gc: {
    maxAgeMs: is.figure(0),
    maxRuns: is.whole(0),
    maxSizeBytes: is.whole(0),
    agent: is.text,
    status: is.text,
    project: is.text,
    labels: is.named(is.orNull(is.anyText)),
    keepFailed: is.flag,
    keepSuccessful: is.flag,
    archive: is.flag,
    dryRun: is.flag,
    force: is.flag,
    trust: is.flag,
  } as const satisfies Table<GcOptions>,
} as const;
