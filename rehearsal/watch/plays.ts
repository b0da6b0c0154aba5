/**
 * The content of a session that a person starts by hand: two prompts, their script, and the calls that its record must
 * have. The second prompt starts a sub-agent, if the agent has any.
 */
import { INSIDE, type Rehearsed } from '../agents/agent.ts';
import { type ExpectedCall, SCENARIOS } from '../scenarios.ts';
import { fill, type Script, type Step, type Turn } from '../server/scenario.ts';

/** The first prompt's answer, if there is no second one. */
const FAILED = 'It failed.';

/** Long enough to look at the session while the call runs. */
const CALL_S = 4;

const FIRST = {
  prompt: 'Read README.md and run the check.',
  turns: [
    [{ text: 'Reading.' }, { tool: 'Read', input: { file_path: '{{WORK}}/README.md' } }],
    [
      {
        tool: 'Bash',
        input: { command: `touch started; sleep ${CALL_S}; exit 3`, description: 'Run it' },
      },
    ],
    [{ text: FAILED }],
  ] satisfies Turn[],
  calls: [
    { tool: 'Read', status: 'ok' },
    { tool: 'Bash', status: 'error', exit_code: 3 },
  ] satisfies ExpectedCall[],
};

export interface Play {
  prompts: readonly string[];
  /** Answers of the model to each prompt, except those to sub-agents. */
  turns: readonly number[];
  script: Script;
  calls: readonly ExpectedCall[];
  final_text: string;
}

export function playOf(agent: Rehearsed, work: string, one_prompt: boolean): Play {
  const name = agent.without.subagent === undefined ? 'subagent' : 'bash-fail';
  const second = SCENARIOS.find((scenario) => scenario.name === name);
  if (second === undefined) throw new Error(`there is no scenario ${name}`);
  const { final_text = '', ...expect } = { ...second.expect, ...agent.differs[name] };
  const calls = (name === 'subagent' ? agent.filed_calls : undefined) ?? expect.calls;
  const native = (turns: readonly Turn[]): Turn[] =>
    turns.map((turn) => ('error' in turn ? turn : turn.map((step) => nativeStep(agent, step))));
  const agents = (second.script.agents ?? []).map(({ match, turns }) => ({
    match,
    turns: native(turns),
  }));
  const turns = native([...FIRST.turns, ...second.script.turns]);
  // On a terminal, a sub-agent may work in the background: its end is one more turn.
  const script = { turns, agents, repeat_last: true };
  const first = fill({ turns: native(FIRST.turns) }, { WORK: work });
  const { length } = FIRST.turns;
  if (one_prompt)
    return {
      prompts: [FIRST.prompt],
      turns: [length],
      script: { ...first, repeat_last: true },
      calls: FIRST.calls,
      final_text: FAILED,
    };
  return {
    prompts: [FIRST.prompt, second.prompt],
    turns: [FIRST.turns.length, second.script.turns.length],
    script: fill(script, { WORK: work }),
    calls: [
      ...FIRST.calls,
      ...calls.map(({ parent, ...call }) =>
        parent === undefined ? call : { ...call, parent: parent + FIRST.calls.length },
      ),
    ],
    final_text,
  };
}

const nativeStep = (agent: Rehearsed, step: Step): Step =>
  'tool' in step ? agent.native(step) : step;

/** Where the CLI of an agent is: several are installed beside each other. */
const folderOf = ({ id, package: { version } }: Rehearsed) => `${INSIDE.cli}/${id}@${version}`;

/** `value` for a sandbox with several agents, each with a model of its own. */
export function amongOthers<T>(agent: Rehearsed, port: number, value: T): T {
  const text = JSON.stringify(value)
    .replaceAll(`:${INSIDE.model_port}`, `:${port}`)
    .replaceAll(`${INSIDE.cli}/`, `${folderOf(agent)}/`);
  return JSON.parse(text) as T;
}
