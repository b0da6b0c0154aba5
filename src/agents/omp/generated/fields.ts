/** Fields of the records, as the recordings show them, in the notation of lib/shape. Made by scripts/shapes.ts. */

export const STDOUT: Readonly<Record<string, string>> = {
  advisor_cost_changed: `type`,
  agent_end: `
    type messages{<user> role content{<text> type text} attribution timestamp <assistant> role
    content{<toolCall> type id name arguments* partialArgs streamIndex intent? <text> type text
    <thinking> type? thinking? thinkingSignature?} api provider model usage{input output cacheRead
    cacheWrite totalTokens cost{input output cacheRead cacheWrite total} reasoningTokens?}
    stopReason timestamp responseId? duration ttft? errorStatus? errorId? errorMessage? <toolResult>
    role toolCallId toolName content{<text> type text} details* isError timestamp} isTerminal`,
  agent_start: `type`,
  message_end: `
    type message{<user> role content{<text> type text} attribution timestamp <assistant> role
    content{<toolCall> type id name arguments* partialArgs streamIndex intent? <text> type text
    <thinking> type? thinking? thinkingSignature?} api provider model usage{input output cacheRead
    cacheWrite totalTokens cost{input output cacheRead cacheWrite total} reasoningTokens?}
    stopReason timestamp responseId? duration ttft? completedAt errorStatus? errorId? errorMessage?
    <toolResult> role toolCallId toolName content{<text> type text} details* isError timestamp}`,
  message_start: `
    type message{<user> role content{<text> type text} attribution timestamp <assistant> role
    content{<toolCall> type id name arguments* partialArgs streamIndex <text> type text <thinking>
    type? thinking? thinkingSignature?} api provider model usage{input output cacheRead cacheWrite
    totalTokens cost{input output cacheRead cacheWrite total}} stopReason timestamp responseId?
    errorStatus? errorId? errorMessage? duration? <toolResult> role toolCallId toolName
    content{<text> type text} details* isError timestamp}`,
  message_update: `
    type assistantMessageEvent{<toolcall_start> type contentIndex <toolcall_delta> type contentIndex
    delta <toolcall_end> type contentIndex toolCall{<toolCall> type id name arguments* partialArgs
    streamIndex} <text_start> type contentIndex <text_delta> type contentIndex delta <text_end> type
    contentIndex content <thinking_start> type? contentIndex? <thinking_delta> type? contentIndex?
    delta? <thinking_end> type? contentIndex? content?}`,
  session: `type version id timestamp cwd`,
  tool_execution_end: `type toolCallId toolName result{content{<text> type text} details* isError?} isError`,
  tool_execution_start: `type toolCallId toolName args* intent?`,
  tool_execution_update: `type toolCallId toolName args* partialResult{content{<text> type text} details*}`,
  tool_stream_update: `type? toolCallId? toolName?`,
  turn_end: `
    type message{<assistant> role content{<toolCall> type id name arguments* partialArgs streamIndex
    intent? <text> type text <thinking> type? thinking? thinkingSignature?} api provider model
    usage{input output cacheRead cacheWrite totalTokens cost{input output cacheRead cacheWrite
    total} reasoningTokens?} stopReason timestamp responseId? duration ttft? errorStatus? errorId?
    errorMessage?} toolResults{<toolResult> role toolCallId toolName content{<text> type text}
    details* isError timestamp}`,
  turn_start: `type`,
};

export const SESSION: Readonly<Record<string, string>> = {
  custom: `type customType data* id parentId timestamp`,
  message: `
    type id parentId timestamp message{<user> role content{<text> type text} attribution timestamp
    <assistant> role content{<toolCall> type id name arguments* partialArgs streamIndex intent?
    <text> type text <thinking> type? thinking? thinkingSignature?} api provider model usage{input
    output cacheRead cacheWrite totalTokens cost{input output cacheRead cacheWrite total}
    reasoningTokens?} stopReason timestamp responseId? duration ttft? completedAt
    contextSnapshot?{promptTokens nonMessageTokens compactionEpoch} errorStatus? errorId?
    errorMessage? <toolResult> role toolCallId toolName content{<text> type text} details* isError
    timestamp}`,
  model_change: `type id parentId timestamp model resolvedModelIsFallback`,
  session: `type version id timestamp cwd`,
  thinking_level_change: `type id parentId timestamp thinkingLevel configured`,
  title: `type v title updatedAt pad`,
};
