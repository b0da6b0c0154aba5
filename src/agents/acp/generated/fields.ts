/** Fields of the records, as the recordings show them, in the notation of lib/shape. Made by scripts/shapes.ts. */

export const STDOUT: Readonly<Record<string, string>> = {
  'agent->client': `
    dir t? msg{<> jsonrpc id result?{protocolVersion? agentCapabilities?{_meta?*
    promptCapabilities{image embeddedContext audio?} mcpCapabilities{http sse} loadSession
    sessionCapabilities?{additionalDirectories? close? delete? fork? list resume?} auth?{logout?}}
    agentInfo?{name title version} authMethods? sessionId? modes?{currentModeId availableModes}
    configOptions?{<select> id name description? category type currentValue options} stopReason?
    usage?{inputTokens outputTokens cachedReadTokens cachedWriteTokens totalTokens thoughtTokens?}
    models?{availableModels{modelId name description? _meta?*} currentModelId} _meta?*} error?{code?
    message?} <session/update> jsonrpc method params{sessionId update{<available_commands_update>
    sessionUpdate availableCommands <usage_update> sessionUpdate used size cost?{amount? currency?}
    <agent_thought_chunk> sessionUpdate content{<text> type text} messageId? <agent_message_chunk>
    sessionUpdate content{<text> type text} messageId? _meta?* <tool_call> _meta?* toolCallId
    sessionUpdate rawInput?* status title kind locations?{path} content?{<diff> type? path? oldText?
    newText? <content> type? content?{<text> type? text?}} <tool_call_update> _meta?* toolCallId
    sessionUpdate rawInput?* title? kind? locations?{path line?} content?{<content> type
    content{<text> type text} <diff> type path oldText newText _meta?*} status? rawOutput?*
    <config_option_update> sessionUpdate? configOptions?{<select> type? id? name? category?
    currentValue? options?} <session_info_update> sessionUpdate? title? updatedAt?}}
    <session/request_permission> jsonrpc id method params{options{kind name optionId} sessionId
    toolCall{toolCallId rawInput?* title kind content?{<content> type content{<text> type text}
    <diff> type path oldText newText _meta?*} locations?{path} status? _meta?*}} <fs/read_text_file>
    jsonrpc? id? method? params?{path? sessionId?} <qwen/notify/session/mode-update> jsonrpc?
    method? params?{v? sessionId? currentModeId?} <craft/drainMidTurnQueue> jsonrpc? id? method?
    params?{sessionId? todoStopGuardWatchQueuedPrompt?}} t_ms?`,
  'client->agent': `
    dir t? msg{<initialize> jsonrpc id method params{protocolVersion
    clientCapabilities{fs{readTextFile writeTextFile} terminal} clientInfo{name version}}
    <session/new> jsonrpc id method params{cwd mcpServers{name? command? args? env?}}
    <session/prompt> jsonrpc id method params{sessionId prompt{<text> type text}} <> jsonrpc id
    result?{outcome?{outcome optionId} content?} error?{code? message? data?{uri?}} <session/cancel>
    jsonrpc? method? params?{sessionId?} <authenticate> jsonrpc? id? method? params?{methodId?}
    <session/set_mode> jsonrpc? id? method? params?{sessionId? modeId?}} t_ms?`,
  exit: `dir? t? msg?{code? signal?}`,
  'fs/write_text_file': `jsonrpc? id? method? params?{sessionId? path? content?}`,
  'session/request_permission': `
    jsonrpc? id? method? params?{sessionId? toolCall?{toolCallId? title? kind? status?
    locations?{path?} rawInput?* content?{<diff> type? path? oldText? newText?}} options?{optionId?
    kind? name?}}`,
  'session/update': `
    jsonrpc? method? params?{sessionId? update?{<available_commands_update> sessionUpdate?
    availableCommands? <agent_thought_chunk> sessionUpdate? messageId? content?{<text> type? text?}
    <agent_message_chunk> sessionUpdate? messageId? content?{<text> type? text?} <tool_call>
    sessionUpdate? toolCallId? title? kind? status? locations? rawInput?* <tool_call_update>
    sessionUpdate? toolCallId? status? kind? title? locations?{path?} rawInput?* content?{<content>
    type? content?{<text> type? text?}} rawOutput?* <usage_update> sessionUpdate? used? size?
    cost?{amount? currency?}}}`,
};

export const SESSION: Readonly<Record<string, string>> = {
};
