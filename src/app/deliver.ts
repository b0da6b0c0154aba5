/** What a killed or cut-off sender left in the outbox is delivered by the next tacho (LP-8). */

import { listOutboxes, type Outbox, takeOutbox } from '../store/outbox.ts';
import { livePaths } from './live-paths.ts';
import type { Undelivered } from './live-sender.ts';

export interface Delivered {
  session_id: string;
  messages: number;
}

export interface Delivering {
  /** Everything that could be delivered is, or nothing more is tried. */
  done: Promise<{ delivered: Delivered[]; left: Undelivered[] }>;
  /** Waits at most so long, then gives up until the next time. */
  finish(wait_ms: number): Promise<{ delivered: Delivered[]; left: Undelivered[] }>;
}

/**
 * Begins at once and in the background. Contract: never throws and never rejects; one collector that is away keeps no
 * other from its messages.
 */
export function deliver(state_dir: string, options: { except?: string } = {}): Delivering {
  const stop = new AbortController();
  const done = deliverAll(state_dir, stop.signal, options.except).catch(() => ({
    delivered: [],
    left: [],
  }));
  return {
    done,
    async finish(wait_ms) {
      const timer = setTimeout(() => stop.abort(), wait_ms);
      try {
        return await done;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

async function deliverAll(state_dir: string, signal: AbortSignal, except: string | undefined) {
  const delivered: Delivered[] = [];
  const left: Undelivered[] = [];
  const taken = listOutboxes(livePaths(state_dir).outbox)
    .map((path) => takeOutbox(path))
    .filter((outbox) => outbox !== null)
    .filter((outbox) => wanted(outbox, except));
  // By collector, so that one that is away holds up its own only; a pipe takes one connection at a time.
  const groups = Map.groupBy(taken, ({ target }) => JSON.stringify(target));
  await Promise.all(
    [...groups.values()].map(async (group) => {
      for (const outbox of group) {
        if (signal.aborted) outbox.close();
        else await deliverOne(outbox, signal, { delivered, left });
      }
    }),
  );
  return { delivered, left };
}

/** Those with nothing to do are given back at once. */
function wanted(outbox: Outbox, except: string | undefined): boolean {
  const nothing = outbox.acked >= outbox.last_seq && !outbox.ended;
  if (!nothing && outbox.session_id !== except) return true;
  outbox.close();
  return false;
}

/** A connection for each: a handshake resumes one session. */
async function deliverOne(
  outbox: Outbox,
  signal: AbortSignal,
  into: { delivered: Delivered[]; left: Undelivered[] },
): Promise<void> {
  const { session_id, target, first_seq, last_seq } = outbox;
  const { openLive } = await import('./live-sender.ts');
  try {
    const live = openLive({ ...target, outbox: '' });
    live.adopt(outbox);
    await Promise.race([live.settled(2 ** 31 - 1), aborted(signal)]);
    const left = await live.close();
    if (left.length === 0) into.delivered.push({ session_id, messages: last_seq - first_seq + 1 });
    into.left.push(...left);
  } catch {
    // A target that cannot even be parsed, or a token that is gone: the next may know better.
    outbox.close();
    into.left.push({ session_id, messages: last_seq - outbox.acked, refused: null, path: null });
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
