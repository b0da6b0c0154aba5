/** Gemini CLI: uses a scripted Gemini API with a fake key. */
import { INSIDE, MODEL_URL, type NativeCall, type Rehearsed } from './agent.ts';

const SKILL = `---
name: greeting-style
description: How this project greets people.
---
Greet with "Ahoy!".
`;

const MCP_SETTINGS = JSON.stringify({
  mcpServers: {
    toybox: {
      command: `${INSIDE.bin}/node`,
      args: [`${INSIDE.project}/rehearsal/toybox-mcp.ts`],
    },
  },
});

/** A custom sub-agent ends with a text. The CLI's own sub-agents end with values in their own format. */
const HELPER = `---
name: helper
description: Looks at files.
---
You look at files and say what they are.
`;

const SETTINGS = JSON.stringify({
  general: { disableAutoUpdate: true, enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
});

const NATIVE: Readonly<Record<string, (input: NativeCall['input']) => NativeCall>> = {
  Read: (input) => ({ tool: 'read_file', input }),
  Write: (input) => ({ tool: 'write_file', input }),
  Edit: (input) => ({ tool: 'replace', input: { ...input, instruction: 'Correct it.' } }),
  Bash: (input) => ({ tool: 'run_shell_command', input }),
  Skill: ({ skill }) => ({ tool: 'activate_skill', input: { name: skill } }),
  Task: ({ prompt }) => ({ tool: 'invoke_agent', input: { agent_name: 'helper', prompt } }),
  mcp__toybox__add_numbers: (input) => ({ tool: 'mcp_toybox_add_numbers', input }),
};

export const gemini: Rehearsed = {
  id: 'gemini',
  package: {
    name: '@google/gemini-cli',
    version: '0.61.0',
    program: 'node_modules/.bin/gemini',
  },
  dialect: 'gemini',
  env: {
    GOOGLE_GEMINI_BASE_URL: MODEL_URL,
    GEMINI_API_KEY: 'rehearsal-000',
    // Without a model it first asks a smaller model which one to use.
    GEMINI_MODEL: 'gemini-2.5-pro',
    GEMINI_TELEMETRY_ENABLED: 'false',
    NO_BROWSER: '1',
  },
  home: { '.gemini/settings.json': SETTINGS, '.gemini/agents/helper.md': HELPER },
  terminal: { args: ['--approval-mode', 'yolo'], quit: ['/quit', '\r'] },
  machine_settings: ['/etc/gemini-cli'],
  native: ({ tool, input }) => NATIVE[tool]?.(input) ?? { tool, input },
  setUp: (need) =>
    need === 'skill'
      ? { files: { '.gemini/skills/greeting-style/SKILL.md': SKILL }, args: [] }
      : { files: { '.gemini/settings.json': MCP_SETTINGS }, args: [] },
  without: {},
  differs: {
    // Neither stdout nor the session file reports retries.
    'provider-retry': { provider_retries: 0 },
    // It does not offer its model tools that would need approval: calls to them are calls to unknown tools.
    denied: {
      calls: [
        { tool: 'Bash', status: 'error' },
        { tool: 'Write', status: 'error' },
      ],
    },
    // A sub-agent ends with a call.
    subagent: {
      calls: [
        { tool: 'Task', status: 'ok' },
        { tool: 'Read', status: 'ok', parent: 0 },
        { tool: 'Bash', status: 'error', exit_code: 4, parent: 0 },
        { tool: 'complete_task', status: 'ok', parent: 0 },
      ],
    },
    // When interrupted it prints no end record, which would have the tokens. The session file has no running calls, so
    // the run seems to have ended with the text before the call.
    interrupt: { usage: false, complete: false },
    timeout: { usage: false, complete: false },
  },
};
