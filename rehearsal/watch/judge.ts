/** Compares a session that was started by hand with its script. Pure. */
import { corrected, differs, judgeCalls } from '../judge.ts';
import type { Step } from '../server/scenario.ts';
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
  const { runs, play, delay_ms, seen, prompts } = session;
  const { calls, final_text } = play;
  const steady = session.name === 'watched';
  const bad = [...session.bad, ...differs('prompts', prompts, play.prompts.length)];
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
  if (!(Number(run.tokens?.input) > 0)) bad.push(`tokens are ${JSON.stringify(run.tokens)}`);
  const outputs = outputsOf(session);
  if (!outputs.includes(run.tokens?.output ?? 0))
    bad.push(`output tokens are ${run.tokens?.output}, not ${outputs.join(' or ')}`);
  const answers = session.requests.filter(({ note }) => /^(?:main |waits )/.test(note));
  bad.push(...differs('steps', run.steps, answers.length));
  return bad;
}

/** The answer that makes a model wait for its helper, with the id of one. */
const WAITING: Step = {
  tool: 'multi_agent_v1/wait_agent',
  input: { targets: ['0'.repeat(36)], timeout_ms: 30_000 },
};

/**
 * The tokens of all answers; of those to the root agent, if its records do not have the others; and of those after the
 * first prompt, which are the last process's: the figures of some agents are those of a process.
 */
function outputsOf({ requests, play: { script, turns } }: SessionReport): number[] {
  const answers = requests.flatMap(({ note }) => {
    const [queue = '', place = ''] = note.split(' ');
    if (queue === 'waits') return [{ root: true, at: null, tokens: tokensOf([WAITING]) }];
    const own = queue === 'main' ? script.turns : script.agents?.[0]?.turns;
    if (own === undefined || !/^(?:main|agent-1)$/.test(queue)) return [];
    const turn = own[Number(place) - 1] ?? own.at(-1) ?? [];
    const at = queue === 'main' ? Number(place) : null;
    return [{ root: at !== null, at, tokens: 'error' in turn ? 0 : tokensOf(turn) }];
  });
  const sum = (some: typeof answers) => some.reduce((all, { tokens }) => all + tokens, 0);
  return [
    sum(answers),
    sum(answers.filter(({ root }) => root)),
    sum(answers.filter(({ at }) => at === null || at > (turns[0] ?? 0))),
  ];
}

const tokensOf = (steps: readonly Step[]) =>
  steps.reduce((sum, step) => sum + Math.ceil(JSON.stringify(step).length / 4), 0);
