/** Credits (LP-10): each message costs one, and new ones are granted while there is room. */
import { CONTROL_MESSAGE_TYPES, URGENT_TYPES } from '../../model/live-words.ts';
import type { Connection } from './hub.ts';

const FREE: ReadonlySet<unknown> = new Set([...CONTROL_MESSAGE_TYPES, ...URGENT_TYPES]);

/** A line costs a credit even when it is refused: its sender has spent one. */
export function spend(connection: Connection, type: unknown): void {
  if (!FREE.has(type)) connection.credits -= 1;
}

/**
 * Grants new credits when half are used up and there is room. The number replaces the peer's count, and the peer may
 * already have spent its remaining credits: only the difference is sent, so the peer never has more than we count.
 */
export function replenish(connection: Connection): void {
  const { hub } = connection;
  const { credits } = hub.limits;
  if (connection.phase !== 'open') return;
  if (connection.credits > credits / 2 || connection.pending > credits / 4) return;
  const left = Math.max(0, connection.credits);
  connection.credits = credits - connection.pending;
  connection.over_warned = false;
  const data = { available_credits: connection.credits - left, capacity: credits };
  connection.say(hub.messageOf('flow_control', data));
}

/** Whether the peer sends without credits. */
export function isOver(connection: Connection): boolean {
  const { hub, pending } = connection;
  if (connection.credits >= 0) return false;
  if (connection.over_warned) return true;
  connection.over_warned = true;
  hub.countLimit('credits');
  const why = 'no credits left: reading is paused until there is room';
  const capacity = { current_capacity: 0, max_capacity: hub.limits.credits };
  const details = { ...capacity, pending_messages: pending };
  connection.complain('CAPACITY_EXHAUSTED', why, { severity: 'warning', details });
  return true;
}
