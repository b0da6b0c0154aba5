/** Truncates the long texts of an event that is too large for a journal entry, and marks each with its length. */

import type { Event } from '../../model/event.ts';
import { STORE_LIMITS } from '../../store/limits.ts';
import { APP_LIMITS } from '../limits.ts';

/** Texts of a list or names of a map beyond these are dropped. */
const ITEMS_MAX = 256;

export interface Fitted {
  event: Event;
  body: string;
  cut: boolean;
}

/** Returns the event itself if it fits. `body` is its JSON. */
export function fitEvent(event: Event, body: string): Fitted {
  const small = body.length * 3 <= STORE_LIMITS.entry_bytes_max;
  if (small || Buffer.byteLength(body) <= STORE_LIMITS.entry_bytes_max)
    return { event, body, cut: false };
  const data = cutValue(event.data) as Event['data'];
  const fitted = { ...event, data } as Event;
  return { event: fitted, body: JSON.stringify(fitted), cut: true };
}

function cutValue(value: unknown): unknown {
  if (typeof value === 'string') return cutText(value);
  if (Array.isArray(value)) return value.slice(0, ITEMS_MAX).map(cutValue);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).slice(0, ITEMS_MAX);
  return Object.fromEntries(entries.map(([name, inner]) => [name, cutValue(inner)]));
}

function cutText(text: string): string {
  const kept = APP_LIMITS.cut_text_chars;
  if (text.length <= kept) return text;
  return `${text.slice(0, kept)}… [${text.length - kept} more characters were not recorded]`.toWellFormed();
}
