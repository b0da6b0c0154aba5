/** Messages and words of the protocol, and of those who speak it, as data. */
import { own } from '../../lib/own.ts';
import type { ExitReason } from '../../model/words.ts';

/** Updates that tell nothing of the run: what an editor would show beside it. */
export const SILENT_UPDATES: ReadonlySet<string> = new Set([
  'available_commands_update',
  'compaction_summary_chunk',
  'compaction_update',
  'config_option_update',
  'current_mode_update',
  'session_info_update',
  'terminal_output_chunk',
  'terminal_update',
  'tool_call_content_chunk',
  'user_message',
  'user_message_chunk',
]);

/** Methods that the agent may call on its client and that change nothing in the record. */
export const SILENT_METHODS: ReadonlySet<string> = new Set([
  '$/cancel_request',
  'elicitation/complete',
  'elicitation/create',
  'fs/read_text_file',
  'fs/write_text_file',
  'terminal/create',
  'terminal/kill',
  'terminal/output',
  'terminal/release',
  'terminal/wait_for_exit',
]);
/** How extensions begin: the protocol reserves the underscore, the others were seen. */
export const EXTENSIONS = ['_', 'craft/', 'qwen/'];

/** `max_tokens` is the model's limit for one answer: the run has ended all the same. */
export const STOP_REASONS: Readonly<Record<string, ExitReason>> = {
  end_turn: 'ok',
  max_tokens: 'ok',
  max_turn_requests: 'max_steps',
  refusal: 'agent_error',
  cancelled: 'cancelled',
};

export const AUTH_REQUIRED = -32000;
const INTERNAL_ERROR = -32603;

/** Whether the error that answers a prompt is the model API's: its HTTP status, or what the agent could not handle. */
export function isProviderCode(code: number | null): boolean {
  return code === INTERNAL_ERROR || httpStatus(code) !== null;
}

export function httpStatus(code: number | null): number | null {
  return code !== null && code >= 400 && code <= 599 ? code : null;
}

/** What `usage` of a prompt's answer counts: the prompt, the session so far, or only its last request to the model. */
export type UsageScope = 'prompt' | 'session' | 'request';

/** What one speaker does differently. Known by the name in `agentInfo`. */
export interface Speaker {
  readonly usage?: UsageScope;
  /** How texts begin that the program says itself, as if its model had. */
  readonly own_texts?: readonly string[];
  /** What parts server and tool in the name of an MCP tool. */
  readonly mcp_separator?: string;
  /** Texts of a sub-agent are not marked: the root agent is silent while one runs. */
  readonly unmarked_sub_agents?: boolean;
}

const SPEAKERS: Readonly<Record<string, Speaker>> = {
  Copilot: {
    usage: 'session',
    own_texts: ['Info: '],
    mcp_separator: '-',
    unmarked_sub_agents: true,
  },
  OpenCode: { usage: 'request', mcp_separator: '_' },
  'gemini-cli': { own_texts: ['[MODE_UPDATE] '] },
};
const ANYBODY: Speaker = {};

export function speakerOf(name: string | null): Speaker {
  return own(SPEAKERS, name ?? '') ?? ANYBODY;
}

/** How a refused call is told: codes, and how texts begin and end. */
export const REFUSAL_CODES: ReadonlySet<string> = new Set(['denied', 'rejected']);
export const REFUSAL_STARTS = [
  'The user rejected permission to use this specific tool call',
  'The user rejected this tool call',
  'Tool execution denied by policy',
  'User refused permission to run tool',
];
export const REFUSAL_ENDS = [
  '" denied by policy.',
  '" was canceled by the user.',
  '" was cancelled by the user.',
];

/** How the text of a call that was cancelled begins, where its status says that it was completed. */
export const CANCELLED_STARTS = ['Command cancelled by user', 'Command was cancelled'];
/** How a failed command's output begins that holds its exit code. */
export const EXIT_CODE_TEXT = /^Exit code (\d{1,3})(?:\n|$)/;
