/** Kimi Code: a custom provider in `config.toml` speaks chat completions. */
import { MODEL_URL, type NativeCall, type Rehearsed, SKILL_FILE, TOYBOX } from './agent.ts';

/** With a prompt, every call is approved. The hook refuses what the scenario `denied` expects to be refused. */
const CONFIG = `
default_model = "scripted"
telemetry = false

[providers.rehearsal]
type = "openai"
base_url = "${MODEL_URL}/v1"
api_key = "sk-rehearsal-000"

[models.scripted]
provider = "rehearsal"
model = "scripted"
max_context_size = 2000000
capabilities = ["thinking", "tool_use"]

[[hooks]]
event = "PreToolUse"
matcher = "Bash|Write"
command = "if grep -qE 'rm -rf notes|x[.]txt'; then echo 'Not allowed here.' >&2; exit 2; fi"
`;

const NATIVE: Readonly<Record<string, (input: NativeCall['input']) => NativeCall>> = {
  Read: ({ file_path }) => ({ tool: 'Read', input: { path: file_path } }),
  Write: ({ file_path, content }) => ({ tool: 'Write', input: { path: file_path, content } }),
  Edit: ({ file_path, ...rest }) => ({ tool: 'Edit', input: { path: file_path, ...rest } }),
  Task: (input) => ({ tool: 'Agent', input: { ...input, subagent_type: 'coder' } }),
};

/** A run that did not succeed prints no session id, so that its session file is not found. */
const NO_SESSION = { usage: false, complete: false, session: false } as const;

/** stdout has no status of calls. */
const NO_STATUS = [{ tool: 'Bash', status: 'unknown' }] as const;

export const kimi: Rehearsed = {
  id: 'kimi',
  package: {
    name: '@moonshot-ai/kimi-code',
    version: '2.1.0',
    program: 'node_modules/.bin/kimi',
  },
  dialect: 'openai-chat',
  env: {},
  home: {
    '.kimi-code/config.toml': CONFIG,
    '.kimi-code/mcp.json': JSON.stringify({ mcpServers: { toybox: TOYBOX } }),
  },
  reports_calls_late: true,
  terminal: { args: ['--yolo'], quit: ['/exit', '\r'] },
  machine_settings: [],
  native: ({ tool, input }) => NATIVE[tool]?.(input) ?? { tool, input },
  setUp: (need) =>
    need === 'skill'
      ? { files: { '.kimi-code/skills/greeting-style/SKILL.md': SKILL_FILE }, args: [] }
      : { files: {}, args: [] },
  without: { 'long-prompt': 'takes the prompt only as an argument' },
  differs: {
    // stdout shows nothing of the failure.
    'provider-error': {
      ...NO_SESSION,
      exit: 1,
      exit_reason: 'agent_error',
      provider_errors: 0,
    },
    // A hook's refusal is an error like any other.
    denied: {
      calls: [
        { tool: 'Bash', status: 'error' },
        { tool: 'Write', status: 'error' },
      ],
    },
    interrupt: { ...NO_SESSION, calls: NO_STATUS },
    timeout: { ...NO_SESSION, calls: NO_STATUS },
    // A call is printed with its result.
    kill: { calls: [], session: false },
    'tacho-killed': { calls: NO_STATUS },
  },
};
