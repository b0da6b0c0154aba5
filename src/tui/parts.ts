/** Inputs, outputs and other long texts of rows, with a limit per text and in total. */
import { headCopy } from '../lib/utf8.ts';
import { TUI_LIMITS } from './limits.ts';

const PARTS = ['input', 'diff', 'output', 'text'] as const;
export type PartName = (typeof PARTS)[number];

/** The long texts of a row. */
export interface Parts extends Partial<Record<PartName, string>> {
  /** Characters that were not kept. */
  missing: number;
  /** Some were dropped in favour of newer ones. */
  dropped: boolean;
  /** Whether a store counts them. */
  held: boolean;
}

export const newParts = (): Parts => ({ missing: 0, dropped: false, held: false });

/** The size of an object without its texts, in characters, so that many small ones count, too. */
const OVERHEAD = 200;
const SPENT_AT_ONCE = 1_000;

const charsOf = (parts: Parts) =>
  PARTS.reduce((sum, name) => sum + (parts[name]?.length ?? 0), OVERHEAD);

/** Keeps the newest texts of a run. */
export class PartsStore {
  #chars = 0;
  /** In the order in which they got a text; entries before `#head` are dropped. */
  #queue: Parts[] = [];
  #head = 0;

  set(parts: Parts, name: PartName, text: string): void {
    const before = parts.held ? charsOf(parts) : 0;
    if (!parts.held) this.#queue.push(parts);
    parts.held = true;
    parts.missing += Math.max(0, text.length - TUI_LIMITS.part_chars_max);
    parts[name] = headCopy(text, TUI_LIMITS.part_chars_max);
    this.#chars += charsOf(parts) - before;
    while (this.#chars > TUI_LIMITS.parts_chars_max) this.#drop();
  }

  #drop(): void {
    const oldest = this.#queue[this.#head] as Parts;
    this.#head += 1;
    this.#chars -= charsOf(oldest);
    for (const name of PARTS) delete oldest[name];
    oldest.dropped = true;
    oldest.held = false;
    if (this.#head < SPENT_AT_ONCE) return;
    this.#queue.splice(0, this.#head);
    this.#head = 0;
  }
}

/** A call's input as readable lines: one field per line, long texts below their name. */
export function inputText(input: unknown): string {
  if (input === null || input === undefined) return '';
  if (typeof input === 'string') return input;
  if (typeof input !== 'object' || Array.isArray(input)) return jsonText(input);
  const fields = Object.entries(input).map(([name, value]) => {
    const text = typeof value === 'string' ? value : jsonText(value);
    return text.includes('\n') ? `${name}:\n${indented(text)}` : `${name}: ${text}`;
  });
  return fields.join('\n');
}

const jsonText = (value: unknown) => JSON.stringify(value, null, 2) ?? String(value);

/** Cut to the part that is kept. */
const indented = (text: string) =>
  text.slice(0, TUI_LIMITS.part_chars_max).replaceAll('\n', '\n  ').replace(/^/, '  ');
