/** Paths of the live protocol in the state folder. */
import { join, resolve } from 'node:path';

export type LivePaths = ReturnType<typeof livePaths>;

export function livePaths(state_dir: string) {
  const root = resolve(state_dir);
  const dir = join(root, 'live');
  return {
    /** A state folder of its own: the collector's journal and index, apart from the runs'. */
    dir,
    socket: join(dir, 'collector.sock'),
    /** Messages that senders could not deliver yet. */
    outbox: join(root, 'outbox'),
    /** Messages that failed a rule, whole. */
    failing: join(dir, 'failing.jsonl'),
    /** The collector's counters, written again and again while it works. */
    board: join(dir, 'board.json'),
    /** Verdicts on the sampled messages. */
    review: join(dir, 'review.jsonl'),
  };
}
