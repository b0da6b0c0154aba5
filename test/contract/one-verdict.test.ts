/**
 * The same task gives the same canonical calls and the same verdict for every agent and every channel.
 * Differences are listed with a reason: the agent's own way of working, or a different model script in its recording.
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { allAgents } from '../../src/agents/registry.ts';
import type { Agent, Capabilities } from '../../src/model/agent.ts';
import { verifies } from '../e2e/verifies.ts';
import { outcomeOf, type Recording, recordingsIn, wholeRun } from '../test-agent.ts';

const root = join(import.meta.dirname, '../..');

interface Expected {
  /** Tool, status, and the exit code of a failed command. */
  calls: readonly string[];
  skills: readonly string[];
  /** Agents with this capability must have a recording. Null: none must; existing ones are compared. */
  needs: keyof Capabilities | null;
}

const TASKS: Readonly<Record<string, Expected>> = {
  text: { calls: [], skills: [], needs: 'text' },
  read: { calls: ['Read ok'], skills: [], needs: 'call_requests' },
  'bash-fail': { calls: ['Bash error 3', 'Bash ok'], skills: [], needs: 'call_requests' },
  'write-edit': {
    calls: ['Write ok', 'Edit ok', 'Edit error'],
    skills: [],
    needs: 'call_requests',
  },
  parallel: { calls: ['Read ok', 'Bash ok', 'Bash ok', 'Read error'], skills: [], needs: null },
  skill: { calls: ['Skill ok'], skills: ['toy'], needs: 'skills' },
  mcp: { calls: ['mcp__toy__add ok', 'mcp__toy__add error'], skills: [], needs: null },
  denied: { calls: ['Bash denied', 'Write denied', 'Read ok'], skills: [], needs: 'denials' },
};
/** Minimum number of agents with a recording of each optional task. */
const COMPARED_MIN: Readonly<Record<string, number>> = { parallel: 4, mcp: 7 };

interface Difference {
  task: string;
  agents: readonly string[];
  /** Absent: both. */
  channel?: Recording['channel'];
  calls: readonly string[];
  /** The agent's way of working, the content of its channel, or the model's script. */
  of: 'agent' | 'channel' | 'script';
  why: string;
}

/** The stream of some agents does not say how a call ended. */
const NO_STATUS =
  'a result on the stream has no status, unless its text is one of the CLI; the session file has it';

const DIFFERENCES: readonly Difference[] = [
  {
    task: 'read',
    agents: ['kimi'],
    channel: 'stdout',
    calls: ['Read unknown'],
    of: 'channel',
    why: NO_STATUS,
  },
  {
    task: 'bash-fail',
    agents: ['kimi'],
    channel: 'stdout',
    calls: ['Bash error 3', 'Bash unknown'],
    of: 'channel',
    why: NO_STATUS,
  },
  {
    task: 'write-edit',
    agents: ['kimi'],
    channel: 'stdout',
    calls: ['Write ok', 'Edit ok', 'Edit unknown'],
    of: 'channel',
    why: NO_STATUS,
  },
  {
    task: 'parallel',
    agents: ['kimi'],
    channel: 'stdout',
    calls: ['Read unknown', 'Bash unknown', 'Bash unknown', 'Read unknown'],
    of: 'channel',
    why: NO_STATUS,
  },
  {
    task: 'mcp',
    agents: ['kimi'],
    channel: 'stdout',
    calls: ['mcp__toy__add unknown', 'mcp__toy__add unknown'],
    of: 'channel',
    why: NO_STATUS,
  },
  {
    task: 'denied',
    agents: ['kimi'],
    channel: 'stdout',
    calls: ['Bash unknown', 'Write unknown', 'Read unknown'],
    of: 'channel',
    why: NO_STATUS,
  },
  {
    task: 'denied',
    agents: ['kimi'],
    channel: 'session',
    calls: ['Bash error', 'Write error', 'Read ok'],
    of: 'agent',
    why: 'with a prompt it approves everything; a hook refuses the calls, which is an error',
  },
  {
    task: 'read',
    agents: ['claude', 'copilot'],
    calls: ['Read ok', 'Read ok'],
    of: 'script',
    why: 'two files are read',
  },
  {
    task: 'bash-fail',
    agents: ['gemini'],
    channel: 'stdout',
    calls: ['Bash ok', 'Bash ok'],
    of: 'channel',
    why: 'the stream reports a failed command as a success without an exit code; the session file reports it correctly',
  },
  {
    task: 'bash-fail',
    agents: ['pi'],
    calls: ['Bash error 3', 'Bash timeout', 'Bash ok'],
    of: 'script',
    why: 'a command that times out runs in between',
  },
  {
    task: 'write-edit',
    agents: ['codex'],
    calls: ['Write ok', 'Edit ok', 'Edit ok'],
    of: 'script',
    why: 'the third patch deletes a file',
  },
  {
    task: 'write-edit',
    agents: ['gemini'],
    calls: ['Write ok', 'Edit ok', 'Write ok'],
    of: 'script',
    why: 'the file is written again at the end',
  },
  {
    task: 'write-edit',
    agents: ['qwen'],
    calls: ['Write ok', 'Read ok', 'Edit ok'],
    of: 'script',
    why: 'the file to edit is read first, and every edit applies',
  },
  {
    task: 'parallel',
    agents: ['codex'],
    channel: 'stdout',
    calls: ['Bash ok', 'Read ok', 'Bash ok'],
    of: 'channel',
    why: 'the stream reports the slow command last; the script has no missing file',
  },
  {
    task: 'parallel',
    agents: ['codex'],
    channel: 'session',
    calls: ['Bash ok', 'Bash ok', 'Read ok'],
    of: 'script',
    why: 'the file is read last, and none is missing',
  },
  {
    task: 'parallel',
    agents: ['kilo'],
    channel: 'stdout',
    calls: ['Read error', 'Bash ok', 'Read ok', 'Bash ok'],
    of: 'channel',
    why: 'the stream reports calls in the order of their ends',
  },
  {
    task: 'parallel',
    agents: ['pi'],
    calls: ['Read ok', 'Bash ok', 'LS ok'],
    of: 'script',
    why: 'a folder is listed instead',
  },
  {
    task: 'skill',
    agents: ['claude', 'copilot'],
    calls: ['Skill ok', 'Read ok'],
    of: 'script',
    why: 'a file of the skill is read after it',
  },
  {
    task: 'skill',
    agents: ['codex', 'grok', 'omp', 'pi'],
    calls: ['Read ok'],
    of: 'agent',
    why: 'it has no skill tool: it uses a skill by reading its file',
  },
  {
    task: 'mcp',
    agents: ['codex'],
    channel: 'session',
    calls: ['tool_search ok', 'mcp__toy__add ok', 'mcp__toy__add error'],
    of: 'agent',
    why: 'MCP tools are searched for first, which only the session file shows',
  },
  {
    task: 'mcp',
    agents: ['qwen'],
    calls: ['tool_search ok', 'mcp__toy__add ok', 'mcp__toy__add error'],
    of: 'agent',
    why: 'MCP tools are searched for first',
  },
  {
    task: 'denied',
    agents: ['claude', 'cline'],
    calls: ['Bash denied', 'Write denied'],
    of: 'script',
    why: 'nothing is read afterwards',
  },
  {
    task: 'denied',
    agents: ['codex'],
    channel: 'stdout',
    calls: [],
    of: 'channel',
    why: 'the stream does not report a refused command',
  },
  {
    task: 'denied',
    agents: ['codex'],
    channel: 'session',
    calls: ['Bash denied'],
    of: 'script',
    why: 'only a command is tried',
  },
  {
    task: 'denied',
    agents: ['gemini'],
    calls: ['Bash error', 'Write error', 'Read ok'],
    of: 'agent',
    why: 'without approval the tools that need it are missing, and calling one is an error',
  },
  {
    task: 'denied',
    agents: ['opencode', 'pi'],
    calls: ['Bash denied'],
    of: 'script',
    why: 'only a command is tried',
  },
];

/** Tool and skill names differ between recordings. */
const TOY_SKILLS: readonly string[] = ['greeting-style', 'toy-greeter', 'toy-skill'];
const TOY_TOOL = /^mcp__toy(box)?__(toy_add|add_numbers)$/;

/** The task's recordings. Recordings of a session file alone have another name; an earlier version counts only without a newer one. */
function recordingsOf(task: string, agent: Agent): Recording[] {
  const all = recordingsIn(join(root, 'src/agents', agent.id, 'testdata'));
  const named = (names: readonly string[]) =>
    all.filter(({ scenario }) => names.includes(scenario));
  const own = named([task, `${task}-session`]);
  return own.length > 0
    ? own
    : named(agent.checked_versions.map((version) => `${version}-${task}`));
}

const differenceOf = (task: string, agent: string, channel: Recording['channel']) =>
  DIFFERENCES.find(
    (one) =>
      one.task === task &&
      one.agents.includes(agent) &&
      (one.channel === undefined || one.channel === channel),
  );

// The built-in agent and the agent for any program have no recordings of these tasks.
const agents = (await allAgents()).filter(
  ({ binaries, launch }) => binaries.length > 0 && launch !== null,
);

for (const agent of agents) {
  const channels =
    agent.session === null ? (['stdout'] as const) : (['stdout', 'session'] as const);
  for (const [task, usual] of Object.entries(TASKS)) {
    const recordings = recordingsOf(task, agent);
    const asked = usual.needs !== null && agent.capabilities[usual.needs] !== 'never';
    if (!asked && recordings.length === 0) continue;
    for (const channel of channels) {
      verifies(
        ['AG-3', 'AG-4', 'AG-6', 'AG-8', 'AG-9', 'AG-11'],
        `${task}: ${agent.id} gives the same calls and verdict as every agent (${channel})`,
        async () => {
          const same = recordings.filter((one) => one.channel === channel);
          expect(same.length).toBeGreaterThan(0);
          const { calls } = differenceOf(task, agent.id, channel) ?? usual;
          for (const recording of same) {
            const { tool_calls, ...outcome } = outcomeOf(await wholeRun(agent, recording));
            const reported = tool_calls.map(({ name, status, exit_code }) =>
              [name.replace(TOY_TOOL, 'mcp__toy__add'), status, exit_code || []].flat().join(' '),
            );
            expect({
              calls: reported,
              skills: outcome.skills_used.map((name) => (TOY_SKILLS.includes(name) ? 'toy' : name)),
              success: outcome.success,
              exit_reason: outcome.exit_reason,
            }).toEqual({ calls, skills: usual.skills, success: true, exit_reason: 'ok' });
          }
        },
      );
    }
  }
}

test('every listed difference differs, and enough agents have a recording of each optional task', () => {
  for (const { task, agents: named, calls, why } of DIFFERENCES) {
    expect(calls, `${task}: ${why}`).not.toEqual(TASKS[task]?.calls);
    for (const id of named) expect(agents.map((agent) => agent.id)).toContain(id);
  }
  for (const [task, least] of Object.entries(COMPARED_MIN)) {
    const having = agents.filter((agent) => recordingsOf(task, agent).length > 0);
    expect(having.length, task).toBeGreaterThanOrEqual(least);
  }
});
