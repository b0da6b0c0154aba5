/** Fields of the records, as the recordings show them, in the notation of lib/shape. Made by scripts/shapes.ts. */

export const STDOUT: Readonly<Record<string, string>> = {
  error: `type? timestamp? severity? message?`,
  init: `type timestamp session_id model`,
  message: `type timestamp role content delta?`,
  result: `
    type timestamp status stats{total_tokens input_tokens output_tokens cached input duration_ms
    tool_calls models*} error?{<unknown> type? message? <FatalTurnLimitedError> type? message?}`,
  tool_result: `
    type timestamp tool_id status output? error?{<tool_not_registered> type message
    <invalid_tool_params> type message <mcp_tool_error> type? message?}`,
  tool_use: `type timestamp tool_name tool_id parameters*`,
};

export const SESSION: Readonly<Record<string, string>> = {
  $set: `
    $set{messages?{<user> id timestamp type content{text? functionResponse?{id? name? response?*}}
    <gemini> id? timestamp? type? content?{functionCall?{id? name? args?*} text?}} lastUpdated?
    sessionId? summary?}`,
  gemini: `
    id timestamp type content thoughts{subject description timestamp} tokens?{input output cached
    thoughts tool total} model toolCalls?{id name args* result{functionResponse{id name response*}}
    status timestamp resultDisplay* description displayName renderOutputAsMarkdown agentId?}`,
  session: `sessionId projectHash startTime lastUpdated kind directories?`,
  user: `id timestamp type content{text? functionResponse?{id name response*}}`,
};
