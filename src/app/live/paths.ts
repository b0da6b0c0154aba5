/** What the live protocol keeps in the state folder. */
import { join, resolve } from 'node:path';

export interface LivePaths {
  /** A state folder of its own: the collector's journal and index, apart from the runs'. */
  dir: string;
  socket: string;
  /** What senders could not deliver yet. */
  outbox: string;
  /** Messages that failed a rule, whole. */
  failing: string;
  /** The collector's counters, written again and again while it works. */
  board: string;
  /** What people said of the sampled messages. */
  review: string;
}

export function livePaths(state_dir: string): LivePaths {
  const root = resolve(state_dir);
  const dir = join(root, 'live');
  return {
    dir,
    socket: join(dir, 'collector.sock'),
    outbox: join(root, 'outbox'),
    failing: join(dir, 'failing.jsonl'),
    board: join(dir, 'board.json'),
    review: join(dir, 'review.jsonl'),
  };
}
