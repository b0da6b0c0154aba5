/** Files of the live protocol in the state folder. */
import { join, resolve } from 'node:path';

export type LivePaths = ReturnType<typeof livePaths>;

export function livePaths(state_dir: string) {
  const root = resolve(state_dir);
  const dir = join(root, 'live');
  return {
    /** A separate state folder: the collector's journal and index, apart from those of runs. */
    dir,
    socket: join(dir, 'collector.sock'),
    /** Held by the running collector. */
    lock: join(dir, 'collector.lock'),
    /** Messages that senders could not deliver yet. */
    outbox: join(root, 'outbox'),
    /** Messages that failed a rule, in full. */
    failing: join(dir, 'failing.jsonl'),
    /** The collector's counters, rewritten while it works. */
    board: join(dir, 'board.json'),
    /** People's verdicts on the sampled messages. */
    review: join(dir, 'review.jsonl'),
  };
}
