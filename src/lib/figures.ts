/** Figures in readable form, consistent across all output. An unknown figure is printed as unknown, never as 0. */
import type { Usage } from '../model/parts.ts';
import type { CostSource } from '../model/words.ts';

/** `12ms`, `1.2s`, `1m 02s`, `1h 02m`. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`;
  const tenths = Math.round(ms / 100);
  if (tenths < 600) return `${(tenths / 10).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${twoDigits(seconds % 60)}s`;
  const minutes = Math.round(ms / 60_000);
  return `${Math.floor(minutes / 60)}h ${twoDigits(minutes % 60)}m`;
}

/** `999`, `1.2k`, `3.4M`, `5.6B`. */
export function countText(count: number): string {
  if (count < 1000) return String(count);
  if (count < 999_950) return `${(count / 1000).toFixed(1)}k`;
  if (count < 999_950_000) return `${(count / 1_000_000).toFixed(1)}M`;
  return `${(count / 1_000_000_000).toFixed(1)}B`;
}

/** `$0.0123`, `$12.30`. */
export function costText(usd: number): string {
  return `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}

/** A cost that tacho computed is marked: `~$0.0123`. */
export function sourcedCost(usd: number, source: CostSource): string {
  return `${source === 'computed' ? '~' : ''}${costText(usd)}`;
}

/** `999 B`, `1.2 kB`, `3.4 MB`. */
export function bytesText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  for (; value >= 999.95 && unit < units.length - 1; unit++) value /= 1000;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/** A figure, or a word for an unknown one. */
export function knownText(value: number | null, text: (value: number) => string): string {
  return value === null ? 'unknown' : text(value);
}

/** `1 file`, `2 files`. */
export function plural(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : nouns}`;
}

/** `4 calls`, `4 calls, 1 failed, 2 denied`. Null: unknown, and not shown. */
export function callsText(calls: number, failed: number | null, denied: number | null): string {
  const parts = [
    plural(calls, 'call'),
    failed ? `${failed} failed` : '',
    denied ? `${denied} denied` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

/** `7.9k tokens (5.3k in, 129 out, 1.5k cache read, 1.0k cache written)`: the parts add up to the total. */
export function tokensText(total: number | null, usage: Usage | null): string {
  if (total === null) return 'tokens unknown';
  const parts = [
    [usage?.input, 'in'],
    [usage?.output, 'out'],
    [usage?.cache_read || null, 'cache read'],
    [usage?.cache_write || null, 'cache written'],
  ] as const;
  const known = parts.filter(([count]) => count != null);
  const named = known.map(([count, name]) => `${countText(count as number)} ${name}`).join(', ');
  return `${countText(total)} tokens${named === '' ? '' : ` (${named})`}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
