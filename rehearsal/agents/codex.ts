/** Codex CLI: uses a scripted Responses API as a provider in its settings, needs no login. */
import { INSIDE, MODEL_URL, type NativeCall, type Rehearsed } from './agent.ts';

/** The model gets the tools themselves, not one tool that runs scripts. */
const CONFIG = `model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[feedback]
enabled = false

[features]
plugins = false

[otel]
exporter = "none"

[model_providers.scripted]
name = "scripted"
base_url = "${MODEL_URL}/v1"
wire_api = "responses"
env_key = "REHEARSAL_API_KEY"
request_max_retries = 2
stream_max_retries = 2
`;

/** On a terminal, it would ask at some moment of its start whether to change to this model, and lose what is typed. */
const ASKED = `
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
`;

const SKILL = `---
name: greeting-style
description: How this project greets people.
---
Greet with "Ahoy!".
`;
const SKILL_PATH = '.agents/skills/greeting-style/SKILL.md';

const MCP_ARGS = [
  ...['--config', `mcp_servers.toybox.command="${INSIDE.bin}/node"`],
  ...['--config', `mcp_servers.toybox.args=["${INSIDE.project}/rehearsal/toybox-mcp.ts"]`],
];

/** The longest time that the CLI waits for a command. */
const COMMAND_WAIT_MS = 30_000;

const run = (cmd: unknown): NativeCall => ({
  tool: 'exec_command',
  input: { cmd, yield_time_ms: COMMAND_WAIT_MS },
});
const patch = (...lines: string[]): NativeCall => ({
  tool: 'apply_patch',
  input: { input: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') },
});
/** Paths in patches are relative. */
const named = (path: unknown) => String(path).replace('{{WORK}}/', '');
const marked = (mark: string, text: unknown) =>
  String(text)
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => mark + line);

const NATIVE: Readonly<Record<string, (input: NativeCall['input']) => NativeCall>> = {
  Read: ({ file_path }) => run(`cat ${file_path}`),
  Skill: () => run(`cat ${SKILL_PATH}`),
  Bash: ({ command }) => run(command),
  Write: ({ file_path, content }) =>
    patch(`*** Add File: ${named(file_path)}`, ...marked('+', content)),
  Edit: ({ file_path, old_string, new_string }) =>
    patch(
      `*** Update File: ${named(file_path)}`,
      '@@',
      ...marked('-', old_string),
      ...marked('+', new_string),
    ),
  Task: ({ prompt }) => ({ tool: 'multi_agent_v1/spawn_agent', input: { message: prompt } }),
  mcp__toybox__add_numbers: (input) => ({ tool: 'mcp__toybox/add_numbers', input }),
};

export const codex: Rehearsed = {
  id: 'codex',
  package: { name: '@openai/codex', version: '0.166.0', program: 'node_modules/.bin/codex' },
  dialect: 'openai-responses',
  env: { REHEARSAL_API_KEY: 'rehearsal-000' },
  home: { '.codex/config.toml': CONFIG },
  args: ['--skip-git-repo-check'],
  terminal: {
    // By default it leaves its sessions to a server that stays when it quits: they would still wait for the user.
    args: ['--dangerously-bypass-approvals-and-sandbox', '--no-daemon'],
    home: (work) => ({
      '.codex/config.toml': `${CONFIG}${ASKED}\n[projects.${JSON.stringify(work)}]\ntrust_level = "trusted"\n`,
    }),
    // It suggests a newer model.
    answers: [['Use existing model', '\x1b']],
    quit: ['\x03', '\x03'],
  },
  machine_settings: ['/etc/codex'],
  native: ({ tool, input }) => NATIVE[tool]?.(input) ?? { tool, input },
  setUp: (need) =>
    need === 'skill' ? { files: { [SKILL_PATH]: SKILL }, args: [] } : { files: {}, args: MCP_ARGS },
  without: {},
  filed_calls: [
    { tool: 'Task', status: 'ok' },
    { tool: 'wait_agent', status: 'ok' },
    { tool: 'Read', status: 'ok', parent: 0 },
    { tool: 'Bash', status: 'error', exit_code: 4, parent: 0 },
  ],
  differs: {
    // The end record of a failed turn has no figures, and the session file has none either.
    'provider-error': { complete: false },
    // Commands of one answer are announced when they start.
    parallel: { any_order: true },
    // Refusals are only in the session file, as text sent to the model.
    denied: { denials: 0 },
    // There is no tool for skills: the model reads the file.
    skill: { calls: [{ tool: 'Read', status: 'ok' }] },
    // The model has to wait for its helper with a call.
    subagent: {
      calls: [
        { tool: 'Task', status: 'ok' },
        { tool: 'wait', status: 'ok' },
        { tool: 'Read', status: 'ok', parent: 0 },
        { tool: 'Bash', status: 'error', exit_code: 4, parent: 0 },
      ],
    },
    // SIGTERM ends it immediately, without an end in either channel.
    timeout: { complete: false },
  },
};
