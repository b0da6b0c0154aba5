/** Records that are no events of their own, as data. What stands in neither list nor in a decoder is an unknown record. */

/** stdout: `type` or `system/<subtype>`; what they say is said elsewhere too, or means nothing for a recording. */
export const STDOUT_IGNORED: ReadonlySet<string> = new Set([
  'command_lifecycle',
  'control_cancel_request',
  'keep_alive',
  'prompt_suggestion',
  'system/background_tasks_changed',
  'system/hook_progress',
  'system/hook_started',
  'system/session_state_changed',
  'system/status',
  'system/task_started',
  'system/task_updated',
  'system/thinking_tokens',
  'system/ui_invalidate',
]);

/** stdout: records that tell people something. */
export const STDOUT_NOTICES: ReadonlySet<string> = new Set([
  'auth_status',
  'rate_limit',
  'rate_limit_event',
  'tool_use_summary',
  'system/compact_boundary',
  'system/elicitation_complete',
  'system/files_persisted',
  'system/informational',
  'system/local_command_output',
  'system/memory_recall',
  'system/microcompact_boundary',
  'system/notification',
  'system/plugin_install',
  'system/session_writes_lost',
]);

/** Stream events beside message_start and the two deltas that are read. An error is told by the retry or failure after it. */
export const STREAM_EVENTS_IGNORED: ReadonlySet<string> = new Set([
  'content_block_start',
  'content_block_stop',
  'error',
  'message_delta',
  'message_stop',
  'ping',
]);
export const DELTAS_IGNORED: ReadonlySet<string> = new Set([
  'citations_delta',
  'input_json_delta',
  'signature_delta',
]);

/** Session file: bookkeeping of the CLI, and the vendor's prompts. */
export const SESSION_IGNORED: ReadonlySet<string> = new Set([
  'agent-color',
  'agent-name',
  'agent-setting',
  'ai-title',
  'api-request-blob',
  'api-request-shape',
  'atis-latch',
  'attribution-snapshot',
  'bridge-session',
  'content-replacement',
  'custom-title',
  'file-history-snapshot',
  'last-prompt',
  'mode',
  'permission-mode',
  'pr-link',
  'progress',
  'speculation-accept',
  'summary',
  'tag',
  'task-summary',
  'tools-used',
  'worktree-state',
  'system/away_summary',
  'system/bridge_status',
  'system/local_command',
  'system/stop_hook_summary',
  'system/turn_duration',
]);
export const SESSION_NOTICES: ReadonlySet<string> = new Set([
  'system/compact_boundary',
  'system/informational',
  'system/microcompact_boundary',
]);

/** Attachments of the session file that say how a hook ended. Other attachments are context for the model. */
export const HOOK_ATTACHMENTS: ReadonlyMap<string, string> = new Map([
  ['hook_success', 'success'],
  ['hook_blocking_error', 'error'],
  ['hook_non_blocking_error', 'error'],
  ['hook_error_during_execution', 'error'],
  ['hook_cancelled', 'cancelled'],
]);

/** Blocks of a message that carry nothing a recording shows. */
export const BLOCKS_IGNORED: ReadonlySet<string> = new Set([
  'document',
  'image',
  'redacted_thinking',
  'search_result',
  'tool_reference',
]);
