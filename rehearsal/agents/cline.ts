/** Cline: a provider in its settings speaks chat completions. */
import { MODEL_URL, type NativeCall, type Rehearsed, SKILL_FILE, TOYBOX } from './agent.ts';

const HAS_BUILD = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch);

const PROVIDERS = JSON.stringify({
  version: 1,
  lastUsedProvider: 'openai-compatible',
  modes: {},
  providers: {
    'openai-compatible': {
      settings: {
        provider: 'openai-compatible',
        apiKey: 'sk-rehearsal-000',
        model: 'scripted',
        baseUrl: `${MODEL_URL}/v1`,
      },
      updatedAt: '2025-01-01T00:00:00.000Z',
      tokenSource: 'manual',
    },
  },
});

const NATIVE: Readonly<Record<string, (input: NativeCall['input']) => NativeCall>> = {
  Read: ({ file_path }) => ({ tool: 'read_files', input: { files: [{ path: file_path }] } }),
  Write: ({ file_path, content }) => ({
    tool: 'editor',
    input: { path: file_path, new_text: content },
  }),
  Edit: ({ file_path, old_string, new_string }) => ({
    tool: 'editor',
    input: { path: file_path, old_text: old_string, new_text: new_string },
  }),
  Bash: ({ command }) => ({ tool: 'run_commands', input: { commands: [command] } }),
  Skill: (input) => ({ tool: 'skills', input }),
  Task: ({ prompt }) => ({
    tool: 'spawn_agent',
    input: { systemPrompt: 'You are a helper.', task: prompt },
  }),
};

/** stdout has no session id in any scenario. */
const NO_SESSION = Object.fromEntries(
  `text provider-error provider-retry read bash-fail write-edit parallel denied skill mcp subagent interrupt timeout kill
    tacho-killed`
    .split(/\s+/)
    .map((name) => [name, { session: false }] as const),
);

export const cline: Rehearsed = {
  id: 'cline',
  package: {
    name: 'cline',
    version: '3.0.65',
    program: HAS_BUILD ? `node_modules/@cline/cli-linux-${process.arch}/bin/cline` : null,
  },
  dialect: 'openai-chat',
  env: {},
  home: {
    '.cline/data/settings/providers.json': PROVIDERS,
    '.cline/data/settings/cline_mcp_settings.json': JSON.stringify({
      mcpServers: { toybox: TOYBOX },
    }),
  },
  one_prompt: true,
  machine_settings: [],
  native: ({ tool, input }) => NATIVE[tool]?.(input) ?? { tool: tool.replace(/^mcp__/, ''), input },
  setUp: (need) =>
    need === 'skill'
      ? { files: { '.cline/skills/greeting-style/SKILL.md': SKILL_FILE }, args: [] }
      : { files: {}, args: [] },
  without: { 'long-prompt': 'takes the prompt only as an argument' },
  differs: {
    ...NO_SESSION,
    // The figures of a failed run are all 0.
    'provider-error': { session: false, complete: false },
    // Retried requests are not reported.
    'provider-retry': { session: false, provider_retries: 0 },
    // SIGINT ends it without an end record.
    interrupt: { session: false, complete: false },
  },
};
