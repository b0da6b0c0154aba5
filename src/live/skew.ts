/** The peer's clock beside ours (LP-17): told and counted, never corrected. */
import { isoTime } from '../lib/iso-time.ts';
import { type Connection, complain, type Hub } from './hub.ts';
import type { WireMessage } from './messages.ts';

/** The way of the message is in the difference; said again only when it has changed by more than the limit. */
export function compareClocks(hub: Hub, connection: Connection, message: WireMessage): void {
  const { skew_ms_max } = hub.limits;
  const skew_ms = (isoTime(message.timestamp) as number) - hub.options.clock.now();
  if (Math.abs(skew_ms) <= skew_ms_max) return;
  hub.counters.skewed += 1;
  const told = connection.skew_told_ms;
  if (told !== null && Math.abs(told - skew_ms) <= skew_ms_max) return;
  connection.skew_told_ms = skew_ms;
  const side = skew_ms > 0 ? 'ahead of' : 'behind';
  complain(hub, connection, 'INVALID_MESSAGE_FORMAT', {
    message: `this clock is ${Math.abs(skew_ms)} ms ${side} the collector's`,
    about: message,
    severity: 'warning',
    details: {
      field: 'timestamp',
      reason: 'clock_skew',
      clock_skew_ms: skew_ms,
      max_skew_ms: skew_ms_max,
    },
  });
}
