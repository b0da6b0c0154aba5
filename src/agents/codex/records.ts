/** Records of session files and of the app-server that are no events of their own, as data. What stands in neither list nor in the decoder is unknown. */

/** `type` of a line. */
export const LINES_IGNORED: ReadonlySet<string> = new Set([
  'inter_agent_communication',
  'inter_agent_communication_metadata',
  'world_state',
]);

/** `type` of a response item: context for the model, or what an event says as well. */
export const RESPONSES_IGNORED: ReadonlySet<string> = new Set([
  'additional_tools',
  'agent_message',
  'compaction',
  'compaction_summary',
  'compaction_trigger',
  'context_compaction',
  'ghost_snapshot',
  'other',
]);

/** `type` of an event: said by response items and items as well, or bookkeeping. */
export const EVENTS_IGNORED: ReadonlySet<string> = new Set([
  'agent_message',
  'agent_reasoning',
  'agent_reasoning_raw_content',
  'agent_reasoning_section_break',
  'collab_agent_interaction_end',
  'collab_agent_spawn_end',
  'collab_close_end',
  'collab_resume_end',
  'collab_waiting_end',
  'dynamic_tool_call_request',
  'dynamic_tool_call_response',
  'entered_review_mode',
  'exited_review_mode',
  'guardian_assessment',
  'image_generation_end',
  'item_started',
  'plan_update',
  'request_user_input',
  'session_configured',
  'sub_agent_activity',
  'terminal_interaction',
  'thread_goal_updated',
  'thread_name_updated',
  'thread_settings_applied',
  'turn_diff',
  'undo_completed',
  'view_image_tool_call',
  'web_search_end',
]);

/** Events that tell people something. */
export const EVENTS_NOTICED: ReadonlySet<string> = new Set([
  'background_event',
  'context_compacted',
  'deprecation_notice',
  'guardian_warning',
  'model_reroute',
  'model_verification',
  'thread_rolled_back',
  'warning',
]);

/** `type` of a completed item: said by response items, or of the CLI's own modes. */
export const ITEMS_IGNORED: ReadonlySet<string> = new Set([
  'AgentMessage',
  'ContextCompaction',
  'EnteredReviewMode',
  'ExitedReviewMode',
  'HookPrompt',
  'ImageGeneration',
  'ImageView',
  'Plan',
  'Reasoning',
  'Sleep',
]);

/** Events of earlier versions that hold what items hold, and the item's type. */
export const EVENTS_AS_ITEMS: ReadonlyMap<unknown, string> = new Map([
  ['exec_command_end', 'CommandExecution'],
  ['patch_apply_end', 'FileChange'],
  ['mcp_tool_call_end', 'McpToolCall'],
]);

/** Messages of the app-server, and of its client, that are bookkeeping or said by items as well. */
export const SERVER_IGNORED: ReadonlySet<string> = new Set([
  'account/chatgptAuthTokens/refresh',
  'account/login/completed',
  'account/rateLimits/updated',
  'account/updated',
  'app/list/updated',
  'attestation/generate',
  'command/exec/outputDelta',
  'externalAgentConfig/import/completed',
  'fs/changed',
  'fuzzyFileSearch/sessionCompleted',
  'fuzzyFileSearch/sessionUpdated',
  'hook/completed',
  'hook/started',
  'initialize',
  'initialized',
  'item/autoApprovalReview/completed',
  'item/autoApprovalReview/started',
  'item/commandExecution/terminalInteraction',
  'item/fileChange/patchUpdated',
  'item/plan/delta',
  'item/reasoning/summaryPartAdded',
  'item/tool/call',
  'item/tool/requestUserInput',
  'mcpServer/oauthLogin/completed',
  'mcpServer/startupStatus/updated',
  'model/list',
  'model/verification',
  'rawResponseItem/completed',
  'remoteControl/status/changed',
  'review/start',
  'skills/changed',
  'thread/archived',
  'thread/closed',
  'thread/fork',
  'thread/goal/cleared',
  'thread/goal/updated',
  'thread/name/updated',
  'thread/resume',
  'thread/settings/updated',
  'thread/start',
  'thread/status/changed',
  'thread/unarchived',
  'turn/diff/updated',
  'turn/interrupt',
  'turn/start',
  'turn/steer',
  'windowsSandbox/setupCompleted',
]);

/** Messages of the app-server that tell people something. */
export const SERVER_NOTICED: ReadonlySet<string> = new Set([
  'configWarning',
  'deprecationNotice',
  'guardianWarning',
  'model/rerouted',
  'thread/compacted',
  'warning',
  'windows/worldWritableWarning',
]);

/** `type` of an item of the app-server: of the CLI's own modes, or news of a sub-agent that is no call. */
export const SERVER_ITEMS_IGNORED: ReadonlySet<string> = new Set([
  'contextCompaction',
  'enteredReviewMode',
  'exitedReviewMode',
  'hookPrompt',
  'plan',
  'subAgentActivity',
]);
