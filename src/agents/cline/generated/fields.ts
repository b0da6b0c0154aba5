/** Fields of the records, as the recordings show them, in the notation of lib/shape. Made by scripts/shapes.ts. */

export const STDOUT: Readonly<Record<string, string>> = {
  'agent_event/content_end-reasoning': `ts? type? event?{<content_end> type? contentType? reasoning?}`,
  'agent_event/content_end-text': `ts type event{<content_end> type contentType text}`,
  'agent_event/content_end-tool': `ts type event{<content_end> type contentType toolName toolCallId output* error? durationMs}`,
  'agent_event/content_start-reasoning': `ts? type? event?{<content_start> type? contentType? reasoning? redacted?}`,
  'agent_event/content_start-text': `ts type event{<content_start> type contentType text accumulated}`,
  'agent_event/content_start-tool': `ts type event{<content_start> type contentType toolName toolCallId input*}`,
  'agent_event/content_update-tool': `
    ts type event{<content_update> type contentType toolName toolCallId update{stream chunk
    executionId detachable commandIndex query}}`,
  'agent_event/done': `
    ts type event{<done> type reason text iterations usage{inputTokens outputTokens cacheReadTokens
    totalCost}}`,
  'agent_event/error': `ts type event{<error> type error{name message stack} recoverable iteration errorClass?}`,
  'agent_event/iteration_end': `ts type event{<iteration_end> type iteration hadToolCalls toolCallCount}`,
  'agent_event/iteration_start': `ts type event{<iteration_start> type iteration}`,
  'agent_event/usage': `
    ts type event{<usage> type inputTokens outputTokens cacheReadTokens totalInputTokens
    totalOutputTokens totalCacheReadTokens totalCost}`,
  'hook_event/agent_end': `ts type hookEventName agentId taskId parentAgentId`,
  'hook_event/agent_error': `ts? type? hookEventName? agentId? taskId? parentAgentId?`,
  'hook_event/agent_start': `ts type hookEventName agentId taskId parentAgentId`,
  'hook_event/tool_call': `ts type hookEventName agentId taskId parentAgentId`,
  'hook_event/tool_result': `ts type hookEventName agentId taskId parentAgentId`,
  run_result: `
    ts type finishReason iterations usage{inputTokens outputTokens cacheReadTokens cacheWriteTokens
    totalCost} aggregateUsage{inputTokens outputTokens cacheReadTokens cacheWriteTokens totalCost}
    durationMs text model{id provider}`,
};

export const SESSION: Readonly<Record<string, string>> = {
  session: `
    version updated_at agent sessionId origin{source mode sessionId version parentThreadId?
    subagent?} messages{id role content{<text> type text <tool_use> type id name input*
    <tool_result> type tool_use_id name content{query result success error?} is_error? <thinking>
    type? thinking?} ts modelInfo?{id provider} metrics?{inputTokens outputTokens cacheReadTokens
    cacheWriteTokens} metadata?{displayOnly? displayRole?}} system_prompt? taskType?`,
};
