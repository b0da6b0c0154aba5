/** Fields of the records, as the recordings show them, in the notation of lib/shape. Made by scripts/shapes.ts. */

export const STDOUT: Readonly<Record<string, string>> = {
  error: `type message`,
  'item.completed': `
    type item{<agent_message> id type text <command_execution> id type command aggregated_output
    exit_code status <mcp_tool_call> id? type? server? tool? arguments?* result?{content?{<text>
    type? text?} structured_content?*} error? status? <collab_tool_call> id? type? tool?
    sender_thread_id? receiver_thread_ids? prompt? agents_states?* status? <error> id? type?
    message? <file_change> id type changes{path kind} status <reasoning> id? type? text?}`,
  'item.started': `
    type item{<command_execution> id type command aggregated_output exit_code status <mcp_tool_call>
    id? type? server? tool? arguments?* result? error? status? <collab_tool_call> id? type? tool?
    sender_thread_id? receiver_thread_ids? prompt? agents_states?* status? <file_change> id type
    changes{path kind} status}`,
  'server/account/rateLimits/updated': `
    method? params?{rateLimits?{limitId? limitName? normalModelSlug? primary? secondary? credits?
    individualLimit? spendControlReached? planType? rateLimitReachedType?}} emittedAtMs?`,
  'server/answer': `
    id? result?{userAgent? codexHome? platformFamily? platformOs? thread?{id?
    environments?{environmentId? cwd? runtimeWorkspaceRoots?} extra? sessionId? forkedFromId?
    parentThreadId? preview? ephemeral? section? sectionEnteredAt? projectId? historyMode?
    modelProvider? model? reasoningEffort? createdAt? updatedAt? recencyAt? status?{<idle> type?}
    path? cwd? cliVersion? originator? source? canAcceptDirectInput? threadSource? agentNickname?
    agentRole? gitInfo? name? daybreakEnabled? turns?} model? modelProvider? serviceTier?
    disabledPluginIds? cwd? runtimeWorkspaceRoots? instructionSources? approvalPolicy?
    approvalsReviewer? sandbox?{<dangerFullAccess> type?} activePermissionProfile? reasoningEffort?
    multiAgentMode? turn?{id? rootTurnId? items? itemsView? status? error? startedAt? completedAt?
    durationMs?}}`,
  'server/configWarning': `method? params?{summary? details?} emittedAtMs?`,
  'server/error': `
    method? params?{error?{message? codexErrorInfo?{responseStreamDisconnected?{httpStatusCode?}}
    additionalDetails? misalignment?} willRetry? threadId? turnId?} emittedAtMs?`,
  'server/item/agentMessage/delta': `method? params?{threadId? turnId? itemId? delta?} emittedAtMs?`,
  'server/item/commandExecution/outputDelta': `method? params?{threadId? turnId? itemId? delta?} emittedAtMs?`,
  'server/item/commandExecution/requestApproval': `
    method? id? params?{kind? threadId? turnId? itemId? startedAtMs? environmentId? command? cwd?
    commandActions?{<read> type? command? name? path? <unknown> type? command?}
    proposedExecpolicyAmendment?
    availableDecisions?{acceptWithExecpolicyAmendment?{execpolicy_amendment?}}}`,
  'server/item/completed': `
    method? params?{item?{<userMessage> type? id? clientId? content?{<text> type? text?
    text_elements?} startedAtMs? completedAtMs? <reasoning> type? id? summary? content? startedAtMs?
    completedAtMs? <agentMessage> type? id? text? phase? memoryCitation? delivery? questions?
    startedAtMs? completedAtMs? <commandExecution> type? id? pluginId? scriptPath? command? cwd?
    processId? source? status? commandActions?{<read> type? command? name? path? <unknown> type?
    command?} aggregatedOutput? exitCode? durationMs? startedAtMs? completedAtMs? <fileChange> type?
    id? changes?{path? kind?{<add> type?} diff?} status? startedAtMs? completedAtMs? <mcpToolCall>
    type? id? server? tool? status? arguments?* appContext? mcpAppUi? pluginId? readOnlyHint?
    result?{content?{<text> type? text?} structuredContent?* _meta?*} error? durationMs?
    startedAtMs? completedAtMs? <subAgentActivity> type? model? reasoningEffort? id? kind?
    agentThreadId? agentPath? startedAtMs? completedAtMs? <collabAgentToolCall> type? id? tool?
    status? senderThreadId? receiverThreadIds? prompt? model? reasoningEffort? agentsStates?
    startedAtMs? completedAtMs?} threadId? turnId? completedAtMs?} emittedAtMs?`,
  'server/item/fileChange/requestApproval': `method? id? params?{threadId? turnId? itemId? startedAtMs? reason? grantRoot?}`,
  'server/item/reasoning/summaryPartAdded': `method? params?{threadId? turnId? itemId? summaryIndex?} emittedAtMs?`,
  'server/item/reasoning/summaryTextDelta': `method? params?{threadId? turnId? itemId? delta? summaryIndex?} emittedAtMs?`,
  'server/item/started': `
    method? params?{item?{<userMessage> type? id? clientId? content?{<text> type? text?
    text_elements?} startedAtMs? completedAtMs? <reasoning> type? id? summary? content? startedAtMs?
    completedAtMs? <agentMessage> type? id? text? phase? memoryCitation? delivery? questions?
    startedAtMs? completedAtMs? <commandExecution> type? id? pluginId? scriptPath? command? cwd?
    processId? source? status? commandActions?{<read> type? command? name? path? <unknown> type?
    command?} aggregatedOutput? exitCode? durationMs? startedAtMs? completedAtMs? <fileChange> type?
    id? changes?{path? kind?{<add> type?} diff?} status? startedAtMs? completedAtMs? <mcpToolCall>
    type? id? server? tool? status? arguments?* appContext? mcpAppUi? pluginId? readOnlyHint?
    result? error? durationMs? startedAtMs? completedAtMs? <subAgentActivity> type? model?
    reasoningEffort? id? kind? agentThreadId? agentPath? startedAtMs? completedAtMs?
    <collabAgentToolCall> type? id? tool? status? senderThreadId? receiverThreadIds? prompt? model?
    reasoningEffort? agentsStates? startedAtMs? completedAtMs?} threadId? turnId? startedAtMs?}
    emittedAtMs?`,
  'server/mcpServer/elicitation/request': `
    method? id? params?{threadId? turnId? serverName? mode? _meta?* message?
    requestedSchema?{<object> type? properties?}}`,
  'server/mcpServer/startupStatus/updated': `method? params?{threadId? name? status? error? failureReason?} emittedAtMs?`,
  'server/remoteControl/status/changed': `method? params?{status? serverName? installationId? environmentId?} emittedAtMs?`,
  'server/serverRequest/resolved': `method? params?{threadId? requestId?} emittedAtMs?`,
  'server/thread/started': `
    method? params?{thread?{id? environments?{environmentId? cwd? runtimeWorkspaceRoots?} extra?
    sessionId? forkedFromId? parentThreadId? preview? ephemeral? section? sectionEnteredAt?
    projectId? historyMode? modelProvider? model? reasoningEffort? createdAt? updatedAt? recencyAt?
    status?{<idle> type?} path? cwd? cliVersion? originator? source? canAcceptDirectInput?
    threadSource? agentNickname? agentRole? gitInfo? name? daybreakEnabled? turns?}} emittedAtMs?`,
  'server/thread/status/changed': `
    method? params?{threadId? status?{<active> type? activeFlags? <idle> type? <systemError> type?}}
    emittedAtMs?`,
  'server/thread/tokenUsage/updated': `
    method? params?{threadId? turnId? tokenUsage?{total?{totalTokens? inputTokens?
    cachedInputTokens? cacheWriteInputTokens? outputTokens? reasoningOutputTokens?}
    last?{totalTokens? inputTokens? cachedInputTokens? cacheWriteInputTokens? outputTokens?
    reasoningOutputTokens?} modelContextWindow?}} emittedAtMs?`,
  'server/turn/completed': `
    method? params?{threadId? turn?{id? rootTurnId? items?{<agentMessage> type? id? text? phase?
    memoryCitation? delivery? questions? startedAtMs? completedAtMs?} itemsView? status?
    error?{message? codexErrorInfo? additionalDetails? misalignment?} startedAt? completedAt?
    durationMs?}} emittedAtMs?`,
  'server/turn/diff/updated': `method? params?{threadId? turnId? diff?} emittedAtMs?`,
  'server/turn/started': `
    method? params?{threadId? turn?{id? rootTurnId? items? itemsView? status? error? startedAt?
    completedAt? durationMs?}} emittedAtMs?`,
  'thread.started': `type thread_id`,
  'turn.completed': `
    type usage{input_tokens cached_input_tokens cache_write_input_tokens output_tokens
    reasoning_output_tokens}`,
  'turn.failed': `type error{message}`,
  'turn.started': `type`,
};

export const SESSION: Readonly<Record<string, string>> = {
  event_msg: `
    timestamp ordinal type payload{<task_started> type turn_attribution{turn_id turn_trigger
    parent_turn_id initiating_agent_path root_turn_id} turn_id root_turn_id started_at
    model_context_window collaboration_mode_kind <thread_settings_applied> type thread_id
    thread_settings{model model_provider_id approval_policy approvals_reviewer
    permission_profile{<disabled> type <managed> type? file_system?{<restricted> type?
    entries?{path?{<special> type? value?{kind?*} <path> type? path?} access?
    missing_path_behavior?}} network?} cwd runtime_workspace_roots reasoning_summary?
    collaboration_mode{mode settings{model reasoning_effort developer_instructions}}
    disabled_plugin_ids reasoning_effort?} <item_completed> type thread_id turn_id
    item{<UserMessage> type id content{<text> type text text_elements} <Reasoning> type id
    summary_text raw_content <AgentMessage> type id content{<Text> type text} phase?
    <CommandExecution> type id process_id command cwd parsed_cmd{<read> type cmd name path <unknown>
    type cmd <list_files> type cmd path} source status aggregated_output exit_code duration{secs
    nanos} <FileChange> type id changes* status stdout stderr <McpToolCall> type id server tool
    arguments* status result{content{<text> type text} structuredContent?* isError?} duration{secs
    nanos} <SubAgentActivity> type? model? reasoning_effort? id? kind? agent_thread_id? agent_path?
    <CollabAgentToolCall> type id tool status sender_thread_id receiver_thread_ids
    receiver_agents{thread_id? agent_nickname?} agents_states* prompt? model? reasoning_effort?
    <EnteredReviewMode> type? id? target?{<custom> type? instructions?} user_facing_hint?
    <ExitedReviewMode> type? id? review_output?{findings?{title? body? confidence_score? priority?
    code_location?{absolute_file_path? line_range?{start? end?}}} overall_correctness?
    overall_explanation? overall_confidence_score?}} started_at_ms completed_at_ms <token_count>
    type info{total_token_usage{input_tokens cached_input_tokens cache_write_input_tokens
    output_tokens reasoning_output_tokens total_tokens} last_token_usage{input_tokens
    cached_input_tokens cache_write_input_tokens output_tokens reasoning_output_tokens total_tokens}
    last_usage_includes_reasoning model_context_window} rate_limits{limit_id limit_name primary
    secondary credits individual_limit spend_control_reached plan_type rate_limit_reached_type}
    <task_complete> type root_turn_id turn_id last_agent_message started_at completed_at duration_ms
    time_to_first_token_ms? error?{message
    codex_error_info{http_connection_failed?{http_status_code?}}} <turn_aborted> type root_turn_id
    turn_id reason started_at completed_at duration_ms}`,
  inter_agent_communication_metadata: `timestamp? ordinal? type? payload?{trigger_turn?}`,
  response_item: `
    timestamp ordinal type payload{<message> type id role content{<input_text> type text
    <output_text> type text annotations?} internal_chat_message_metadata_passthrough{turn_id
    create_time? content_item_kinds content_item_metadata?{provenance{<harness> type hook <user>
    type <tool> type? namespace? <skills> type?}}} status? phase? <reasoning> type id
    summary{<summary_text> type text} content{<reasoning_text> type? text?} encrypted_content
    internal_chat_message_metadata_passthrough{turn_id} <function_call> type status id name
    arguments* call_id internal_chat_message_metadata_passthrough{turn_id} namespace?
    <function_call_output> type id call_id output{<input_text> type? text?}
    internal_chat_message_metadata_passthrough{turn_id create_time} <custom_tool_call> type id
    status call_id name input internal_chat_message_metadata_passthrough{turn_id}
    <custom_tool_call_output> type id call_id output{<input_text> type text}
    internal_chat_message_metadata_passthrough{turn_id create_time} <agent_message> type? id?
    author? recipient? content?{<input_text> type? text? <encrypted_content> type?
    encrypted_content?} internal_chat_message_metadata_passthrough?{turn_id? create_time?
    content_item_metadata?{provenance?{<tool> type? namespace?}}} <tool_search_call> type? id?
    call_id? status? execution? arguments?* internal_chat_message_metadata_passthrough?{turn_id?}
    <tool_search_output> type? id? call_id? status? execution? tools?{<namespace> type? name?
    description? tools?{<function> type? name? description? strict? defer_loading? parameters?*}}
    internal_chat_message_metadata_passthrough?{turn_id? create_time?}}
    metadata?{retained_source?{id{message_id turn_id role} revision complete} client_authored
    user_input_order? mcp_attribution?{status sources?{server_name tool_name first_turn_id}}
    fallback_token_limit_override?}`,
  session_meta: `
    timestamp ordinal type payload{session_id id timestamp cwd runtime_workspace_roots originator
    cli_version source{subagent{thread_spawn{parent_thread_id depth agent_path agent_nickname
    agent_role}}} model_provider base_instructions{text} history_mode context_window{window_id}
    git{commit_hash branch} parent_thread_id? thread_source? agent_nickname? agent_path?
    multi_agent_version?}`,
  token_usage_record: `
    timestamp ordinal type payload{thread_id turn_id session_id root_turn_id response_id
    usage{input_tokens cached_input_tokens cache_write_input_tokens output_tokens
    reasoning_output_tokens total_tokens} turn_token_usage{input_tokens cached_input_tokens
    cache_write_input_tokens output_tokens reasoning_output_tokens total_tokens}
    thread_token_usage{input_tokens cached_input_tokens cache_write_input_tokens output_tokens
    reasoning_output_tokens total_tokens}}`,
  turn_context: `
    timestamp ordinal type payload{turn_id root_turn_id disabled_plugin_ids cwd approval_policy
    approvals_reviewer sandbox_policy{<danger-full-access> type <read-only> type? <workspace-write>
    type? network_access? exclude_tmpdir_env_var? exclude_slash_tmp?} permission_profile{<disabled>
    type <managed> type? file_system?{<restricted> type? entries?{path?{<special> type?
    value?{kind?} <path> type? path?} access? missing_path_behavior?}} network?} model comp_hash
    collaboration_mode{mode settings{model reasoning_effort developer_instructions}}
    multi_agent_version realtime_active summary effort? file_system_sandbox_policy?{kind?
    entries?{path?{<special> type? value?{kind?} <path> type? path?} access?
    missing_path_behavior?}}}`,
};
