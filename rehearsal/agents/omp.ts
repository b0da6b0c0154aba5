/** oh-my-pi: a variant of Pi that runs with Bun. */
import { INSIDE, type NativeCall, type Rehearsed, SKILL_FILE, TOYBOX } from './agent.ts';
import { MODELS, pi } from './pi.ts';

const HAS_BUILD = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch);
const VERSION = '18.2.3';
const BUN = `@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64'}`;

const AS_PI = 'is rehearsed with pi, which has the same code for it';

const MCP_CONFIG = JSON.stringify({ mcpServers: { toybox: TOYBOX } });

const NATIVE: Readonly<Record<string, (input: NativeCall['input']) => NativeCall>> = {
  Edit: ({ file_path, ...strings }) => ({ tool: 'edit', input: { path: file_path, ...strings } }),
  Skill: ({ skill }) => ({
    tool: 'read',
    input: { path: `{{WORK}}/.omp/skills/${skill}/SKILL.md` },
  }),
  Task: ({ prompt }) => ({ tool: 'task', input: { context: 'Help.', tasks: [{ task: prompt }] } }),
};

export const omp: Rehearsed = {
  ...pi,
  id: 'omp',
  package: {
    name: '@oh-my-pi/pi-coding-agent',
    version: VERSION,
    program: HAS_BUILD ? 'node_modules/.bin/omp' : null,
    // Its dependencies take a gigabyte; the program has them inside, except these.
    bundle: 'dist/cli.js',
    beside: [
      { name: '@oh-my-pi/pi-natives', version: VERSION },
      { name: '@babel/parser', version: '7.29.7' },
      { name: BUN, version: '1.4.4' },
    ],
  },
  env: {
    OMP_SKIP_SETUP: '1',
    // By default, an edit needs a hash of the file's content.
    PI_EDIT_VARIANT: 'replace',
    PATH: `${INSIDE.bin}:${INSIDE.cli}/node_modules/${BUN}/bin:/usr/local/bin:/usr/bin:/bin`,
  },
  home: { '.omp/agent/models.yml': MODELS },
  args: ['--model', 'rehearsal/scripted', '--no-title'],
  terminal: {
    args: ['--model', 'rehearsal/scripted', '--no-title', '--auto-approve'],
    quit: ['/quit', '\r'],
  },
  native: (call) => NATIVE[call.tool]?.(call.input) ?? pi.native(call),
  setUp: (need) =>
    need === 'skill'
      ? { files: { '.omp/skills/greeting-style/SKILL.md': SKILL_FILE }, args: [] }
      : { files: { '.omp/mcp.json': MCP_CONFIG }, args: [] },
  without: {
    'long-prompt': AS_PI,
    timeout: AS_PI,
    kill: AS_PI,
    subagent: 'sub-agents run in the background, in sessions of their own',
  },
  differs: {
    ...pi.differs,
    // Its client library retries requests without a record.
    'provider-retry': { provider_retries: 0 },
    // It connects to the server in the background: on a busy machine, the first call may come too early.
    mcp: {
      calls: [
        { tool: 'mcp__toybox__add_numbers', status: 'ok', or: 'error' },
        { tool: 'mcp__toybox__add_numbers', status: 'error' },
      ],
    },
  },
};
