/** At every start: what another tacho could not deliver goes out in the background, beside the work. */
import { existsSync } from 'node:fs';
import { LIMITS } from '../lib/limits.ts';
import { livePaths } from './live-paths.ts';

/** Returns what is called at the end; it waits a moment at most. Nothing is loaded where nothing is left. */
export function deliverLeft(state_dir: string, except?: string): () => Promise<void> {
  if (!existsSync(livePaths(state_dir).outbox)) return async () => {};
  const delivering = import('./deliver.ts').then(({ deliver }) =>
    deliver(state_dir, except === undefined ? {} : { except }),
  );
  delivering.catch(() => {});
  return async () => {
    await delivering.then((begun) => begun.finish(LIMITS.live_deliver_ms)).catch(() => {});
  };
}
