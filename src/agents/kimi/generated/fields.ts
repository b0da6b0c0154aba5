/** Fields of the records, as the recordings show them, in the notation of lib/shape. Made by scripts/shapes.ts. */

export const STDOUT: Readonly<Record<string, string>> = {
  assistant: `role tool_calls?{<function> type id function{name arguments}} content?`,
  'meta/session.resume_hint': `role type session_id command content`,
  'meta/system.version': `role type version`,
  'meta/turn.step.retrying': `
    role? type? failed_attempt? next_attempt? max_attempts? delay_ms? error_name? error_message?
    status_code?`,
  tool: `role tool_call_id content`,
};

export const SESSION: Readonly<Record<string, string>> = {
  'agent.message.appended': `
    message{message{<user> role content{<text> type text} <assistant> role content{<text> type text
    <think> type? think? reasoningKey?} toolCalls{<function> type id name arguments} <tool> role
    content{<text> type text} toolCallId} meta{source promptId? origin?{kind inTurn? name?} tracked?
    createdAt? userMessageId? model?{provider model} usage?* finish?{finishReason rawFinishReason}
    messageId?}} type time kind`,
  'agent.turn.ended': `turnId outcome type time kind errorMessage?`,
  'agent.turn.started': `turnId queueItemId? type time kind`,
  'context.append_loop_event/content.part': `
    type agentId event{<content.part> type uuid turnId step stepUuid part{<text> type text <think>
    type? think? reasoningKey?}} time`,
  'context.append_loop_event/step.begin': `type agentId event{<step.begin> type uuid turnId step} time`,
  'context.append_loop_event/step.end': `
    type agentId event{<step.end> type uuid turnId step finishReason usage?* llmFirstTokenLatencyMs?
    llmStreamDurationMs? llmRequestBuildMs? llmServerFirstTokenMs? llmServerDecodeMs?
    llmClientConsumeMs? llmClientBlockedMs? messageId? providerFinishReason? rawFinishReason?} time`,
  'context.append_loop_event/tool.call': `
    type agentId event{<tool.call> type uuid turnId step stepUuid toolCallId name args* display?*}
    time`,
  'context.append_loop_event/tool.result': `
    type agentId event{<tool.result> type parentUuid toolCallId result{output durationMs note?
    isError?}} time`,
  'context.append_message': `
    type agentId message{<user> role content{<text> type text} id? toolCalls origin{kind variant?
    disclosure?{kind renderGeneration localDate timeZone} taskId? status? notificationId?
    activationId? skillName? trigger? skillPath? skillSource? inTurn? name?}} time`,
  'file_history.checkpoint': `type? agentId? turnId? phase? entries?* time?`,
  'file_history.tracked': `type? agentId? turnId? path? entry?{key? version?} time?`,
  'interaction.request': `
    type? agentId? id? kind? toolCallId? request?{id? sessionId? agentId? turnId? toolCallId?
    toolName? action? display?*} time?`,
  'interaction.resolved': `type? agentId? id? response?{decision? selectedLabel?} time?`,
  'llm.request': `
    type agentId kind provider model modelAlias thinkingEffort thinkingKeep maxTokens toolSelect
    systemPromptHash toolsHash messageCount turnStep time`,
  'llm.tools_snapshot': `type agentId hash tools* time`,
  'mcp.tools_discovered': `type? agentId? serverName? hash? tools?* enabledNames? time?`,
  metadata: `type protocol_version created_at`,
  'permission.record_approval_result': `type? turnId? toolCallId? toolName? action? result?{decision? selectedLabel?} agentId? time?`,
  'permission.set_mode': `type agentId mode time`,
  'plugin.session_start': `type agentId content time`,
  'profile.bind': `
    type agentId modelAlias profileName thinkingEffort systemPrompt environmentDisclosure{cwd}
    agentsMdPaths activeToolNames disallowedTools subagents? time`,
  'prompt.aborted': `type? agentId? promptId? abortedAt? time?`,
  'prompt.completed': `type agentId promptId finishedAt reason time`,
  'prompt.steered': `
    type? agentId? activePromptId? promptIds? messageId? content?{<text> type? text?} steeredAt?
    time?`,
  'runtime.set_binding': `type workspaceId runtimeId agentId time`,
  'subagent.completed': `type? subagentId? resultSummary? usage?* contextTokens? time?`,
  'subagent.spawned': `
    type? subagentId? subagentName? parentToolCallId? parentAgentId? callerAgentId? description?
    runInBackground? model? thinkingEffort? taskId? time?`,
  'subagent.started': `type? subagentId? time?`,
  'task.started': `
    type? agentId? info?{taskId? description? status? detached? startedAt? endedAt? timeoutMs? kind?
    command? pid? exitCode? parentToolCallId?} time?`,
  'task.terminated': `
    type? agentId? info?{taskId? description? status? detached? startedAt? endedAt? timeoutMs? kind?
    command? pid? exitCode? parentToolCallId?} outputTail? time?`,
  'token_counting.measured': `type agentId length tokens time`,
  'token_counting.turn_recorded': `type agentId turnId length tokens time`,
  'tools.update_store': `type? agentId? key? value?* time?`,
  'turn.cancel': `type? agentId? turnId? target? reason? time?`,
  'turn.ended': `
    type agentId turnId reason durationMs time error?{code? message? name? details?{statusCode?
    requestId? traceId?} retryable?}`,
  'turn.prompt': `
    type agentId input{<text> type text} origin{kind taskId? status? notificationId? name?}
    promptId? turnId time`,
  'turn.steer': `
    type? agentId? input?{<text> type? text?} origin?{kind? activationId? skillName? trigger?
    skillPath? skillSource? inTurn?} messageId? promptIds? turnId? time?`,
  'turn.step.interrupted': `type? agentId? turnId? step? reason? time? message?`,
  'turn.step.retrying': `
    type? agentId? turnId? step? stepId? failedAttempt? nextAttempt? maxAttempts? delayMs?
    errorName? errorMessage? statusCode? time?`,
  'usage.record': `type agentId model usage* usageScope time`,
};
