/** The peer's clock beside ours (LP-17): reported and counted, never corrected. */
import { isoTime } from '../../lib/iso-time.ts';
import type { WireMessage } from '../protocol/messages.ts';
import type { Connection } from './hub.ts';

/** Measurements that must agree before a clock counts as behind. */
const MEASUREMENTS = 3;
/** Messages that come sooner after another may have waited for the same thing, a busy machine: they are one measurement. */
const APART_MS = 1_000;
/** A connection may have waited as long in the system before it was taken, and its first messages with it. */
const UNTAKEN_MS_MAX = 1_000;

/**
 * A message's way makes its sender's clock look behind, never ahead: the largest of the last differences is the nearest to
 * the truth. Said again only when it has changed by more than the limit.
 */
export function compareClocks(connection: Connection, message: WireMessage): void {
  const { hub } = connection;
  const { skew_ms_max } = hub.limits;
  const skew_ms = skewOf(connection, message);
  if (skew_ms === null || Math.abs(skew_ms) <= skew_ms_max) return;
  hub.counters.skewed += 1;
  const told = connection.skew_told_ms;
  if (told !== null && Math.abs(told - skew_ms) <= skew_ms_max) return;
  connection.skew_told_ms = skew_ms;
  const side = skew_ms > 0 ? 'ahead of' : 'behind';
  const why = `this clock is ${Math.abs(skew_ms)} ms ${side} the collector's`;
  const measured = { clock_skew_ms: skew_ms, max_skew_ms: skew_ms_max };
  const details = { field: 'timestamp', reason: 'clock_skew', ...measured };
  connection.complain('INVALID_MESSAGE_FORMAT', why, {
    about: message,
    severity: 'warning',
    details,
  });
}

/** Null while the way of the messages may explain it. */
function skewOf(connection: Connection, message: WireMessage): number | null {
  const { hub, wire, opened_ms } = connection;
  const elapsed_ms = hub.elapsed();
  const measured = (isoTime(message.timestamp) as number) - hub.options.clock.now();
  const skews_ms = withMeasured(connection, measured, elapsed_ms);
  const skew_ms = Math.max(...skews_ms);
  if (skew_ms >= 0 || skews_ms.length >= MEASUREMENTS) return skew_ms;
  // It cannot have been under way for longer than there is a connection.
  const way_ms = wire.waited_ms + elapsed_ms - opened_ms;
  return -skew_ms > way_ms + UNTAKEN_MS_MAX ? skew_ms : null;
}

function withMeasured(connection: Connection, measured: number, elapsed_ms: number): number[] {
  const { skews_ms, skew_at_ms } = connection;
  const last = skews_ms.length - 1;
  if (last >= 0 && elapsed_ms - skew_at_ms < APART_MS) {
    skews_ms[last] = Math.max(skews_ms[last] as number, measured);
    return skews_ms;
  }
  connection.skew_at_ms = elapsed_ms;
  skews_ms.push(measured);
  if (skews_ms.length > MEASUREMENTS) skews_ms.shift();
  return skews_ms;
}
