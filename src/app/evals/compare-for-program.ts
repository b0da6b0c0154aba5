/** Compares two evals, for programs: `tacho eval compare` as a function. */
import { type Comparison, compare } from '../../evals/compare.ts';
import type { EvalRow } from '../../evals/results.ts';
import { readComparable } from './results.ts';

/** Options of `compareEvals`. */
export interface CompareOptions {
  /** The earlier eval: its rows, or the path of its results file. */
  before: string | readonly EvalRow[];
  /** The later eval: its rows, or the path of its results file. */
  after: string | readonly EvalRow[];
}

const rowsOf = (given: CompareOptions['before']) =>
  typeof given === 'string' ? readComparable(given) : given;

export const compareForProgram = ({ before, after }: CompareOptions): Comparison =>
  compare(rowsOf(before), rowsOf(after));
