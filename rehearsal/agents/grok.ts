/** Grok: a custom model in its configuration speaks chat completions. */
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { MODEL_URL, type NativeCall, type Rehearsed, SKILL_FILE, TOYBOX } from './agent.ts';

const HAS_BUILD = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch);
const PROGRAM = `node_modules/@xai-official/grok-linux-${process.arch}/bin/grok`;

const CONFIG = `[cli]
auto_update = false

[features]
session_recap = false
title_refresh = false
turn_summary = false

[ui]
prompt_suggestions = false

[models]
default = "scripted"

[model.scripted]
model = "scripted"
base_url = "${MODEL_URL}/v1"
name = "scripted"
api_key = "sk-rehearsal-000"
api_backend = "chat_completions"
context_window = 2000000
max_completion_tokens = 8192
`;

const MCP_CONFIG = `[mcp_servers.toybox]
command = ${JSON.stringify(TOYBOX.command)}
args = ${JSON.stringify(TOYBOX.args)}
`;

const NATIVE: Readonly<Record<string, (input: NativeCall['input']) => NativeCall>> = {
  Read: ({ file_path }) => ({ tool: 'read_file', input: { target_file: file_path } }),
  Write: (input) => ({ tool: 'write', input }),
  Edit: (input) => ({ tool: 'search_replace', input }),
  Bash: (input) => ({ tool: 'run_terminal_command', input }),
  // It has no tool for skills: the model reads the skill's file.
  Skill: ({ skill }) => ({
    tool: 'read_file',
    input: { target_file: `{{WORK}}/.grok/skills/${skill}/SKILL.md` },
  }),
  Task: (input) => ({ tool: 'spawn_subagent', input: { ...input, background: false } }),
  mcp__toybox__add_numbers: (tool_input) => ({
    tool: 'use_tool',
    input: { tool_name: 'toybox__add_numbers', tool_input },
  }),
};

export const grok: Rehearsed = {
  id: 'grok',
  package: {
    name: '@xai-official/grok',
    version: '1.0.41',
    program: HAS_BUILD ? PROGRAM : null,
    // As its install script does.
    async finish(root) {
      const program = join(root, PROGRAM);
      const packed = await readFile(`${program}.br`);
      await writeFile(program, await promisify(brotliDecompress)(packed));
      await chmod(program, 0o755);
    },
  },
  dialect: 'openai-chat',
  env: { GROK_DISABLE_AUTOUPDATER: '1', GROK_TELEMETRY_ENABLED: '0' },
  home: { '.grok/config.toml': CONFIG },
  terminal: { args: ['--always-approve'], quit: ['/exit', '\r'] },
  machine_settings: ['/etc/grok'],
  native: ({ tool, input }) => NATIVE[tool]?.(input) ?? { tool, input },
  setUp: (need) =>
    need === 'skill'
      ? { files: { '.grok/skills/greeting-style/SKILL.md': SKILL_FILE }, args: ['--trust'] }
      : { files: { '.grok/config.toml': MCP_CONFIG }, args: ['--trust'] },
  without: {},
  differs: {
    // Only the session file reports retries.
    'provider-retry': { provider_retries: 0 },
    skill: { calls: [{ tool: 'Read', status: 'ok' }] },
    // A refusal ends the run.
    denied: {
      exit: 4,
      exit_reason: 'denied',
      calls: [{ tool: 'Bash', status: 'denied' }],
      final_text: 'Deleting.',
    },
    // The session's id is only in the end record, which is missing after a signal or a failure.
    'provider-error': { complete: false, session: false },
    interrupt: { complete: false, session: false },
    // A command that takes long is moved to the background, which ends its call.
    timeout: {
      calls: [{ tool: 'Bash', status: 'cancelled', or: 'ok' }],
      complete: false,
      session: false,
    },
    kill: { session: false },
  },
};
