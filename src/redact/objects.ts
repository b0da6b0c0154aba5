/** Redacts JSON values: every string, and values that are secrets because of their key or the preceding text. */
import { openKeyBlock } from './key-blocks.ts';
import { WORD } from './rules.ts';

export interface Redacting {
  /** `word`: the key of the text, or the preceding text of a list. */
  text(text: string, word: string): string;
  key(key: string): string;
  /** Redacts the lines of one text, including keys that span several lines. */
  lines(): (channel: string, text: string) => string;
  /** Null: numbers are not redacted. */
  number: ((value: number, word: string) => number | string) | null;
}

export function redactValue(value: unknown, redacting: Redacting, word = ''): unknown {
  if (typeof value === 'string') return redacting.text(value, word);
  if (typeof value === 'number') return redacting.number?.(value, word) ?? value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    let changed: unknown[] | null = null;
    const key = isWord(word) ? word : null;
    let lines: ReturnType<Redacting['lines']> | null = null;
    for (let i = 0; i < value.length; i++) {
      const each: unknown = value[i];
      if (lines === null && openKeyBlock(wordOf(each)) >= 0) lines = redacting.lines();
      const item =
        lines !== null && typeof each === 'string'
          ? lines('', each)
          : redactValue(each, redacting, key ?? wordOf(value[i - 1]));
      if (item === each) continue;
      changed ??= [...value];
      changed[i] = item;
    }
    return changed ?? value;
  }
  return redactObject(value as Record<string, unknown>, redacting);
}

const wordOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Whether the next text is a secret. Most keys are too short or end differently; most texts in a list are too long. */
export function isWord(word: string): boolean {
  const { length } = word;
  if (length < 9 || length > 64) return false;
  const last = word.charCodeAt(length - 1) | 0x20;
  return (last === 0x6e || last === 0x79) && WORD.test(word);
}

function redactObject(
  value: Record<string, unknown>,
  redacting: Redacting,
): Record<string, unknown> {
  let changed: [string, unknown][] | null = null;
  let at = 0;
  for (const key in value) {
    const item = value[key];
    const safe_key = redacting.key(key);
    // Headers may also be `{ name, value }`.
    const word = key === 'value' ? wordOf(value.name ?? value.key) : key;
    const safe = redactValue(item, redacting, word);
    if (changed === null && (safe_key !== key || safe !== item)) {
      changed = Object.entries(value).slice(0, at);
    }
    changed?.push([safe_key, safe]);
    at += 1;
  }
  // fromEntries treats `__proto__` as an ordinary key.
  return changed === null ? value : Object.fromEntries(changed);
}
