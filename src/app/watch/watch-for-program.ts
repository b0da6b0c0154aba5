/** `tacho watch` for programs. */
import { aFunction, aSignal, checkOptions } from '../../lib/schema/options.ts';
import * as is from '../../lib/schema/read.ts';
import { hasState, openStateDir, resolveStateDir } from '../../store/state-dir.ts';
import type { LiveRunOptions } from '../live/destination.ts';
import type { Imported } from '../sessions/imported.ts';
import { watchStatus as statusOf, type WatchStatus } from './health.ts';
import type { Stated } from './run-states.ts';

/** The collector that gets what is followed. */
export type WatchLiveOptions = Pick<LiveRunOptions, 'url' | 'tokenFile' | 'ca' | 'insecure'>;

/** Options of `watch`. Settings of the user's own `tacho.yaml` apply as well. */
export interface WatchOptions {
  /** State folder. Default: `$TACHO_HOME`, else `.tacho` here or above, else the user's store. */
  stateDir?: string | undefined;
  /** Ids of the agents to follow. Default: those of the settings, or all. */
  agents?: readonly string[] | undefined;
  /** Import what exists, and end. Default: false. */
  once?: boolean | undefined;
  /** Store counts, names, times and costs, but no texts. Default: as in the settings. */
  metadataOnly?: boolean | undefined;
  /** Patterns of secrets to redact, in addition to the known ones and those of the settings. */
  redact?: readonly string[] | undefined;
  /** The collector that gets the sessions that change from now on. Default: that of the settings, or none. */
  live?: WatchLiveOptions | undefined;
  /** Stops it. */
  signal?: AbortSignal | undefined;
  /** Receives each session that was looked at, and how many wait. */
  onSession?: ((session: Imported, left: number) => void) | undefined;
  /** Receives each run that got into another state, or was finished. */
  onState?: ((run: Stated) => void) | undefined;
  /** Called once all sessions that exist are imported. */
  onCaughtUp?: (() => void) | undefined;
  /** Receives problems, for people. */
  onNotice?: ((text: string) => void) | undefined;
}

/** Options of `watchStatus`. */
export interface WatchStatusOptions {
  /** State folder. Default: as for `watch`. */
  stateDir?: string | undefined;
}

type Table<O> = Readonly<Record<keyof O, is.Fields[string]>>;

const pathOrNull = is.orNull(is.anyText);

const LIVE_FIELDS = {
  url: is.required(is.text),
  tokenFile: pathOrNull,
  ca: pathOrNull,
  insecure: is.flag,
} as const satisfies Table<WatchLiveOptions>;

const WATCH_FIELDS = {
  stateDir: is.anyText,
  agents: is.texts,
  once: is.flag,
  metadataOnly: is.flag,
  redact: is.texts,
  live: is.mapOf(LIVE_FIELDS, { called: 'option' }),
  signal: aSignal,
  onSession: aFunction,
  onState: aFunction,
  onCaughtUp: aFunction,
  onNotice: aFunction,
} as const satisfies Table<WatchOptions>;

const STATUS_FIELDS = { stateDir: is.anyText } as const satisfies Table<WatchStatusOptions>;

const pathOf = ({ stateDir: flag }: WatchStatusOptions) =>
  resolveStateDir({ flag, env: process.env });

/**
 * Follows the sessions of agents and stores them as runs, until the signal. Resolves when it has stopped. Rejects with
 * the code `busy` if another watcher follows into the store.
 */
export async function watch(options: WatchOptions = {}): Promise<void> {
  checkOptions('watch', options, WATCH_FIELDS);
  const { agents = [], once = false, metadataOnly = false, redact = [], live = null } = options;
  const { signal = new AbortController().signal } = options;
  const { onSession, onState, onCaughtUp, onNotice } = options;
  const { watchSessions } = await import('./watch.ts');
  await watchSessions({
    state_dir: pathOf(options),
    env: process.env,
    ...{ agents, once, redact, live, signal },
    metadata_only: metadataOnly,
    took: (session, left) => onSession?.(session, left),
    stated: onState,
    caughtUp: () => onCaughtUp?.(),
    say: (text) => onNotice?.(text),
  });
}

/** Whether a watcher follows into the store, and its health. Reading creates nothing. */
export function watchStatus(options: WatchStatusOptions = {}): WatchStatus {
  checkOptions('watchStatus', options, STATUS_FIELDS);
  const path = pathOf(options);
  if (!hasState(path)) return { running: false, stalled: false, health: null };
  return statusOf(openStateDir(path));
}
