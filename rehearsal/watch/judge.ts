/** Compares a session that was started by hand with its script. Pure. */
import { corrected, differs, judgeCalls } from '../judge.ts';
import type { SessionReport } from './inside.ts';
import type { Moment } from './session.ts';

const DELAY_MAX_MS = 1_000;
/** null: the run is finished. */
const STATES: Readonly<Record<Moment, readonly (string | null)[]>> = {
  working: ['working'],
  waiting: ['waiting'],
  ended: [null],
};

export function judgeSession(session: SessionReport): string[] {
  const { runs, calls, final_text, delay_ms, seen, prompts, wanted_prompts } = session;
  const steady = session.name === 'watched';
  const bad = [...session.bad, ...differs('prompts', prompts, wanted_prompts)];
  bad.push(...differs('runs of the session', runs.length, 1));
  const [run] = runs;
  if (run === undefined) return bad;
  for (const [i, { at, states, run_ids }] of seen.entries()) {
    if (!steady) continue;
    if (states.length !== 1 || !STATES[at].includes(states[0] ?? null))
      bad.push(`state ${i + 1} (${at}) is ${JSON.stringify(states)}`);
    if (run_ids.some((id) => id !== run.run_id)) bad.push(`the run was ${run_ids} before`);
  }
  if (steady && (delay_ms === null || delay_ms > DELAY_MAX_MS))
    bad.push(`it appeared after ${delay_ms} ms`);
  bad.push(...judgeCalls({ calls, any_order: true }, corrected(run.records, run.events)));
  bad.push(...differs('final text', run.final_text, final_text));
  bad.push(...differs('exit reason', run.exit_reason, 'ok'));
  if (run.model === null) bad.push('the model is unknown');
  if (run.session_id === null) bad.push('the session id is unknown');
  if (!(Number(run.tokens?.input) > 0 && Number(run.tokens?.output) > 0))
    bad.push(`tokens are ${JSON.stringify(run.tokens)}`);
  return bad;
}
