/** Qwen Code: speaks chat completions with any address and any key. */
import { MODEL_URL, type NativeCall, type Rehearsed, SKILL_FILE, TOYBOX } from './agent.ts';

const SETTINGS = JSON.stringify({
  general: { disableAutoUpdate: true, enableAutoUpdate: false },
  // Its own agents, which look for something to remember, would use up turns of the script.
  memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
  model: { generationConfig: { contextWindowSize: 2_000_000 } },
  // On a terminal it would ask the model what the user may say next.
  ui: { enableFollowupSuggestions: false },
  privacy: { usageStatisticsEnabled: false },
});

const MCP_SETTINGS = JSON.stringify({ mcpServers: { toybox: TOYBOX } });

const NATIVE: Readonly<Record<string, (input: NativeCall['input']) => NativeCall>> = {
  Read: (input) => ({ tool: 'read_file', input }),
  Write: (input) => ({ tool: 'write_file', input }),
  Edit: (input) => ({ tool: 'edit', input }),
  Bash: (input) => ({ tool: 'run_shell_command', input: { ...input, is_background: false } }),
  Skill: (input) => ({ tool: 'skill', input }),
  Task: (input) => ({
    tool: 'agent',
    input: { ...input, subagent_type: 'general-purpose', run_in_background: false },
  }),
};

export const qwen: Rehearsed = {
  id: 'qwen',
  package: {
    name: '@qwen-code/qwen-code',
    version: '0.24.4',
    program: 'node_modules/.bin/qwen',
  },
  dialect: 'openai-chat',
  env: {
    NO_BROWSER: '1',
    OPENAI_API_KEY: 'sk-rehearsal-000',
    OPENAI_BASE_URL: `${MODEL_URL}/v1`,
    OPENAI_MODEL: 'scripted',
    QWEN_TELEMETRY_ENABLED: 'false',
  },
  home: { '.qwen/settings.json': SETTINGS },
  args: ['--auth-type', 'openai'],
  terminal: { args: ['--auth-type', 'openai', '--approval-mode', 'yolo'], quit: ['/quit', '\r'] },
  machine_settings: ['/etc/qwen-code'],
  native: ({ tool, input }) => NATIVE[tool]?.(input) ?? { tool, input },
  setUp: (need) =>
    need === 'skill'
      ? { files: { '.qwen/skills/greeting-style/SKILL.md': SKILL_FILE }, args: [] }
      : { files: { '.qwen/settings.json': MCP_SETTINGS }, args: [] },
  without: {},
  differs: {
    // Neither channel reports retried requests.
    'provider-retry': { provider_retries: 0 },
    // After a signal it prints no end record.
    interrupt: { complete: false },
    timeout: { complete: false },
  },
};
