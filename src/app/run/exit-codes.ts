/** Exit codes (RE-21). */

import type { ErrorCode, TachoError } from '../../lib/errors.ts';
import { own } from '../../lib/own.ts';
import type { ExitReason } from '../../model/words.ts';

/** The run succeeded but meets a condition of `--fail-on`. */
export const EXIT_CAUGHT = 1;
export const EXIT_USAGE = 2;
export const EXIT_SOFTWARE = 70;
/** Not delivered yet. The data is kept, and trying again can help (EX_TEMPFAIL of sysexits.h). */
export const EXIT_LATER = 75;
const EXIT_AGENT_MISSING = 127;

const CODES: Record<ExitReason, number> = {
  ok: 0,
  agent_error: 1,
  incomplete: 1,
  provider_error: 3,
  denied: 4,
  approval_required: 4,
  max_steps: 5,
  budget_exceeded: 5,
  pre_run_error: EXIT_SOFTWARE,
  capture_error: EXIT_SOFTWARE,
  timeout: 124,
  cancelled: 143,
};

/** `cause`: the signal that cancelled the run, if any. */
export function exitCodeOf(reason: ExitReason, cause: string | null): number {
  return reason === 'cancelled' && cause === 'SIGINT' ? 130 : CODES[reason];
}

const ERROR_CODES: Partial<Record<ErrorCode, number>> = {
  usage: EXIT_USAGE,
  config_invalid: EXIT_USAGE,
  untrusted: EXIT_USAGE,
  agent_unknown: EXIT_USAGE,
  not_a_terminal: EXIT_USAGE,
  not_found: 1,
  refused: 1,
  agent_missing: EXIT_AGENT_MISSING,
};

export function exitCodeOfError(error: TachoError): number {
  return own(ERROR_CODES, error.code) ?? EXIT_SOFTWARE;
}
