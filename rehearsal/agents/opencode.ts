/** OpenCode: a custom provider in its configuration speaks chat completions. */
import { INSIDE, MODEL_URL, type NativeCall, type Rehearsed, SKILL_FILE, TOYBOX } from './agent.ts';

const HAS_BUILD = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch);

/** The program is in an optional package per platform; the main package only looks for it. */
function program(): string | null {
  if (!HAS_BUILD) return null;
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  const libc = report.header?.glibcVersionRuntime ? '' : '-musl';
  return `node_modules/opencode-linux-${process.arch}${libc}/bin/opencode`;
}

/** It would download ripgrep at its first file search, which a skill also triggers. */
export const RIPGREP = { name: `@vscode/ripgrep-linux-${process.arch}`, version: '1.18.0' };

export const CONFIG = JSON.stringify({
  autoupdate: false,
  share: 'disabled',
  enabled_providers: ['rehearsal'],
  model: 'rehearsal/scripted',
  small_model: 'rehearsal/scripted',
  // Permission requests are refused if nobody answers. By default it asks for nothing within the work folder.
  permission: { bash: 'ask', edit: 'ask' },
  provider: {
    rehearsal: {
      npm: '@ai-sdk/openai-compatible',
      options: { baseURL: `${MODEL_URL}/v1`, apiKey: 'sk-rehearsal-000' },
      models: {
        scripted: {
          tool_call: true,
          reasoning: true,
          limit: { context: 2_000_000, output: 8192 },
          cost: { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 },
        },
      },
    },
  },
});

/** On a terminal, a person would have to answer. */
export const ALLOWING = CONFIG.replaceAll('"ask"', '"allow"');

export const MCP_CONFIG = JSON.stringify({
  mcp: { toybox: { type: 'local', command: [TOYBOX.command, ...TOYBOX.args], enabled: true } },
});

const NATIVE: Readonly<Record<string, (input: NativeCall['input']) => NativeCall>> = {
  Read: ({ file_path }) => ({ tool: 'read', input: { filePath: file_path } }),
  Write: ({ file_path, content }) => ({ tool: 'write', input: { filePath: file_path, content } }),
  Edit: ({ file_path, old_string, new_string }) => ({
    tool: 'edit',
    input: { filePath: file_path, oldString: old_string, newString: new_string },
  }),
  Bash: (input) => ({ tool: 'bash', input }),
  Skill: ({ skill }) => ({ tool: 'skill', input: { name: skill } }),
  Task: (input) => ({ tool: 'task', input: { ...input, subagent_type: 'general' } }),
};

export const opencode: Rehearsed = {
  id: 'opencode',
  package: {
    name: 'opencode-ai',
    version: '1.18.33',
    program: program(),
    beside: HAS_BUILD ? [RIPGREP] : [],
  },
  dialect: 'openai-chat',
  env: {
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_SHARE: '1',
    PATH: `${INSIDE.bin}:${INSIDE.cli}/node_modules/${RIPGREP.name}/bin:/usr/local/bin:/usr/bin:/bin`,
  },
  home: { '.config/opencode/opencode.json': CONFIG },
  reports_calls_late: true,
  terminal: {
    args: [],
    home: () => ({ '.config/opencode/opencode.json': ALLOWING }),
    quit: ['\x03', '\x03'],
  },
  machine_settings: ['/etc/opencode'],
  native: ({ tool, input }) =>
    NATIVE[tool]?.(input) ?? { tool: tool.replace(/^mcp__(\w+?)__/, '$1_'), input },
  setUp: (need) =>
    need === 'skill'
      ? { files: { '.opencode/skill/greeting-style/SKILL.md': SKILL_FILE }, args: [] }
      : { files: { 'opencode.json': MCP_CONFIG }, args: [] },
  without: {},
  differs: {
    // Neither channel reports retried requests.
    'provider-retry': { provider_retries: 0 },
    // Calls are reported when they end.
    parallel: { any_order: true },
    // A permission request that nobody answers is refused and ends the run.
    denied: {
      exit: 4,
      exit_reason: 'denied',
      calls: [{ tool: 'Bash', status: 'denied' }],
      final_text: 'Deleting.',
    },
    // A signal ends it immediately: the call is stored as running, and no cost of the turn is reported.
    interrupt: { usage: false, complete: false },
    timeout: { usage: false, complete: false },
  },
};
