/** Movements by lines, pages and to the ends. */
import type { Move } from './bindings.ts';

const MOVES: readonly string[] = [
  'up',
  'down',
  'half_up',
  'half_down',
  'page_up',
  'page_down',
  'first',
  'last',
] satisfies Move[];

export const isMove = (action: string | null): action is Move =>
  action !== null && MOVES.includes(action);

/** The number of lines of a move; infinite for a move to one of the ends. */
export function linesOf(move: Move, page: number): number {
  // A page overlaps the previous one by a line for orientation.
  const far = Math.max(1, page - 1);
  const half = Math.max(1, page >> 1);
  return {
    up: -1,
    down: 1,
    half_up: -half,
    half_down: half,
    page_up: -far,
    page_down: far,
    first: Number.NEGATIVE_INFINITY,
    last: Number.POSITIVE_INFINITY,
  }[move];
}

/** The position after a move in a list of lines. */
export function movedTo(at: number, move: Move, { page, last }: { page: number; last: number }) {
  return Math.max(0, Math.min(last, Math.min(at, last) + linesOf(move, page)));
}
