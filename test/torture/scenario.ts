/** A command disturbed at each of its file operations, and the rules that must hold afterwards. */
import type { Injection } from './inject.ts';
import type { Lane, Ran } from './lane.ts';
import type { Known } from './store-checks.ts';

export interface Scenario {
  readonly name: string;
  /** Fills the lane's folders, the template of all cases; `check` gets the result. */
  prepare(lane: Lane): Promise<Prepared>;
  /** Runs the command with the injection. */
  act(lane: Lane, injection: Injection, prepared: Prepared): Promise<Ran>;
  /** The broken rules, one sentence each; the disk is healthy again. */
  check(lane: Lane, prepared: Prepared, ran: Ran, injection: Injection): AsyncGenerator<string>;
}

export interface Prepared {
  /** Runs that must be unchanged after the case. */
  known: Known;
  /** Names and numbers that the scenario needs again. */
  facts: Record<string, string>;
}

export const isKill = ({ mode }: Injection) => mode === 'kill' || mode === 'tear';
