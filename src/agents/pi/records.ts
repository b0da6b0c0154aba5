/** Records and blocks that are known and carry nothing of a run's events, as data. */

/** stdout (JSON and RPC mode): known, and nothing in them is an event. */
export const STDOUT_IGNORED: ReadonlySet<string> = new Set([
  'auto_retry_end',
  'bash_execution_update',
  'entry_appended',
  'queue_update',
  'session_info_changed',
  'summarization_retry_attempt_start',
  'summarization_retry_finished',
  'thinking_level_changed',
]);

/** stdout: told to people. */
export const STDOUT_NOTICES: ReadonlySet<string> = new Set([
  'auto_compaction_start',
  'compaction_start',
  'extension_error',
  'extension_ui_request',
  'summarization_retry_scheduled',
]);

/** `assistantMessageEvent` types that repeat what the finished message says. */
export const UPDATES_IGNORED: ReadonlySet<string> = new Set([
  'done',
  'error',
  'start',
  'text_end',
  'text_start',
  'thinking_end',
  'thinking_start',
  'toolcall_delta',
  'toolcall_start',
]);

/** Entries of a session file. */
export const SESSION_IGNORED: ReadonlySet<string> = new Set([
  'custom',
  'custom_message',
  'label',
  'session_info',
  'thinking_level_change',
]);

/** Messages that neither the user nor the model wrote; commands the user ran by himself. */
export const ROLES_IGNORED: ReadonlySet<string> = new Set([
  'bashExecution',
  'branchSummary',
  'compactionSummary',
  'custom',
  'hookMessage',
]);
