/** Records that are no events of their own, as data. What stands in neither list nor in a decoder is an unknown record. */

/** stdout: `type` or `system/<subtype>`; what they say is said elsewhere too, or is a host's own protocol. */
export const STDOUT_IGNORED: ReadonlySet<string> = new Set([
  'control_cancel_request',
  'control_request',
  'control_response',
  'system/task_started',
]);

/** stdout: records that tell people something. */
export const STDOUT_NOTICES: ReadonlySet<string> = new Set([
  'system/model_fallback',
  'system/worktree_restored',
  'system/worktree_started',
]);

/** Stream events beside those that are read. Goals are sent even without partial messages. */
export const STREAM_EVENTS_IGNORED: ReadonlySet<string> = new Set([
  'active_goal',
  'content_block_start',
  'content_block_stop',
  'goal_state',
]);

/** Session file: bookkeeping of the CLI, and what its own views are rebuilt from. */
export const SESSION_IGNORED: ReadonlySet<string> = new Set([
  'agent_bootstrap',
  'agent_launch_prompt',
  'agent_retry',
  'agent_session_ready',
  'at_command',
  'attribution_snapshot',
  'branch_checkpoint',
  'custom_title',
  'file_history_snapshot',
  'goal_runtime',
  'goal_state',
  'goal_turn_end',
  'omni_recall',
  'parent_session',
  'session_approval_mode',
  'session_artifact_event',
  'session_artifact_snapshot',
  'session_execution_engine',
  'session_model',
  'session_notes',
  'session_source',
  'session_sources_snapshot',
  'slash_command',
  'turn_result',
  'user_text_elements',
]);
export const SESSION_NOTICES: ReadonlySet<string> = new Set([
  'background_task_completed',
  'chat_compression',
  'notification',
  'rewind',
]);
