/** Fields of the records, as the recordings show them, in the notation of lib/shape. Made by scripts/shapes.ts. */

export const STDOUT: Readonly<Record<string, string>> = {
  abort: `type? data?{reason?} id? timestamp? parentId?`,
  'agent.interrupted': `
    type? data?{activity? turn? elapsedMs? model? apiEndpoint? transport? cancelPhase? outputTtftMs?
    toolCallIds? toolNames? safeToolNames?} ephemeral? id? timestamp? parentId?`,
  'assistant.idle': `type data{aborted?} ephemeral id timestamp parentId`,
  'assistant.message': `
    type data{messageId originatingMessageId? model? content toolRequests{<function> toolCallId name
    arguments* type intentionSummary? toolTitle? mcpServerName? mcpToolName? <custom> toolCallId?
    name? arguments?* type? toolTitle? <> toolCallId? name? arguments?* toolTitle?
    intentionSummary?} interactionId? turnId? rte? apiCallId? reasoningText? reasoningOpaque?
    reasoningBlocks?{provider? blocks?{<thinking> type? thinking? signature? <reasoning> type? id?
    summary?{<summary_text> type? text?} encrypted_content?}} parentToolCallId? encryptedContent?
    serverTools?{provider?}} id timestamp parentId agentId?`,
  'assistant.message_delta': `type data{messageId deltaContent parentToolCallId?} ephemeral id timestamp parentId agentId?`,
  'assistant.message_start': `type data{messageId} ephemeral id timestamp parentId agentId?`,
  'assistant.reasoning': `type data{reasoningId content rte} ephemeral id timestamp parentId`,
  'assistant.reasoning_delta': `type data{reasoningId deltaContent} ephemeral id timestamp parentId`,
  'assistant.tool_call_delta': `type data{toolCallId toolName toolType? inputDelta} ephemeral id timestamp parentId agentId?`,
  'assistant.turn_end': `type data{turnId parentToolCallId?} id timestamp parentId agentId?`,
  'assistant.turn_retry': `type data{turnId model reason} ephemeral id timestamp parentId`,
  'assistant.turn_start': `type data{turnId interactionId parentToolCallId?} id timestamp parentId agentId?`,
  'model.call_failure': `
    type data{model apiCallId statusCode? durationMs apiEndpoint transport requestBodyBytes
    requestBodyWireBytes requestBodyEncoding retryAttempt failureKind maxPromptTokens
    maxOutputTokens isByok byokKind modelProvider providerType isAuto interactionType rte source
    errorMessage requestFingerprint?{messageCount toolResultMessageCount toolCallCount
    namelessToolCallCount customToolCallCount unmatchedToolResultCount orphanToolCallCount
    imagePartCount imagePartsMissingMediaType imageBytes reasoningItemCount encryptedContentBytes
    lastMessageRole} badRequestKind? errorType? initiator? parentToolCallId?} ephemeral id timestamp
    parentId agentId?`,
  'model.call_final_result': `type data{model isByok result} ephemeral id timestamp parentId agentId?`,
  'model.call_finished': `
    type data{turnId dispatchDurationMs outcome editClassifierVersion interactionId
    containsBuiltInFileEditRequest?} ephemeral id timestamp parentId agentId?`,
  'model.call_start': `type data{turnId model parentToolCallId?} ephemeral id timestamp parentId agentId?`,
  result: `
    type timestamp sessionId exitCode usage{premiumRequests totalApiDurationMs sessionDurationMs
    codeChanges{linesAdded linesRemoved filesModified}}`,
  'session.autopilot_stopped': `type? data?{reason? requestId?} ephemeral? id? timestamp? parentId?`,
  'session.background_tasks_changed': `type data ephemeral id timestamp parentId`,
  'session.custom_agents_updated': `type? data?{agents? warnings? errors?} ephemeral? id? timestamp? parentId?`,
  'session.error': `type data{errorType message statusCode originatingMessageId} id timestamp parentId agentId?`,
  'session.info': `type data{infoType message} ephemeral id timestamp parentId`,
  'session.mcp_server_status_changed': `type? data?{serverName? status? configSource?} ephemeral? id? timestamp? parentId?`,
  'session.mcp_server_tools_loaded': `type? data?{serverName? toolCount?} ephemeral? id? timestamp? parentId?`,
  'session.mcp_servers_loaded': `type ephemeral data{servers{name? status? serverMetadata?*}} id timestamp parentId`,
  'session.mode_notice_delivered': `type? data?{mode?} id? timestamp? parentId?`,
  'session.skills_loaded': `
    type data{skills{name commandName description source userInvocable enabled path}} ephemeral id
    timestamp parentId`,
  'session.task_complete': `type? data?{summary? success?} id? timestamp? parentId?`,
  'session.todos_changed': `type? data? ephemeral? id? timestamp? parentId?`,
  'session.tools_updated': `type data{model} ephemeral id timestamp parentId`,
  'subagent.completed': `
    type? data?{toolCallId? agentName? agentDisplayName? model? firstDispatchedModel?
    modelSelectionSource? totalToolCalls? totalTokens? durationMs? cancelled?} agentId? id?
    timestamp? parentId?`,
  'subagent.configured': `type? data?{model? multiTurn?} agentId? id? timestamp? parentId?`,
  'subagent.failed': `
    type? data?{toolCallId? agentName? agentDisplayName? error? model? firstDispatchedModel?
    modelSelectionSource? totalToolCalls? totalTokens? durationMs?} agentId? id? timestamp?
    parentId?`,
  'subagent.started': `
    type? data?{toolCallId? agentName? agentDisplayName? agentDescription? model? taskModelSource?
    modelSelectionSource? resumable? agentType? executionMode?} agentId? id? timestamp? parentId?`,
  'system.notification': `
    type? data?{content? kind?{<shell_completed> type? shellId? exitCode? description? <agent_idle>
    type? agentId? agentType? displayName? description?}} id? timestamp? parentId?`,
  'tool.execution_complete': `
    type data{toolCallId model? interactionId? turnId? rte? shellExecution?{exitCode} success
    result?{content detailedContent contents?{<text> type? text?} binaryResultsForLlm?{<image> type?
    data? mimeType? description?}} toolTelemetry* error?{message code} parentToolCallId?
    fileEdits?{path? kind?}} id timestamp parentId agentId?`,
  'tool.execution_partial_result': `type data{toolCallId partialOutput} ephemeral id timestamp parentId agentId?`,
  'tool.execution_start': `
    type data{toolCallId toolName arguments* turnId? model? toolTitle? shellToolInfo?{possiblePaths
    hasWriteFileRedirection} mcpServerName? mcpConfigServerName? mcpTransport? mcpConfigSource?
    mcpToolName? parentToolCallId?} id timestamp parentId agentId?`,
  'tool.shell_output': `type data{toolCallId stream text sequence} ephemeral id timestamp parentId agentId?`,
  'user.message': `
    type data{content transformedContent messageId supportedNativeDocumentMimeTypes delivery
    interactionId turnId parentAgentTaskId source? agentMode? isAutopilotContinuation?} id timestamp
    parentId agentId?`,
};

export const SESSION: Readonly<Record<string, string>> = {
  abort: `type data{reason} id timestamp parentId`,
  'assistant.message': `
    type data{messageId originatingMessageId? model? content toolRequests{<function> toolCallId name
    arguments* type intentionSummary? toolTitle? mcpServerName? mcpToolName? <custom> toolCallId?
    name? arguments?* type? toolTitle? <> toolCallId? name? arguments?* toolTitle?
    intentionSummary?} interactionId? turnId? reasoningText? rte? apiCallId? parentToolCallId?
    reasoningOpaque? reasoningBlocks?{provider? blocks?{<thinking> type? thinking? signature?
    <reasoning> type? id? summary?{<summary_text> type? text?} encrypted_content?}}
    encryptedContent? serverTools?{provider?}} id timestamp parentId agentId?`,
  'assistant.turn_end': `type data{turnId parentToolCallId?} id timestamp parentId agentId?`,
  'assistant.turn_start': `type data{turnId interactionId parentToolCallId?} id timestamp parentId agentId?`,
  'hook.end': `
    type? data?{hookInvocationId? hookType? success? output?{call_mock_0001? call_mock_0002?}} id?
    timestamp? parentId?`,
  'hook.start': `type? data?{hookInvocationId? hookType? input?*} id? timestamp? parentId?`,
  'permission.completed': `
    type data{requestId toolCallId result{kind feedback?} decisionSource?} id timestamp parentId
    agentId?`,
  'permission.requested': `
    type data{requestId permissionRequest{kind toolCallId fullCommandText? shellType? intention
    commands?{identifier readOnly allowMatchIdentifier?} commandSegments?{identifier fullCommandText
    allowMatchIdentifier staticTokens hasUnboundExecutableContent workingDirectory} possiblePaths?
    canOfferSessionApproval? hasWriteFileRedirection? possibleUrls? fileName? diff? newFileContents?
    fileEdits?{after{path content} before?{path? content?}} path?} promptRequest{kind
    fullCommandText? intention? commandIdentifiers? canOfferSessionApproval? toolCallId fileName?
    diff? newFileContents? fileEdits?{after{path content} before?{path? content?}}
    _permissionRequestSessionId? path? accessKind? paths? readOnlyDirectories?} agentMode
    permissionMode ownerSessionId} id timestamp parentId agentId?`,
  'session.binary_asset': `
    type? data?{<image> assetId? type? mimeType? byteLength? data? description?} id? timestamp?
    parentId?`,
  'session.error': `type data{errorType message statusCode originatingMessageId} id timestamp parentId agentId?`,
  'session.mode_changed': `type? data?{previousMode? newMode?} id? timestamp? parentId?`,
  'session.mode_notice_delivered': `type? data?{mode?} id? timestamp? parentId?`,
  'session.model_change': `
    type data{previousModel? newModel previousReasoningEffort? reasoningEffort
    previousReasoningSummary? reasoningSummary? source contextTier autoTier?} id timestamp parentId
    agentId?`,
  'session.resume': `
    type? data?{resumeTime? eventCount? eventsFileSizeBytes? selectedModel? contextTier?
    sessionLimits? context?{cwd?} alreadyInUse? remoteSteerable? sessionWasActive?} id? timestamp?
    parentId?`,
  'session.shutdown': `
    type data{accountingSnapshot?{totalPremiumRequestCost totalUserRequests totalNanoAiu
    aiCreditsStatus totalApiDurationMs sessionStartTime codeChanges{linesAdded linesRemoved
    filesModifiedCount filesModified} modelMetrics* agentMetrics* providerModelMetrics{provider
    modelId metrics{requests{count cost} usage{inputTokens outputTokens cacheReadTokens
    cacheWriteTokens reasoningTokens?} totalNanoAiu aiCreditsStatus} modelDisplayName} currentModel
    lastCallInputTokens lastCallOutputTokens} providerModelMetrics?{provider modelId
    metrics{requests{count cost} usage{inputTokens outputTokens cacheReadTokens cacheWriteTokens
    reasoningTokens?} totalNanoAiu aiCreditsStatus} modelDisplayName} usageAccountingWatermarks?*
    shutdownType totalPremiumRequests totalNanoAiu totalApiDurationMs sessionStartTime
    eventsFileSizeBytes codeChanges{linesAdded linesRemoved filesModified} modelMetrics*
    agentMetrics?* currentModel? currentTokens systemTokens conversationTokens
    toolDefinitionsTokens} id timestamp parentId`,
  'session.start': `
    type data{sessionId version producer copilotVersion startTime contextTier context{cwd gitRoot?
    branch? headCommit?} remoteSteerable alreadyInUse selectedModel? reasoningEffort?} id timestamp
    parentId`,
  'session.task_complete': `type? data?{summary? success?} id? timestamp? parentId?`,
  'session.usage_record': `
    type data{usage{model modelDisplayName inputTokens outputTokens cacheReadTokens cacheWriteTokens
    reasoningTokens? cost duration timeToFirstTokenMs? outputTtftMs? interTokenLatencyMs? initiator
    interactionType isByok byokKind modelProvider providerType isAuto maxPromptTokens
    maxOutputTokens? transport requestBodyBytes requestBodyWireBytes requestBodyEncoding apiCallId
    rte apiEndpoint accounting{sourceSessionId sequence usageId} aiCreditsStatus availableToolCount
    toolTokenCount customToolCallCount unmatchedToolResultCount orphanToolCallCount frontierSource
    cacheDetailsReported numToolCalls toolCounts* finishReason contentFilterTriggered
    parentToolCallId? reasoningEffort? providerCallId? reasoningSummary?}} id timestamp parentId
    agentId?`,
  'skill.context_delivered_ref': `type data{interactionId source contentId prefix suffix} id timestamp parentId`,
  'skill.invoked': `
    type data{name path content allowedTools source pluginName pluginVersion description trigger
    model invokedAtTurn} id timestamp parentId`,
  'subagent.completed': `
    type data{toolCallId agentName agentDisplayName model firstDispatchedModel modelSelectionSource
    totalToolCalls totalTokens durationMs cancelled?} agentId id timestamp parentId`,
  'subagent.configured': `type data{model reasoningEffort? multiTurn} agentId id timestamp parentId`,
  'subagent.failed': `
    type? data?{toolCallId? agentName? agentDisplayName? error? model? firstDispatchedModel?
    modelSelectionSource? totalToolCalls? totalTokens? durationMs?} agentId? id? timestamp?
    parentId?`,
  'subagent.selected': `type? data?{agentName? agentDisplayName? tools?} agentId? id? timestamp? parentId?`,
  'subagent.started': `
    type data{toolCallId agentName agentDisplayName agentDescription model taskModelSource
    modelSelectionSource resumable agentType executionMode} agentId id timestamp parentId`,
  'system.message': `
    type data{role content metadata{variables{gitCommitTrailer{sessionId clientName
    coauthorEnabled}}} interactionId} id timestamp parentId agentId?`,
  'system.notification': `
    type? data?{content? kind?{<shell_completed> type? shellId? exitCode? description? <agent_idle>
    type? agentId? agentType? displayName? description?}} id? timestamp? parentId?`,
  'tool.execution_complete': `
    type data{toolCallId model? interactionId? turnId? rte? success result?{content detailedContent?
    binaryResultsForLlm?{<image> type? assetId? mimeType? byteLength? description?}} toolTelemetry*
    shellExecution?{exitCode} fileEdits?{path kind} error?{message code} parentToolCallId?} id
    timestamp parentId agentId?`,
  'tool.execution_start': `
    type data{toolCallId toolName arguments* turnId? model? toolTitle? shellToolInfo?{possiblePaths
    hasWriteFileRedirection} parentToolCallId? mcpServerName? mcpConfigServerName? mcpTransport?
    mcpConfigSource? mcpToolName?} id timestamp parentId agentId?`,
  'user.message': `
    type data{content transformedContent messageId supportedNativeDocumentMimeTypes delivery
    interactionId turnId parentAgentTaskId source? agentMode? isAutopilotContinuation?} id timestamp
    parentId agentId?`,
};
