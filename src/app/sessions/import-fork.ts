/**
 * Forked sessions: the new file begins with a copy of the old one's records, including times. Only the part after the
 * copy is the fork's own; the copy is counted with the session that was imported first.
 */
import type { Event } from '../../model/event.ts';
import type { Gate } from '../../redact/gate.ts';
import type { Index } from '../../store/index/index-db.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { journalledEvents } from '../runs/replay.ts';
import { type ReadOptions, runEvents } from './import-source.ts';
import type { SessionSource } from './session-source.ts';

/** Messages and calls. The rest may differ by the session's id. */
const COMPARED = new Set<Event['kind']>(['message_finished', 'call_requested', 'call_finished']);

const wordsOf = ({ kind, at_ms, data }: Event) => JSON.stringify([kind, at_ms, data]);

async function* comparedOf(source: SessionSource, gate: Gate, since_ms: number | null) {
  const options: ReadOptions = { run_id: '', config: null, gate, since_ms };
  for await (const events of runEvents(source, options)) {
    for (const event of events) {
      if (COMPARED.has(event.kind)) yield gate.event(event);
    }
  }
}

async function nextCompared(events: AsyncGenerator<Event>): Promise<Event | null> {
  for (;;) {
    const { value, done } = await events.next();
    if (done) return null;
    if (COMPARED.has(value.kind)) return value;
  }
}

/**
 * Where `source` diverges after a beginning shared with the recorded run: the time of its first own event. `all` if
 * it has none; null if nothing is shared.
 */
export async function ownPart(
  source: SessionSource,
  since_ms: number | null,
  other: { state: StateDir; index?: Index; run_id: string; gate: Gate },
): Promise<number | 'all' | null> {
  const own = comparedOf(source, other.gate, since_ms);
  const theirs = journalledEvents(other.state, other.run_id, other.index);
  let shared = 0;
  try {
    for (;;) {
      const [mine, other_one] = [await nextCompared(own), await nextCompared(theirs)];
      if (mine === null) return 'all';
      if (other_one === null || wordsOf(mine) !== wordsOf(other_one))
        return shared === 0 ? null : mine.at_ms;
      shared += 1;
    }
  } finally {
    await own.return(undefined);
    await theirs.return(undefined);
  }
}
