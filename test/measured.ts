/** Runs as the index saves them, for tests that do not need their usage. */
import type { RunOutcome } from '../src/model/outcome.ts';
import type { MeasuredRun } from '../src/model/usage.ts';

export const measured = (...outcomes: RunOutcome[]): MeasuredRun[] =>
  outcomes.map((outcome) => ({ outcome, usage: [] }));
