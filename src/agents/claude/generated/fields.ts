/** Fields of the records, as the recordings show them, in the notation of lib/shape. Made by scripts/shapes.ts. */

export const STDOUT: Readonly<Record<string, string>> = {
  assistant: `
    type message{<message> id type role model content{<tool_use> type id name input* <text> type
    text <thinking> type? thinking? signature?} stop_reason stop_sequence usage{input_tokens
    cache_creation_input_tokens cache_read_input_tokens output_tokens output_tokens_details?
    server_tool_use?{web_search_requests? web_fetch_requests?} service_tier?
    cache_creation?{ephemeral_1h_input_tokens? ephemeral_5m_input_tokens?} inference_geo?
    iterations? speed? fallback_credit?} context_management diagnostics? container? stop_details?}
    parent_tool_use_id session_id uuid timestamp request_id? aborted? tool_use_meta?{id?
    display_name? server_display_name? tool_name?} error? is_api_error_message? api_error_status?
    api_error_type? thinking_duration_ms? thinking_display? agent_id? subagent_type?
    task_description? api_error? local_command_source? local_command_run?{command? args?}
    local_command_outcome?{kind?}`,
  control_request: `
    type? request_id? request?{<can_use_tool> subtype? tool_name? display_name? input?* tool_use_id?
    requires_user_interaction? description? permission_suggestions?{<addRules> type?
    rules?{toolName? ruleContent?} behavior? destination? <addDirectories> type? directories?
    destination? <setMode> type? mode? destination?} blocked_path? server_policy_ask_only?}`,
  control_response: `type? response?{<success> subtype? request_id? response?{still_queued?}}`,
  'result/error_during_execution': `
    duration_api_ms stop_reason session_id total_cost_usd usage{input_tokens
    cache_creation_input_tokens cache_read_input_tokens output_tokens
    output_tokens_details{thinking_tokens} server_tool_use{web_search_requests web_fetch_requests}
    service_tier cache_creation{ephemeral_1h_input_tokens ephemeral_5m_input_tokens} inference_geo
    iterations speed fallback_credit} modelUsage* permission_denials terminal_reason?
    fast_mode_state? fast_mode_disabled_reason? subagent_stats?{spawned? requested?{background?
    foreground? unset?} started_in_background? max_depth? spawned_by_subagents? completed? failed?
    killed?{parent? user? system?} refused?{depth_limit? concurrency_limit? budget?} by_type?*}
    safety_stops? is_error num_turns subtype errors type duration_ms uuid queued_turn_count?
    result_index model_usage_since_last_result?*`,
  'result/error_max_budget_usd': `
    duration_api_ms? stop_reason? session_id? total_cost_usd? usage?{input_tokens?
    cache_creation_input_tokens? cache_read_input_tokens? output_tokens?
    output_tokens_details?{thinking_tokens?} server_tool_use?{web_search_requests?
    web_fetch_requests?} service_tier? cache_creation?{ephemeral_1h_input_tokens?
    ephemeral_5m_input_tokens?} inference_geo? iterations? speed? fallback_credit?} modelUsage?*
    permission_denials? terminal_reason? fast_mode_state? fast_mode_disabled_reason?
    subagent_stats?{spawned? requested?{background? foreground? unset?} started_in_background?
    max_depth? spawned_by_subagents? completed? failed? killed?{parent? user? system?}
    refused?{depth_limit? concurrency_limit? budget?} by_type?*} safety_stops? is_error? num_turns?
    subtype? errors? type? duration_ms? uuid? queued_turn_count? result_index?
    model_usage_since_last_result?*`,
  'result/error_max_turns': `
    duration_api_ms? stop_reason? session_id? total_cost_usd? usage?{input_tokens?
    cache_creation_input_tokens? cache_read_input_tokens? output_tokens?
    output_tokens_details?{thinking_tokens?} server_tool_use?{web_search_requests?
    web_fetch_requests?} service_tier? cache_creation?{ephemeral_1h_input_tokens?
    ephemeral_5m_input_tokens?} inference_geo? iterations? speed? fallback_credit?} modelUsage?*
    permission_denials? terminal_reason? fast_mode_state? fast_mode_disabled_reason?
    subagent_stats?{spawned? requested?{background? foreground? unset?} started_in_background?
    max_depth? spawned_by_subagents? completed? failed? killed?{parent? user? system?}
    refused?{depth_limit? concurrency_limit? budget?} by_type?*} safety_stops? is_error? num_turns?
    subtype? errors? type? duration_ms? uuid? queued_turn_count? result_index?
    model_usage_since_last_result?*`,
  'result/success': `
    duration_api_ms stop_reason session_id total_cost_usd usage{input_tokens
    cache_creation_input_tokens cache_read_input_tokens output_tokens
    output_tokens_details{thinking_tokens} server_tool_use{web_search_requests web_fetch_requests}
    service_tier cache_creation{ephemeral_1h_input_tokens ephemeral_5m_input_tokens} inference_geo
    iterations speed fallback_credit} modelUsage* permission_denials{tool_name? tool_use_id?
    tool_input?*} terminal_reason? fast_mode_state fast_mode_disabled_reason subagent_stats{spawned
    requested{background foreground unset} started_in_background max_depth spawned_by_subagents
    completed failed killed{parent user system} refused{depth_limit concurrency_limit budget}
    by_type*} safety_stops is_error num_turns subtype api_error_status? result ttft_ms? type
    duration_ms uuid ttft_stream_ms? time_to_request_ms? first_content_frame_ms? queued_turn_count
    result_index model_usage_since_last_result?* structured_output?* api_error_type? origin?{kind?
    producer? runId?} local_command?`,
  stream_event: `
    type? event?{<message_start> type? message?{<message> id? type? role? model? content?
    stop_reason? stop_sequence? usage?{input_tokens? cache_creation_input_tokens?
    cache_read_input_tokens? output_tokens?}} <content_block_start> type? index?
    content_block?{<text> type? text? <tool_use> type? id? name? input?* <thinking> type? thinking?
    signature?} <content_block_delta> type? index? delta?{<text_delta> type? text?
    <input_json_delta> type? partial_json? <thinking_delta> type? thinking? <signature_delta> type?
    signature?} <content_block_stop> type? index? <message_delta> type? delta?{stop_reason?
    stop_sequence? container? stop_details?} usage?{input_tokens? cache_creation_input_tokens?
    cache_read_input_tokens? output_tokens? output_tokens_details?{thinking_tokens?} iterations?
    server_tool_use?{web_search_requests? web_fetch_requests?} fallback_credit?} context_management?
    <message_stop> type?} session_id? parent_tool_use_id? uuid? ttft_ms? thinking_display?
    api_message_id? abandoned_blocks?{api_message_id? from_block_index?}`,
  'system/api_retry': `type? subtype? attempt? max_retries? retry_delay_ms? error_status? error? session_id? uuid?`,
  'system/background_tasks_changed': `type subtype tasks{task_id run_id task_type description subagent_type?} uuid session_id`,
  'system/compact_boundary': `
    type? subtype? session_id? uuid? compact_metadata?{trigger? pre_tokens? post_tokens?
    cumulative_dropped_tokens? duration_ms? preserved_segment?{head_uuid? anchor_uuid? tail_uuid?}
    preserved_messages?{anchor_uuid? uuids? all_uuids?}} logical_parent_uuid?`,
  'system/hook_response': `
    type? subtype? hook_id? hook_name? hook_event? output? stdout? stderr? exit_code? outcome? uuid?
    session_id?`,
  'system/hook_started': `type? subtype? hook_id? hook_name? hook_event? uuid? session_id?`,
  'system/informational': `
    type? subtype? content? level? prevent_continuation? prompt_submit_outcome?{kind? prompt_kept?
    reason?} uuid? session_id?`,
  'system/init': `
    type subtype cwd session_id tools mcp_servers{name? status? source?} model permissionMode
    slash_commands terminal_slash_commands apiKeySource claude_code_version output_style agents
    skills plugins{name path source} capabilities analytics_disabled product_feedback_disabled uuid
    memory_paths?{auto} original_cwd additional_directories messaging_socket_path? fast_mode_state
    fast_mode_disabled_reason per_turn_effort_active ultrathink_available ultrathink_typed_raises
    view_mode`,
  'system/notification': `type? subtype? key? text? priority? session_id? uuid?`,
  'system/permission_denied': `
    type? subtype? tool_name? tool_use_id? message? uuid? session_id? decision_reason_type?
    agent_id?`,
  'system/status': `type? subtype? status? session_id? uuid? permissionMode? compact_result?`,
  'system/task_notification': `
    type subtype task_id run_id tool_use_id status output_file summary uuid session_id
    usage?{total_tokens tool_uses duration_ms} skip_transcript? ambient?`,
  'system/task_progress': `
    type subtype task_id run_id tool_use_id description subagent_type usage{total_tokens tool_uses
    duration_ms} last_tool_name uuid session_id`,
  'system/task_started': `
    type subtype task_id run_id tool_use_id description is_backgrounded task_type uuid session_id
    subagent_type? spawn_depth? prompt? skip_transcript? ambient? parent_task_id?`,
  'system/task_updated': `type subtype task_id run_id patch{status end_time error?} uuid session_id`,
  'system/thinking_tokens': `type? subtype? estimated_tokens? estimated_tokens_delta? session_id? uuid?`,
  'system/ui_invalidate': `type? subtype? event? uuid? session_id?`,
  tool_progress: `
    type? tool_use_id? tool_name? parent_tool_use_id? elapsed_time_seconds? heartbeat? session_id?
    uuid? subagent_type? subagent_retry?{agent_id? attempt? max_retries? retry_delay_ms?
    error_status? error_category?}`,
  user: `
    type message{role content{<tool_result> tool_use_id type content{<text> type text <image> type?
    source?{<base64> type? data?* media_type?} <tool_reference> type? tool_name?} is_error? <text>
    type text}} parent_tool_use_id session_id uuid timestamp tool_use_result?* tool_result_meta?{id
    permission_decision?{decision source reason_type?} non_execution_kind?} isSynthetic? agent_id?
    subagent_type? task_description? isReplay? refused_message_id?`,
};

export const SESSION: Readonly<Record<string, string>> = {
  assistant: `
    parentUuid isSidechain message{<message> id type role model content{<thinking> type thinking
    signature <text> type text <tool_use> type id name input*} stop_reason stop_sequence
    usage{input_tokens cache_creation_input_tokens cache_read_input_tokens output_tokens
    server_tool_use?{web_search_requests web_fetch_requests} service_tier?
    cache_creation?{ephemeral_1h_input_tokens ephemeral_5m_input_tokens} inference_geo? iterations?
    speed? output_tokens_details?{thinking_tokens} fallback_credit?} stop_details? diagnostics?
    container? context_management?} requestId? type uuid timestamp userType entrypoint cwd sessionId
    version gitBranch attributionSkill? thinkingDurationMs? thinkingDisplay? apiBlockIndex?
    requestRef? requestedModel? promptCacheRequested? effort? perTurnEffort? madeBy?
    toolInputStreamMs? isAbortedMidStream? attributionMcpServer? attributionMcpTool? error?
    isApiErrorMessage? apiErrorStatus? apiErrorType? failedResponseHadNoToolCall? agentId?
    attributionAgent? serverClassifierRequest? slug? apiError? streamCutCause?`,
  'atis-latch': `type atis sessionId`,
  attachment: `
    parentUuid isSidechain attachment{<command_permissions> type allowedTools <queued_command> type?
    prompt?{<text> type? text?} source_uuid? delivery_id? commandMode? origin?{kind? producer?}
    runId? timestamp? <hook_success> type? hookName? toolUseID? hookEvent? content? stdout? stderr?
    exitCode? command? durationMs? <structured_output> type? data?* toolUseID? <max_turns_reached>
    type? maxTurns? turnCount? exitCommitted? <environment> type snapshot{workingDirectory
    isWorktree isGitRepo additionalWorkingDirectories platform shell osVersion} <model> type
    identity{modelId marketingName knowledgeCutoff} text <deferred_tools_delta> type addedNames
    addedLines removedNames wireHiddenNames readdedNames pendingMcpServers? needsAuthMcpServers?
    failedMcpServers? <agent_listing_delta> type addedTypes addedLines builtInTypes
    builtInPluginTypes removedTypes isInitial showConcurrencyNote <skill_listing> type content
    skillCount isInitial names digests <session_context> type context <date> type date
    <remote_session_change> type url commit pr sendUserFileHint managedCommit managedPr
    <prompt_snapshot> type systemPrompt reminderFold echoWireToolInputs contextRendering tools?{name
    description schema{name description input_schema*}} cliPrefix? systemTurns? toolChangeHeader?
    inlineTools? keptReminders? <plan_mode> type? reminderType? isSubAgent? planFilePath?
    planExists? <auto_mode> type autoModeConsentFlow finishExposedWork bashFirst bashFirstSteer
    steerOnly bypass <budget_usd> type? used? total? remaining? <hook_stopped_continuation> type?
    message? hookName? toolUseID? hookEvent? <hook_blocking_error> type? hookName? toolUseID?
    hookEvent? blockingError?{blockingError? command?} <unknown_command_fallback> type? commandName?
    availableCommandNames? availableCommandCount? <deferred_tools_record> type? entries?{name?
    description? input_schema?* defer_loading?}} type uuid timestamp userType entrypoint cwd
    sessionId version gitBranch rendered?{content?{<text> type? text?}}
    renderedInHumanTurn?{content?} renderedRole? renderedBesideToolResult? slug? agentId?`,
  'cost-state': `
    type sessionId totalCostUSD totalAPIDuration totalAPIDurationWithoutRetries totalToolDuration
    totalLinesAdded totalLinesRemoved totalDuration startTime modelUsage* hasUnknownModelCost`,
  'last-prompt': `type lastPrompt? leafUuid sessionId`,
  mode: `type? mode? sessionId?`,
  'queue-operation': `type operation timestamp sessionId content? reason? commandUuid? deliveryId?`,
  'system/api_error': `
    parentUuid? isSidechain? type? subtype? level? error?{message? status? requestId? formatted?
    connection? isNetworkDown? rateLimits? noResponse?} retryInMs? retryAttempt? maxRetries? source?
    timestamp? uuid? userType? entrypoint? cwd? sessionId? version? gitBranch?`,
  'system/compact_boundary': `
    parentUuid? logicalParentUuid? isSidechain? type? subtype? content? isMeta? timestamp? uuid?
    level? compactMetadata?{trigger? preTokens? durationMs? preservedSegment?{headUuid? anchorUuid?
    tailUuid?} preservedMessages?{anchorUuid? uuids? allUuids?} postTokens?
    cumulativeDroppedTokens?} userType? entrypoint? cwd? sessionId? version? gitBranch? slug?`,
  'system/informational': `
    parentUuid? isSidechain? type? subtype? content? isMeta? timestamp? uuid? level?
    preventContinuation? promptSubmitEnding?{ending?{kind? reason?} promptKept?} userType?
    entrypoint? cwd? sessionId? version? gitBranch?`,
  'system/local_command': `
    parentUuid? isSidechain? type? subtype? content? level? timestamp? uuid? isMeta?
    commandRun?{command? args?} commandOutcome?{kind?} userType? entrypoint? cwd? sessionId?
    version? gitBranch?`,
  'system/stop_hook_summary': `
    parentUuid? isSidechain? type? subtype? hookCount? hookInfos?{command? durationMs?} hookErrors?
    hookAdditionalContext? preventedContinuation? stopReason? hasOutput? level? timestamp? uuid?
    toolUseID? userType? entrypoint? cwd? sessionId? version? gitBranch?`,
  'tools-used': `type tools sessionId`,
  user: `
    parentUuid isSidechain promptId type message{role content{<text> type text <tool_result>
    tool_use_id type content{<text> type text <image> type? source?{<base64> type? data?*
    media_type?} <tool_reference> type? tool_name?} is_error?}} uuid timestamp permissionMode?
    promptSource? userType entrypoint cwd sessionId version gitBranch toolUseResult?*
    sourceToolAssistantUUID? isMeta? sourceToolUseID? turnOrigin? turnPosition?{promptIndex
    turnIndex} turnAttributionKey? permissionDecision?{decision source reasonType? grantScope?
    reasonCode? ruleSource?} sandboxed? toolDenialKind? holdsPersonsWords? turnCompanion?
    toolEndsTurn? mcpCallNotReadOnly? agentId? origin?{kind? producer? runId?} queueSkipAttachments?
    isVisibleInTranscriptOnly? isCompactSummary? slug? refusedMessageId?`,
};
