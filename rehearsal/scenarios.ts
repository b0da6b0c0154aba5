/**
 * The scenarios that are rehearsed with every agent. Tools have their canonical names and fields; the agent's file
 * converts them to its own. `{{WORK}}` is the work folder.
 */
import type { Script } from './server/scenario.ts';

type Status = 'ok' | 'error' | 'denied' | 'timeout' | 'cancelled' | 'unknown';

export interface ExpectedCall {
  tool: string;
  status: Status;
  /** Alternative to `status`, if the agent's behaviour is random. */
  or?: Status;
  /** Absent: not checked. */
  exit_code?: number | null;
  /** The index, in this list, of the call that started the sub-agent; absent: the root agent. */
  parent?: number;
}

export interface Expected {
  /** tacho's exit code; null: it was killed. */
  exit: number | null;
  exit_reason: string;
  calls: readonly ExpectedCall[];
  /** The agent's order of calls is random. */
  any_order?: boolean;
  /** Number of refusals recorded as decisions; absent: all. */
  denials?: number;
  /** Absent: not checked. */
  final_text?: string;
  /** Tokens of the run are known and greater than zero; false: not checked. */
  usage: boolean;
  /** Nothing is missing from the record, including the session file. */
  complete: boolean;
  /** false: not checked whether the session is known. */
  session?: false;
  provider_retries?: number;
  provider_errors?: number;
  agent_signal?: string;
  /** Files of the work folder afterwards; null: must not exist. */
  files?: Readonly<Record<string, string | null>>;
}

export interface Scenario {
  name: string;
  prompt: string;
  /** Absent: passed as an argument. */
  prompt_by?: 'stdin';
  approve: 'default' | 'edits' | 'all';
  script: Script;
  /** Files of the work folder beforehand. */
  files?: Readonly<Record<string, string>>;
  /** Extras that the agent's file has to set up. */
  needs?: 'skill' | 'mcp';
  timeout_s?: number;
  /** Done once the work folder contains the file `started` and, if possible, tacho's stdout shows the call. */
  act?: 'interrupt' | 'kill_agent' | 'kill_tacho';
  /** Sent to the agent, in this order, at the same moment; null: an interrupt. Only for agents that accept input. */
  talk?: readonly (string | null)[];
  expect: Expected;
}

const bash = (command: string) => ({ tool: 'Bash', input: { command, description: 'Run it' } });
/** A call that shows that it has started, then takes its time. */
const slow = (seconds: number, then = 'true') => bash(`touch started; sleep ${seconds}; ${then}`);
const read = (path: string) => ({ tool: 'Read', input: { file_path: `{{WORK}}/${path}` } });

const FINE = { exit: 0, exit_reason: 'ok', usage: true, complete: true } as const;
const README = { 'README.md': 'A toy project.\n' };

/** Quotes, something like an option, a variable, a second line, surrogate pairs: nothing may be damaged (AG-18). */
const AWKWARD = '--help "is" $HOME `not` \'an\' option \\ here\n\tSag Grüße 🚀 …';

const TALKING: readonly Scenario[] = [
  {
    name: 'text',
    prompt: AWKWARD,
    prompt_by: 'stdin',
    approve: 'all',
    script: { turns: [[{ thinking: 'A greeting.' }, { text: 'Grüße 🚀\n\n"Done."' }]] },
    expect: { ...FINE, calls: [], final_text: 'Grüße 🚀\n\n"Done."' },
  },
  {
    name: 'long-prompt',
    prompt: `Count the lines.\n${'0123456789abcde\n'.repeat(65_500)}The end.`,
    prompt_by: 'stdin',
    approve: 'all',
    script: { turns: [[{ text: '65502' }]] },
    expect: { ...FINE, calls: [], final_text: '65502' },
  },
  {
    name: 'provider-error',
    prompt: 'Say ok.',
    approve: 'all',
    script: { turns: [{ error: { status: 400 } }], repeat_last: true },
    expect: {
      exit: 3,
      exit_reason: 'provider_error',
      calls: [],
      usage: false,
      complete: true,
      provider_errors: 1,
    },
  },
  {
    name: 'provider-retry',
    prompt: 'Say ok.',
    approve: 'all',
    script: {
      turns: [
        { error: { status: 429, headers: { 'retry-after': '1' } } },
        [{ text: 'ok at the second try' }],
      ],
    },
    expect: { ...FINE, calls: [], final_text: 'ok at the second try', provider_retries: 1 },
  },
];

const WORKING: readonly Scenario[] = [
  {
    name: 'read',
    prompt: 'Read README.md.',
    approve: 'all',
    files: README,
    script: {
      turns: [[{ text: 'Reading.' }, read('README.md')], [read('none.txt')], [{ text: 'A toy.' }]],
    },
    expect: {
      ...FINE,
      calls: [
        { tool: 'Read', status: 'ok' },
        { tool: 'Read', status: 'error' },
      ],
      final_text: 'A toy.',
    },
  },
  {
    name: 'bash-fail',
    prompt: 'Run the check.',
    approve: 'all',
    script: { turns: [[bash('echo out; echo err >&2; exit 3')], [{ text: 'It failed.' }]] },
    expect: {
      ...FINE,
      calls: [{ tool: 'Bash', status: 'error', exit_code: 3 }],
      final_text: 'It failed.',
    },
  },
  {
    name: 'write-edit',
    prompt: 'Write hello.txt and correct it.',
    approve: 'all',
    script: {
      turns: [
        [{ tool: 'Write', input: { file_path: '{{WORK}}/hello.txt', content: 'Helo\n' } }],
        [
          {
            tool: 'Edit',
            input: { file_path: '{{WORK}}/hello.txt', old_string: 'Helo', new_string: 'Hello' },
          },
        ],
        [{ text: 'Written.' }],
      ],
    },
    expect: {
      ...FINE,
      calls: [
        { tool: 'Write', status: 'ok' },
        { tool: 'Edit', status: 'ok' },
      ],
      final_text: 'Written.',
      files: { 'hello.txt': 'Hello\n' },
    },
  },
  {
    name: 'parallel',
    prompt: 'Do four things at once.',
    approve: 'all',
    files: README,
    script: {
      turns: [
        [bash('sleep 1; echo slow'), read('README.md'), bash('exit 5'), bash('echo quick')],
        [{ text: 'All four.' }],
      ],
    },
    expect: {
      ...FINE,
      calls: [
        { tool: 'Bash', status: 'ok' },
        { tool: 'Read', status: 'ok' },
        { tool: 'Bash', status: 'error', exit_code: 5 },
        { tool: 'Bash', status: 'ok' },
      ],
      final_text: 'All four.',
    },
  },
  {
    name: 'denied',
    prompt: 'Delete the notes.',
    approve: 'default',
    files: { 'notes/keep.txt': 'keep\n' },
    script: {
      turns: [
        [{ text: 'Deleting.' }, bash('rm -rf notes')],
        [{ tool: 'Write', input: { file_path: '{{WORK}}/x.txt', content: 'x\n' } }],
        [{ text: 'I was not allowed to.' }],
      ],
    },
    expect: {
      ...FINE,
      calls: [
        { tool: 'Bash', status: 'denied' },
        { tool: 'Write', status: 'denied' },
      ],
      final_text: 'I was not allowed to.',
      files: { 'notes/keep.txt': 'keep\n', 'x.txt': null },
    },
  },
];

const EXTENDED: readonly Scenario[] = [
  {
    name: 'skill',
    prompt: 'Greet me the way this project does.',
    approve: 'all',
    needs: 'skill',
    script: {
      turns: [
        [{ text: 'Using the skill.' }, { tool: 'Skill', input: { skill: 'greeting-style' } }],
        [{ text: 'Ahoy!' }],
      ],
    },
    expect: { ...FINE, calls: [{ tool: 'Skill', status: 'ok' }], final_text: 'Ahoy!' },
  },
  {
    name: 'mcp',
    prompt: 'Add 2 and 40.',
    approve: 'all',
    needs: 'mcp',
    script: {
      turns: [
        [{ tool: 'mcp__toybox__add_numbers', input: { a: 2, b: 40 } }],
        [{ tool: 'mcp__toybox__add_numbers', input: { a: 'x', b: 1 } }],
        [{ text: '42' }],
      ],
    },
    expect: {
      ...FINE,
      calls: [
        { tool: 'mcp__toybox__add_numbers', status: 'ok' },
        { tool: 'mcp__toybox__add_numbers', status: 'error' },
      ],
      final_text: '42',
    },
  },
  {
    name: 'subagent',
    prompt: 'Have a helper look at README.md.',
    approve: 'all',
    files: README,
    script: {
      turns: [
        [
          {
            tool: 'Task',
            input: { description: 'Look at README', prompt: 'SUBTASK: read README.md.' },
          },
        ],
        [{ text: 'The helper says: a toy.' }],
      ],
      agents: [
        {
          match: 'SUBTASK:',
          turns: [[read('README.md')], [bash('exit 4')], [{ text: 'It is a toy.' }]],
        },
      ],
    },
    expect: {
      ...FINE,
      calls: [
        { tool: 'Task', status: 'ok' },
        { tool: 'Read', status: 'ok', parent: 0 },
        { tool: 'Bash', status: 'error', exit_code: 4, parent: 0 },
      ],
      final_text: 'The helper says: a toy.',
    },
  },
];

/** The signal may reach the command before the agent. The agent may then still report that its command failed. */
const ENDED_BY_SIGNAL: readonly ExpectedCall[] = [
  { tool: 'Bash', status: 'cancelled', or: 'error' },
];

const CUT_SHORT: readonly Scenario[] = [
  {
    name: 'interrupt',
    prompt: 'Wait for me.',
    approve: 'all',
    act: 'interrupt',
    script: { turns: [[{ text: 'Waiting.' }, slow(60)], [{ text: 'never said' }]] },
    expect: {
      exit: 130,
      exit_reason: 'cancelled',
      calls: ENDED_BY_SIGNAL,
      usage: true,
      complete: true,
    },
  },
  {
    name: 'timeout',
    prompt: 'Wait for me.',
    approve: 'all',
    timeout_s: 30,
    script: { turns: [[{ text: 'Waiting.' }, slow(60)], [{ text: 'never said' }]] },
    expect: {
      exit: 124,
      exit_reason: 'timeout',
      calls: ENDED_BY_SIGNAL,
      usage: true,
      complete: true,
    },
  },
  {
    name: 'kill',
    prompt: 'Wait for me.',
    approve: 'all',
    act: 'kill_agent',
    script: { turns: [[{ text: 'Waiting.' }, slow(60)], [{ text: 'never said' }]] },
    expect: {
      exit: 1,
      exit_reason: 'incomplete',
      calls: [{ tool: 'Bash', status: 'cancelled' }],
      usage: false,
      complete: false,
      agent_signal: 'SIGKILL',
    },
  },
  {
    name: 'tacho-killed',
    prompt: 'Continue without me.',
    approve: 'all',
    act: 'kill_tacho',
    script: { turns: [[slow(2, 'echo survived')], [{ text: 'Still here.' }]] },
    expect: {
      exit: null,
      exit_reason: 'ok',
      calls: [{ tool: 'Bash', status: 'ok' }],
      final_text: 'Still here.',
      usage: true,
      complete: false,
    },
  },
];

const TALKED_TO: readonly Scenario[] = [
  {
    name: 'input-more',
    prompt: AWKWARD,
    approve: 'all',
    talk: ['Say it again:\n"Grüße 🚀"', 'And again.'],
    // A text may become part of the turn or start a new one. The answers are the same.
    script: { turns: [[{ text: 'Waiting.' }, slow(3)], [{ text: 'Grüße!' }]], repeat_last: true },
    expect: { ...FINE, calls: [{ tool: 'Bash', status: 'ok' }], final_text: 'Grüße!' },
  },
  {
    name: 'input-stop',
    prompt: 'Wait for me.',
    approve: 'all',
    talk: [null],
    script: { turns: [[{ text: 'Waiting.' }, slow(60)], [{ text: 'never said' }]] },
    expect: {
      exit: 143,
      exit_reason: 'cancelled',
      calls: [{ tool: 'Bash', status: 'cancelled' }],
      usage: true,
      complete: true,
    },
  },
  {
    name: 'input-other',
    prompt: 'Wait for me.',
    approve: 'all',
    talk: ['Do not wait.', null],
    script: { turns: [[{ text: 'Waiting.' }, slow(60)], [{ text: 'Stopped waiting.' }]] },
    expect: {
      ...FINE,
      calls: [{ tool: 'Bash', status: 'cancelled' }],
      final_text: 'Stopped waiting.',
    },
  },
];

export const SCENARIOS: readonly Scenario[] = [
  ...TALKING,
  ...WORKING,
  ...EXTENDED,
  ...CUT_SHORT,
  ...TALKED_TO,
];
