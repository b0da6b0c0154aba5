/** Fields of the records, as the recordings show them, in the notation of lib/shape. Made by scripts/shapes.ts. */

export const STDOUT: Readonly<Record<string, string>> = {
  assistant: `
    type uuid session_id parent_tool_use_id message{<message> id type role model content{<tool_use>
    type id name input* <text> type text <thinking> type? thinking? signature?} stop_reason
    usage{input_tokens output_tokens cache_read_input_tokens? total_tokens?}}`,
  'result/error_during_execution': `
    type? subtype? uuid? session_id? is_error? duration_ms? duration_api_ms? num_turns?
    usage?{input_tokens? output_tokens? cache_read_input_tokens? total_tokens?} permission_denials?
    error?{message?}`,
  'result/success': `
    type subtype uuid session_id is_error duration_ms duration_api_ms num_turns result
    usage{input_tokens output_tokens cache_read_input_tokens total_tokens}
    permission_denials{tool_name? tool_use_id? tool_input?*} stats?*`,
  stream_event: `
    type uuid session_id parent_tool_use_id event{<goal_state> type goal_state{v goal activity}
    <message_start> type? message?{id? role? model? content?} <content_block_start> type? index?
    content_block?{<thinking> type? thinking? signature? <text> type? text? <tool_use> type? id?
    name? input?*} <content_block_delta> type? index? delta?{<thinking_delta> type? thinking?
    <text_delta> type? text? <input_json_delta> type? partial_json?} <content_block_stop> type?
    index? <message_stop> type?}`,
  'system/init': `
    type subtype uuid session_id cwd tools mcp_servers{name? status?} model permission_mode
    slash_commands qwen_code_version agents`,
  'system/retry': `type subtype uuid session_id parent_tool_use_id data{reason discardedToolCalls preserveText}`,
  'system/task_notification': `
    type? subtype? uuid? session_id? parent_tool_use_id? data?{task_id? tool_use_id? status?
    usage?{total_tokens? tool_uses? duration_ms?}}`,
  'system/task_started': `
    type? subtype? uuid? session_id? parent_tool_use_id? data?{task_id? tool_use_id? description?
    subagent_type?}`,
  user: `
    type uuid session_id parent_tool_use_id message{role content{<tool_result> type tool_use_id
    is_error content <text> type? text?}}`,
};

export const SESSION: Readonly<Record<string, string>> = {
  assistant: `
    uuid parentUuid sessionId timestamp type provenance? cwd version gitBranch? model? message{role
    parts{text? thought? functionCall?{id name args*}}} usageMetadata?{promptTokenCount
    candidatesTokenCount thoughtsTokenCount totalTokenCount cachedContentTokenCount} agentId?
    agentName? isSidechain? agentRunId? agentRound?`,
  'system/attribution_snapshot': `
    uuid parentUuid sessionId timestamp type provenance cwd version gitBranch? subtype
    systemPayload{snapshot{<attribution-snapshot> type version surface fileStates* promptCount
    promptCountAtLastCommit}}`,
  'system/branch_checkpoint': `
    uuid? parentUuid? sessionId? timestamp? type? provenance? cwd? version? gitBranch? subtype?
    systemPayload?{v? startExclusiveRecordUuid? assistantRecordUuid?}`,
  'system/chat_compression': `
    uuid? parentUuid? sessionId? timestamp? type? provenance? cwd? version? subtype?
    systemPayload?{info?{originalTokenCount? newTokenCount? newTokenCountIsEstimated?
    compressionStatus? triggerReason? originalTokenCountIsEstimated?} compressedHistory?{role?
    parts?{text?}} completedToolCallIds?}`,
  'system/file_history_snapshot': `
    uuid? parentUuid? sessionId? timestamp? type? provenance? cwd? version? gitBranch? subtype?
    systemPayload?{snapshots?{promptId? timestamp? trackedFileBackups?*}}`,
  'system/ui_telemetry': `
    uuid parentUuid sessionId timestamp type provenance cwd version gitBranch? subtype
    systemPayload{uiEvent*}`,
  tool_result: `
    uuid parentUuid sessionId timestamp type provenance? cwd version gitBranch? message{role
    parts{functionResponse{id name response*}}} toolCallResult{callId status? executionStatus?
    resultDisplay?* error?{name? errorType?} errorType? durationMs?} agentId? agentName?
    isSidechain?`,
  user: `
    uuid parentUuid sessionId timestamp type provenance? cwd version gitBranch? message{role
    parts{text}} agentId? agentName? isSidechain?`,
  'user/notification': `
    uuid? parentUuid? sessionId? timestamp? type? provenance? cwd? version? subtype? message?{role?
    parts?{text?}} systemPayload?{displayText?}`,
};
