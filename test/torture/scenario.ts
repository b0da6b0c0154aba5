/** A command that is disturbed at each of its file operations, and what must hold then. */
import type { Injection } from './inject.ts';
import type { Lane, Ran } from './lane.ts';
import type { Known } from './store-checks.ts';

export interface Scenario {
  readonly name: string;
  /** Fills the lane's folders. They are the template of all cases; the result is given to `check`. */
  prepare(lane: Lane): Promise<Prepared>;
  /** Runs the command with the injection. */
  act(lane: Lane, injection: Injection, prepared: Prepared): Promise<Ran>;
  /** Sentences on what does not hold; the disk is healthy again. */
  check(lane: Lane, prepared: Prepared, ran: Ran, injection: Injection): AsyncGenerator<string>;
}

export interface Prepared {
  /** Runs that must outlive the case as they are. */
  known: Known;
  /** Names and numbers that the scenario needs again. */
  facts: Record<string, string>;
}

export const isKill = ({ mode }: Injection) => mode === 'kill' || mode === 'tear';
