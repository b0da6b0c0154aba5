/** The peer's clock beside ours (LP-17): reported and counted, never corrected. */
import { isoTime } from '../../lib/iso-time.ts';
import type { WireMessage } from '../protocol/messages.ts';
import type { Connection } from './hub.ts';

/** Measurements that must agree before a clock counts as behind. */
const MEASUREMENTS = 3;

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
  const { hub, skews_ms, wire, opened_ms } = connection;
  const measured = (isoTime(message.timestamp) as number) - hub.options.clock.now();
  skews_ms.push(measured);
  if (skews_ms.length > MEASUREMENTS) skews_ms.shift();
  const skew_ms = Math.max(...skews_ms);
  if (skew_ms >= 0 || skews_ms.length >= MEASUREMENTS) return skew_ms;
  // It cannot have been under way for longer than there is a connection.
  const way_ms = wire.waited_ms + hub.elapsed() - opened_ms;
  return -skew_ms > way_ms + hub.limits.skew_ms_max ? skew_ms : null;
}
