/** How calls ended, from the texts of their results. Both channels have the same texts. */
import { tailOf } from '../../lib/byte-text.ts';
import type { CallEnd } from '../kit/drafts.ts';
import { EDIT, SHELL, SKILL, WRITE } from './tools.ts';

/** The last line of a failed command's output. */
const EXIT_CODE = /(?:^|\n)Command failed with exit code: (\d{1,10})\.[\t-\r ]*$/;
const TIMED_OUT = /(?:^|\n)Command killed by timeout \([^()\n]*\)[\t-\r ]*$/;
/** A line of a failed command is short. */
const TAIL_CHARS = 200;

/** Refusals by a person or a rule. A hook's refusal has only the text of the hook. */
const REFUSAL =
  /^Tool "[^"\n]{1,200}" was (?:not run because the user rejected the approval request|denied by permission)/;

/** Sentences that only a successful call has. */
const SUCCESSES: ReadonlyMap<string, RegExp> = new Map([
  [EDIT, /^Replaced \d+ occurrences? in /],
  [SHELL, /^Command executed successfully\.$/],
  [SKILL, /^Skill "[^"\n]{1,200}" loaded /],
  [WRITE, /^(?:Wrote|Appended) \d+ bytes to /],
]);

/** The end that the text of a result shows; null if it shows none. */
export function endIn(native_tool: string | null, output: string | null): CallEnd | null {
  if (output === null) return null;
  if (REFUSAL.test(output)) return { status: 'denied', exit_code: null };
  if (SUCCESSES.get(native_tool ?? '')?.test(output)) return { status: 'ok', exit_code: null };
  if (native_tool !== SHELL) return null;
  const tail = tailOf(output, TAIL_CHARS);
  if (TIMED_OUT.test(tail)) return { status: 'timeout', exit_code: null };
  const [, code] = EXIT_CODE.exec(tail) ?? [];
  return code === undefined ? null : { status: 'error', exit_code: Number(code) };
}
