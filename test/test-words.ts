/** Words that every object inherits, in any text of an agent's records: ordinary words that nobody knows. */
import { expect } from 'vitest';
import type { Event } from '../src/model/event.ts';
import { transcriptOf } from '../src/projections/transcript.ts';
import { verifies } from './e2e/verifies.ts';

const WORDS = ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'valueOf'];

interface Play {
  /** Its records as text, one in each line. */
  lines: readonly string[];
  events(lines: readonly string[]): Event[];
  malformed(events: readonly Event[]): string[];
}

/** Every key that has a text somewhere. */
function keysOf(value: unknown, keys: Set<string>): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    if (typeof item === 'string' && !Array.isArray(value)) keys.add(key);
    keysOf(item, keys);
  }
}

/** The record with these texts replaced. */
function replaced(value: unknown, word: string, which: (key: string) => boolean): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    typeof item === 'string' && which(key) ? word : replaced(item, word, which),
  ]);
  return Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries);
}

/** Whether it holds what is lost on the way to a file. */
function loses(value: unknown): boolean {
  if (typeof value === 'function' || value === undefined) return true;
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some(loses);
}

function holds({ events, malformed }: Play, lines: readonly string[], what: string): void {
  const all = events(lines);
  expect(malformed(all), what).toEqual([]);
  const faults = all.filter(
    (event) => event.kind === 'problem' && event.data.code === 'decoder_fault',
  );
  expect(faults, what).toEqual([]);
  expect(all.filter(loses), what).toEqual([]);
  expect(() => transcriptOf(all), what).not.toThrow();
}

export function testWords(title: string, plays: readonly Play[]): void {
  verifies('AG-2', `${title}: words of Object.prototype are ordinary unknown words`, () => {
    let turn = 0;
    for (const play of plays) {
      const records = play.lines.map((line) => JSON.parse(line) as unknown);
      const keys = new Set<string>();
      for (const record of records) keysOf(record, keys);
      for (const key of keys) {
        const word = WORDS[turn++ % WORDS.length] as string;
        const lines = records.map((record) =>
          JSON.stringify(replaced(record, word, (one) => one === key)),
        );
        holds(play, lines, `${key}: ${word}`);
      }
      for (const word of WORDS) {
        let count = 0;
        const some = records.map((record) =>
          JSON.stringify(replaced(record, word, () => (count++ * 7919) % 5 === 0)),
        );
        holds(play, some, `some texts: ${word}`);
      }
    }
  });
}
