/** GitHub Copilot CLI: works offline with a custom provider that speaks chat completions, needs no login. */
import { INSIDE, MODEL_URL, type NativeCall, type Rehearsed, SKILL_FILE, TOYBOX } from './agent.ts';

/** The program is in an optional package per platform; the main package only looks for it. */
function program(): string | null {
  if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch)) return null;
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  const libc = report.header?.glibcVersionRuntime ? '' : 'musl';
  return `node_modules/@github/copilot-linux${libc}-${process.arch}/copilot`;
}

const MCP_CONFIG = JSON.stringify({
  mcpServers: {
    toybox: { ...TOYBOX, type: 'local', tools: ['*'] },
  },
});

const NATIVE: Readonly<Record<string, (input: NativeCall['input']) => NativeCall>> = {
  Read: ({ file_path }) => ({ tool: 'view', input: { path: file_path } }),
  Write: ({ file_path, content }) => ({
    tool: 'create',
    input: { path: file_path, file_text: content },
  }),
  Edit: ({ file_path, old_string, new_string }) => ({
    tool: 'edit',
    input: { path: file_path, old_str: old_string, new_str: new_string },
  }),
  Bash: (input) => ({ tool: 'bash', input }),
  Skill: (input) => ({ tool: 'skill', input }),
  Task: (input) => ({
    tool: 'task',
    input: { ...input, name: 'helper', agent_type: 'general-purpose', mode: 'sync' },
  }),
  mcp__toybox__add_numbers: (input) => ({ tool: 'toybox-add_numbers', input }),
};

export const copilot: Rehearsed = {
  id: 'copilot',
  package: { name: '@github/copilot', version: '1.0.102', program: program() },
  dialect: 'openai-chat',
  env: {
    COPILOT_AUTO_UPDATE: 'false',
    COPILOT_HOME: `${INSIDE.home}/.copilot`,
    // The name decides which tools the CLI offers and, for a known model, how long a prompt may be.
    COPILOT_MODEL: 'scripted',
    COPILOT_OFFLINE: 'true',
    COPILOT_PROVIDER_API_KEY: 'sk-rehearsal-000',
    COPILOT_PROVIDER_BASE_URL: `${MODEL_URL}/v1`,
    COPILOT_PROVIDER_MAX_OUTPUT_TOKENS: '8192',
    COPILOT_PROVIDER_MAX_PROMPT_TOKENS: '2000000',
  },
  terminal: {
    args: ['--allow-all'],
    answers: [['Do you trust the files', '\r']],
    quit: ['/exit', '\r'],
  },
  machine_settings: [],
  native: ({ tool, input }) => NATIVE[tool]?.(input) ?? { tool, input },
  setUp: (need) =>
    need === 'skill'
      ? { files: { '.github/skills/greeting-style/SKILL.md': SKILL_FILE }, args: [] }
      : { files: {}, args: ['--additional-mcp-config', MCP_CONFIG] },
  without: {},
  differs: {
    // Tokens are only in the session file, and a failed request leaves none there.
    'provider-error': { complete: false },
    // The session's id is only in the end record, which may be missing after a signal. Without the id there is no
    // session file, and there are no tokens.
    interrupt: { usage: false, complete: false, session: false },
    timeout: { usage: false, complete: false, session: false },
    kill: { session: false },
  },
};
