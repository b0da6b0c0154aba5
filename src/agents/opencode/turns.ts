/** The root agent's last turn, and what it tells about how the run ended. No mode of the CLI has an end record. */
import type { DataOf } from '../../model/event.ts';
import type { Failure } from './failures.ts';

export interface Turn {
  message_id: string | null;
  /** Whether the model call is over. */
  closed: boolean;
  finish: string | null;
  failure: Failure | null;
  /** The words of a refusal that ends the run. */
  refused: string | null;
  calls: number;
  /** A summary for the model itself: the answer is still to come. */
  summary: boolean;
}

export function newTurn(message_id: string | null): Turn {
  const nothing = { closed: false, finish: null, failure: null, refused: null };
  return { message_id, ...nothing, calls: 0, summary: false };
}

/** After these the CLI asks the model again; `unknown` comes from providers that tell no reason. */
const GOES_ON: ReadonlySet<string> = new Set(['tool-calls', 'unknown']);

type End = DataOf<'agent_ended'>;

/** How the run ended if nothing follows this turn; null: it did not end. `idle`: the server says that it is done. */
export function endOf(turn: Turn | null, idle: boolean): End | null {
  const evidence = idle ? 'native_result' : 'inferred';
  const failure = turn?.failure ?? null;
  if (failure) return { exit_reason: failure.exit_reason, error: failure.message, evidence };
  const finish = turn?.finish ?? null;
  const goes_on = finish === null ? (turn?.calls ?? 0) > 0 : GOES_ON.has(finish);
  if (turn && turn.refused !== null && (goes_on || !turn.closed)) {
    return turn.closed || idle ? { exit_reason: 'denied', error: turn.refused, evidence } : null;
  }
  if (finish === 'error') {
    return { exit_reason: 'agent_error', error: 'the model call ended with an error', evidence };
  }
  if (idle) return { exit_reason: 'ok', error: null, evidence };
  if (!turn?.closed || turn.summary || goes_on) return null;
  return { exit_reason: 'ok', error: null, evidence };
}
