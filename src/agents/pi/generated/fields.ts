/** Fields of the records, as the recordings show them, in the notation of lib/shape. Made by scripts/shapes.ts. */

export const STDOUT: Readonly<Record<string, string>> = {
  agent_end: `
    type messages{<system> role content sections?* timestamp toolsAdded* <user> role content{<text>
    type text} timestamp <assistant> role content{<text> type text <toolCall> type id name
    arguments* argumentsError? <thinking> type thinking thinkingSignature} api provider model
    usage{input output cacheRead cacheWrite reasoning? totalTokens cost{input output cacheRead
    cacheWrite total totalFromProvider?} cacheWrite1h?} stopReason timestamp responseId?
    rawStopReason? durationMs? thinkingLevel? errorMessage? <toolResult> role toolCallId toolName
    content{<text> type text} isError durationMs? timestamp details?* nestedCalls?{calls?{id? name?
    status? arguments?* durationMs? error?} complete?}} willRetry?`,
  agent_settled: `type aborted?`,
  agent_start: `type`,
  auto_retry_end: `type success attempt`,
  auto_retry_start: `type attempt maxAttempts delayMs errorMessage`,
  bash_execution_update: `type? id? delta?`,
  compaction_end: `
    type? reason? result?{summary? firstKeptEntryId? tokensBefore? estimatedTokensAfter?
    usage?{input? output? cacheRead? cacheWrite? reasoning? totalTokens? cost?{input? output?
    cacheRead? cacheWrite? total? totalFromProvider?}} details?*} aborted? willRetry? errorMessage?`,
  compaction_start: `type? reason?`,
  entry_appended: `type entry{<context_edit> type id parentId timestamp targetId replacement}`,
  message_end: `
    type message{<system> role content sections?* timestamp toolsAdded* <user> role content{<text>
    type text} timestamp <assistant> role content{<text> type text <toolCall> type id name
    arguments* argumentsError? <thinking> type thinking thinkingSignature} api provider model
    usage{input output cacheRead cacheWrite reasoning? totalTokens cost{input output cacheRead
    cacheWrite total totalFromProvider?} cacheWrite1h?} stopReason timestamp responseId?
    rawStopReason? durationMs? thinkingLevel? errorMessage? <toolResult> role toolCallId toolName
    content{<text> type text} isError durationMs? timestamp details?* nestedCalls?{calls?{id? name?
    status? arguments?* durationMs? error?} complete?}}`,
  message_start: `
    type message{<system> role content sections* timestamp toolsAdded* <user> role content{<text>
    type text} timestamp <assistant> role content{<thinking> type? thinking? thinkingSignature?
    <text> type? text?} api provider model usage{input output cacheRead cacheWrite totalTokens
    cost{input output cacheRead cacheWrite total totalFromProvider?} cacheWrite1h?} stopReason
    timestamp errorMessage? durationMs? thinkingLevel? responseId? <toolResult> role toolCallId
    toolName content{<text> type text} isError durationMs? timestamp details?*
    nestedCalls?{calls?{id? name? status? arguments?* durationMs? error?} complete?}}`,
  message_update: `
    type usage?{input output cacheRead cacheWrite reasoning? totalTokens cost{input output cacheRead
    cacheWrite total totalFromProvider?} cacheWrite1h?} assistantMessageEvent{<text_start> type
    contentIndex partial?{<assistant> role content{<text> type text} api provider model usage{input
    output cacheRead cacheWrite totalTokens cost{input output cacheRead cacheWrite total}}
    stopReason timestamp responseId} <text_delta> type contentIndex delta partial?{<assistant> role
    content{<text> type text <toolCall> type? id? name? arguments?* partialArgs? streamIndex?} api
    provider model usage{input output cacheRead cacheWrite totalTokens cost{input output cacheRead
    cacheWrite total}} stopReason timestamp responseId} <text_end> type contentIndex content
    partial?{<assistant> role? content?{<text> type? text? <toolCall> type? id? name? arguments?*}
    api? provider? model? usage?{input? output? cacheRead? cacheWrite? totalTokens? cost?{input?
    output? cacheRead? cacheWrite? total?}} stopReason? timestamp? responseId?} <toolcall_start>
    type contentIndex id? toolName? partial?{<assistant> role? content?{<toolCall> type? id? name?
    arguments?* partialArgs? streamIndex? <text> type? text?} api? provider? model? usage?{input?
    output? cacheRead? cacheWrite? totalTokens? cost?{input? output? cacheRead? cacheWrite? total?}}
    stopReason? timestamp? responseId?} <toolcall_delta> type contentIndex delta
    partial?{<assistant> role? content?{<toolCall> type? id? name? arguments?* partialArgs?
    streamIndex? <text> type? text?} api? provider? model? usage?{input? output? cacheRead?
    cacheWrite? totalTokens? cost?{input? output? cacheRead? cacheWrite? total?}} stopReason?
    timestamp? responseId?} <toolcall_end> type contentIndex toolCall{<toolCall> type id name
    arguments* argumentsError?} partial?{<assistant> role? content?{<toolCall> type? id? name?
    arguments?* <text> type? text?} api? provider? model? usage?{input? output? cacheRead?
    cacheWrite? totalTokens? cost?{input? output? cacheRead? cacheWrite? total?}} stopReason?
    timestamp? responseId?} <thinking_start> type contentIndex <thinking_delta> type contentIndex
    delta <thinking_end> type contentIndex content} message?{<assistant> role content{<toolCall>
    type? id? name? arguments?* partialArgs? streamIndex? <text> type text} api provider model
    usage{input output cacheRead cacheWrite totalTokens cost{input output cacheRead cacheWrite
    total}} stopReason timestamp responseId}`,
  queue_update: `type? steering? followUp?`,
  response: `id? type? command? success? data?* error?`,
  session: `type version id timestamp cwd parentSession?`,
  tool_execution_end: `
    type toolCallId toolName result{content{<text> type text} structuredContent?* isError?
    details?*} isError durationMs? parentToolCallId?`,
  tool_execution_start: `type toolCallId toolName args* parentToolCallId?`,
  tool_execution_update: `
    type toolCallId toolName args* partialResult{content{<text> type text} details?*}
    parentToolCallId?`,
  turn_end: `
    type message{<assistant> role content{<text> type text <toolCall> type id name arguments*
    argumentsError? <thinking> type thinking thinkingSignature} api provider model usage{input
    output cacheRead cacheWrite reasoning? totalTokens cost{input output cacheRead cacheWrite total
    totalFromProvider?} cacheWrite1h?} stopReason timestamp responseId? rawStopReason? durationMs?
    thinkingLevel? errorMessage?} toolResults{<toolResult> role toolCallId toolName content{<text>
    type text} isError durationMs? timestamp details?* nestedCalls?{calls?{id? name? status?
    arguments?* durationMs? error?} complete?}}`,
  turn_start: `type`,
};

export const SESSION: Readonly<Record<string, string>> = {
  compaction: `
    type? id? parentId? timestamp? summary? firstKeptEntryId? tokensBefore? details?* usage?{input?
    output? cacheRead? cacheWrite? reasoning? totalTokens? cost?{input? output? cacheRead?
    cacheWrite? total? totalFromProvider?}} fromHook? systemMessage?{<system> role? content?
    sections?* toolsAdded?* timestamp?}`,
  context_edit: `type id parentId timestamp targetId replacement`,
  message: `
    type id parentId timestamp message{<system> role content sections?* timestamp toolsAdded* <user>
    role content{<text> type text} timestamp <assistant> role content{<text> type text <toolCall>
    type id name arguments* argumentsError? <thinking> type thinking thinkingSignature} api provider
    model usage{input output cacheRead cacheWrite reasoning? totalTokens cost{input output cacheRead
    cacheWrite total totalFromProvider?} cacheWrite1h?} stopReason timestamp responseId?
    rawStopReason? durationMs? thinkingLevel? errorMessage? <toolResult> role toolCallId toolName
    content{<text> type text} isError durationMs? timestamp details?* nestedCalls?{calls?{id name
    status arguments* durationMs error?} complete?} <bashExecution> role? command? output? exitCode?
    cancelled? truncated? timestamp?}`,
  model_change: `type id parentId timestamp provider modelId`,
  session: `type version id timestamp cwd parentSession?`,
  thinking_level_change: `type id parentId timestamp thinkingLevel`,
};
