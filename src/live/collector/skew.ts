/** Difference between the peer's clock and ours (LP-17): reported and counted, never corrected. */
import { isoTime } from '../../lib/iso-time.ts';
import type { WireMessage } from '../protocol/messages.ts';
import type { Connection } from './hub.ts';

/** Measurements that must agree before a clock counts as behind. */
const MEASUREMENTS = 3;
/** Messages closer together may share a delay, such as a busy machine: they are one measurement. */
const APART_MS = 1_000;
/** A connection and its first messages may have waited in the system for this time before they were accepted. */
const UNTAKEN_MS_MAX = 1_000;

/**
 * Transmission makes the sender's clock look behind, never ahead: the largest of the latest differences is the most
 * accurate. Reported again only when it has changed by more than the limit.
 */
export function compareClocks(connection: Connection, message: WireMessage): void {
  const { hub } = connection;
  const { skew_ms_max } = hub.limits;
  const skew_ms = skewOf(connection, message);
  if (skew_ms === null || Math.abs(skew_ms) <= skew_ms_max) return;
  hub.counters.skewed += 1;
  const reported_ms = connection.skew_reported_ms;
  if (reported_ms !== null && Math.abs(reported_ms - skew_ms) <= skew_ms_max) return;
  connection.skew_reported_ms = skew_ms;
  const side = skew_ms > 0 ? 'ahead of' : 'behind';
  const why = `the sender's clock is ${Math.abs(skew_ms)} ms ${side} the collector's`;
  const measured = { clock_skew_ms: skew_ms, max_skew_ms: skew_ms_max };
  const details = { field: 'timestamp', reason: 'clock_skew', ...measured };
  connection.complain('INVALID_MESSAGE_FORMAT', why, {
    about: message,
    severity: 'warning',
    details,
  });
}

/** Null while transmission delays may explain the difference. */
function skewOf(connection: Connection, message: WireMessage): number | null {
  const { hub, wire, opened_ms } = connection;
  const elapsed_ms = hub.elapsed();
  const measured = (isoTime(message.timestamp) as number) - hub.options.clock.now();
  const skews_ms = withMeasured(connection, measured, elapsed_ms);
  const skew_ms = Math.max(...skews_ms);
  if (skew_ms >= 0 || skews_ms.length >= MEASUREMENTS) return skew_ms;
  // The delay cannot be longer than the connection has existed.
  const delay_ms = wire.waited_ms + elapsed_ms - opened_ms;
  return -skew_ms > delay_ms + UNTAKEN_MS_MAX ? skew_ms : null;
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
