/** Records with property names of every object, and with impossible figures: for every agent. */
import { expect } from 'vitest';
import type { Event } from '../src/model/event.ts';
import { transcriptOf } from '../src/projections/transcript.ts';
import { verifies } from './e2e/verifies.ts';

const WORDS = ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'valueOf'];

interface Play {
  /** Its records as text, one per line. */
  lines: readonly string[];
  events(lines: readonly string[]): Event[];
  malformed(events: readonly Event[]): string[];
}

/** Every key with a text somewhere. */
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

/** Whether it contains a value that JSON cannot store. */
function loses(value: unknown): boolean {
  if (typeof value === 'function' || value === undefined) return true;
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some(loses);
}

function expectValid({ events, malformed }: Play, lines: readonly string[], what: string): void {
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
  verifies(
    'AG-2',
    `${title}: property names of Object.prototype are ordinary unknown words`,
    () => {
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
          expectValid(play, lines, `${key}: ${word}`);
        }
        for (const word of WORDS) {
          let count = 0;
          const some = records.map((record) =>
            JSON.stringify(replaced(record, word, () => (count++ * 7919) % 5 === 0)),
          );
          expectValid(play, some, `some texts: ${word}`);
        }
      }
    },
  );
}

/** The record with every number of these keys replaced. */
function withNumbers(value: unknown, number: number, which: (key: string) => boolean): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    typeof item === 'number' && which(key) ? number : withNumbers(item, number, which),
  ]);
  return Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries);
}

const SPENDING =
  /token|cost|^(input|output|cached?|reasoning|thoughts|tool|total|read|write|amount)$/i;
const figuresOf = (event: Event): unknown[] => {
  if (event.kind !== 'usage_reported' && event.kind !== 'run_finished') return [];
  const { usage, cost_usd } = event.data;
  return [...Object.values(usage ?? {}), cost_usd];
};

export function testFigures(title: string, plays: readonly Play[]): void {
  verifies('AG-2', `${title}: impossible tokens and costs are unknown, and reported`, () => {
    for (const number of [-1, -0.5, 1e15, 1e300])
      for (const play of plays) {
        const records = play.lines.map((line) => JSON.parse(line) as unknown);
        const before = play.events(play.lines).flatMap(figuresOf);
        const lines = records.map((record) =>
          JSON.stringify(withNumbers(record, number, (key) => SPENDING.test(key))),
        );
        const all = play.events(lines);
        expect(play.malformed(all)).toEqual([]);
        const figures = all.flatMap(figuresOf).filter((one) => one !== null) as number[];
        expect(figures.filter((one) => !(one >= 0 && one <= 1e12))).toEqual([]);
        const reported = all.some(
          (event) => event.kind === 'problem' && event.data.code === 'figure_invalid',
        );
        const had = before.some((one) => typeof one === 'number' && one > 0);
        if (had) expect(reported, `${number}: ${lines[0]?.slice(0, 200)}`).toBe(true);
      }
  });
}
