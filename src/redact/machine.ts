/**
 * Matches a compiled pattern by simulating all alternatives in parallel (Thompson, Pike). Contract: it never backtracks
 * and takes no more steps than its budget.
 */
import { addTo, hasUnit, isWordUnit, SET_BYTES } from './code-units.ts';
import type { Step } from './regex.ts';

class Threads {
  count = 0;
  readonly steps: Int32Array;
  readonly starts: Int32Array;
  readonly #seen: Int32Array;
  #round = 0;

  constructor(size: number) {
    this.steps = new Int32Array(size);
    this.starts = new Int32Array(size);
    this.#seen = new Int32Array(size);
  }

  clear(): void {
    this.count = 0;
    this.#round += 1;
  }

  /** False if a preferred alternative reached the step before. */
  visit(step: number): boolean {
    if (this.#seen[step] === this.#round) return false;
    this.#seen[step] = this.#round;
    return true;
  }

  add(step: number, start: number): void {
    this.steps[this.count] = step;
    this.starts[this.count] = start;
    this.count += 1;
  }
}

export class Machine {
  readonly #steps: readonly Step[];
  readonly #stack: number[] = [];
  /** The text that every match begins with, otherwise the set of first characters; null: any. */
  readonly #prefix: string;
  readonly #first: Uint8Array | null;
  #now: Threads;
  #next: Threads;
  #budget = 0;
  /** Steps of the most expensive sample. */
  cost = 0;

  constructor(steps: readonly Step[]) {
    this.#steps = steps;
    this.#now = new Threads(steps.length);
    this.#next = new Threads(steps.length);
    this.#prefix = prefixOf(steps);
    this.#first = firstOf(steps);
  }

  matchesNothing(): boolean {
    this.#now.clear();
    this.#follow(this.#now, 0, '', 0, 0);
    for (let i = 0; i < this.#now.count; i++)
      if (this.#steps[this.#now.steps[i] as number]?.op === 'match') return true;
    return false;
  }

  measure(text: string, budget: number): void {
    this.find(text, () => undefined, budget);
    this.cost = Math.max(this.cost, budget - this.left);
  }

  /** The remaining budget after the last text. */
  get left(): number {
    return this.#budget;
  }

  find(text: string, take: (start: number, end: number) => void, budget: number): number {
    this.#budget = budget;
    for (let from = 0; ; ) {
      const match = this.#match(text, from);
      if (this.#budget < 0) {
        if (from < text.length) take(from, text.length);
        return from;
      }
      if (match.end < 0) return match.start;
      take(match.start, match.end);
      from = match.end;
    }
  }

  /** The first match. Without one, `end` is -1 and `start` is the position of a possible match truncated at the end. */
  #match(text: string, from: number): { start: number; end: number } {
    let [start, end] = [-1, -1];
    let partial = text.length;
    this.#now.clear();
    for (let at = from; at <= text.length; at++) {
      if (this.#now.count === 0) {
        if (end >= 0) break;
        at = this.#candidate(text, at);
        if (at < 0) break;
      }
      const unit = at < text.length ? text.charCodeAt(at) : -1;
      const first = this.#first;
      if (end < 0 && (first === null || (unit >= 0 && hasUnit(first, unit))))
        this.#follow(this.#now, 0, text, at, at);
      this.#next.clear();
      for (let i = 0; i < this.#now.count; i++) {
        const step = this.#now.steps[i] as number;
        const began = this.#now.starts[i] as number;
        const { op, set } = this.#steps[step] as Step;
        if (op === 'match') {
          if (began === at) continue;
          [start, end] = [began, at];
          break;
        }
        if (unit < 0) partial = Math.min(partial, began);
        else if (hasUnit(set as Uint8Array, unit))
          this.#follow(this.#next, step + 1, text, at + 1, began);
      }
      this.#budget -= this.#now.count;
      if (this.#budget < 0) return { start: from, end: -1 };
      [this.#now, this.#next] = [this.#next, this.#now];
    }
    return end < 0 ? { start: partial, end } : { start, end };
  }

  /** The next position where a match may begin; -1 if there is none. */
  #candidate(text: string, from: number): number {
    if (this.#prefix !== '') {
      const at = text.indexOf(this.#prefix, from);
      if (at >= 0) return at;
      // It may be truncated at the end of the text.
      for (
        let cut = Math.max(from, text.length - this.#prefix.length + 1);
        cut < text.length;
        cut++
      )
        if (this.#prefix.startsWith(text.slice(cut))) return cut;
      return -1;
    }
    const first = this.#first;
    if (first === null) return from;
    for (let at = from; at < text.length; at++) if (hasUnit(first, text.charCodeAt(at))) return at;
    return -1;
  }

  /** Adds the steps that wait for a character, preferred ones first. */
  // biome-ignore lint/complexity/useMaxParams: called for every character of a match, where an object would cost more
  #follow(threads: Threads, from: number, text: string, at: number, start: number): void {
    const stack = this.#stack;
    stack.push(from);
    for (let step = stack.pop(); step !== undefined; step = stack.pop()) {
      if (!threads.visit(step)) continue;
      this.#budget -= 1;
      const { op, to, or, assert } = this.#steps[step] as Step;
      if (op === 'jump') stack.push(to as number);
      else if (op === 'split') stack.push(or as number, to as number);
      else if (op !== 'assert') threads.add(step, start);
      else if (holds(assert as string, text, at)) stack.push(step + 1);
    }
  }
}

function holds(assert: string, text: string, at: number): boolean {
  if (assert === '^') return at === 0;
  if (assert === '$') return at === text.length;
  const before = at > 0 && isWordUnit(text.charCodeAt(at - 1));
  const after = at < text.length && isWordUnit(text.charCodeAt(at));
  return (before !== after) === (assert === 'b');
}

function prefixOf(steps: readonly Step[]): string {
  let prefix = '';
  for (const { op, set } of steps) {
    if (op !== 'set') break;
    const units = unitsOf(set as Uint8Array, 2);
    if (units.length !== 1) break;
    prefix += String.fromCharCode(units[0] as number);
  }
  // A jump target is not part of it.
  const least = Math.min(
    ...steps.map(({ to, or }) => Math.min(to ?? prefix.length, or ?? prefix.length)),
  );
  return prefix.slice(0, least);
}

function unitsOf(set: Uint8Array, most: number): number[] {
  const units: number[] = [];
  for (let byte = 0; byte < set.length && units.length < most; byte++) {
    if (set[byte] === 0) continue;
    for (let bit = 0; bit < 8; bit++) if (hasUnit(set, byte * 8 + bit)) units.push(byte * 8 + bit);
  }
  return units;
}

function firstOf(steps: readonly Step[]): Uint8Array | null {
  const first = new Uint8Array(SET_BYTES);
  const seen = new Set<number>();
  const stack = [0];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    const { op, set, to, or } = steps[at] as Step;
    if (op === 'match') return null;
    if (op === 'set') addTo(first, set as Uint8Array);
    else if (op === 'assert') stack.push(at + 1);
    else for (const next of [to, or]) if (next !== undefined) stack.push(next);
  }
  return first;
}
