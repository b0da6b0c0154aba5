/** Pi: a custom provider in `models.json` speaks chat completions. */
import { MODEL_URL, type NativeCall, type Rehearsed, SKILL_FILE, TOYBOX } from './agent.ts';

export const MODELS = JSON.stringify({
  providers: {
    rehearsal: {
      baseUrl: `${MODEL_URL}/v1`,
      apiKey: 'sk-rehearsal-000',
      api: 'openai-completions',
      models: [
        {
          id: 'scripted',
          reasoning: true,
          input: ['text'],
          cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
          contextWindow: 2_000_000,
          maxTokens: 8192,
        },
      ],
    },
  },
});

const NATIVE: Readonly<Record<string, (input: NativeCall['input']) => NativeCall>> = {
  Read: ({ file_path }) => ({ tool: 'read', input: { path: file_path } }),
  Write: ({ file_path, content }) => ({ tool: 'write', input: { path: file_path, content } }),
  Edit: ({ file_path, old_string, new_string }) => ({
    tool: 'edit',
    input: { path: file_path, edits: [{ oldText: old_string, newText: new_string }] },
  }),
  Bash: ({ command }) => ({ tool: 'bash', input: { command } }),
  // It has no tool for skills: the model reads the skill's file.
  Skill: ({ skill }) => ({
    tool: 'read',
    input: { path: `{{WORK}}/.pi/skills/${skill}/SKILL.md` },
  }),
};

const NAME = '@earendil-works/pi-coding-agent';

const MCP_CONFIG = JSON.stringify({
  mcpServers: { toybox: { ...TOYBOX, exposure: 'direct' } },
});

const SHARED = {
  id: 'pi',
  dialect: 'openai-chat',
  env: { PI_OFFLINE: '1', PI_TELEMETRY: '0' },
  home: { '.pi/agent/models.json': MODELS },
  args: ['--provider', 'rehearsal', '--model', 'scripted'],
  terminal: {
    args: ['--provider', 'rehearsal', '--model', 'scripted', '--approve'],
    quit: ['/quit', '\r'],
  },
  machine_settings: [],
  native: ({ tool, input }: NativeCall) => NATIVE[tool]?.(input) ?? { tool, input },
  differs: {
    skill: { calls: [{ tool: 'Read', status: 'ok' }] },
    // A signal ends it without an end record.
    interrupt: { complete: false },
    timeout: { complete: false },
  },
} as const;

const WITHOUT = {
  denied: 'has no permissions: every tool may always run',
  subagent: 'has no sub-agents',
};

export const pi: Rehearsed = {
  ...SHARED,
  package: {
    name: NAME,
    version: '1.5.0',
    program: 'node_modules/.bin/pi',
    // It depends on packages that are not published. The program has all of them inside, except these.
    bundle: 'dist/bundle/cli.js',
    beside: [
      { name: 'jiti', version: '2.7.0' },
      { name: 'quickjs-wasi', version: '3.6.2' },
    ],
  },
  setUp: (need) =>
    need === 'skill'
      ? { files: { '.pi/skills/greeting-style/SKILL.md': SKILL_FILE }, args: [] }
      : { files: { '.pi/mcp.json': MCP_CONFIG }, args: [] },
  without: WITHOUT,
};

/** The newest version before 1.0. */
export const earlierPi: Rehearsed = {
  ...SHARED,
  package: { name: NAME, version: '0.87.1', program: 'node_modules/.bin/pi' },
  setUp: () => ({ files: { '.pi/skills/greeting-style/SKILL.md': SKILL_FILE }, args: [] }),
  without: { ...WITHOUT, mcp: 'this version has no MCP' },
};
