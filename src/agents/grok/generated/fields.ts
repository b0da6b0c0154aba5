/** Fields of the records, as the recordings show them, in the notation of lib/shape. Made by scripts/shapes.ts. */

export const STDOUT: Readonly<Record<string, string>> = {
  available_commands: `type tools commands`,
  end: `
    type stopReason sessionId requestId usage{input_tokens cache_read_input_tokens
    cache_creation_input_tokens output_tokens reasoning_tokens total_tokens} num_turns modelUsage*`,
  error: `type? message?`,
  max_turns_reached: `type?`,
  text: `type data`,
  thought: `type? data?`,
  tool_call: `type toolCallId title kind status toolName rawInput* content locations`,
  tool_call_update: `
    type toolCallId status content{<content> type content{<text> type text} <diff> type? path?
    oldText? newText? _meta?{details?* old_line? new_line?}} rawOutput* locations{path}`,
  usage: `
    type usage{input_tokens output_tokens cache_read_input_tokens cache_creation_input_tokens
    reasoning_tokens}`,
};

export const SESSION: Readonly<Record<string, string>> = {
  agent_message_chunk: `
    timestamp method params{sessionId update{sessionUpdate content{<text> type text}}
    _meta{totalTokens eventId agentTimestampMs promptId streamStartMs turnStartMs updateType
    chunkId}}`,
  agent_thought_chunk: `
    timestamp? method? params?{sessionId? update?{sessionUpdate? content?{<text> type? text?}}
    _meta?{totalTokens? eventId? agentTimestampMs? promptId? streamStartMs? turnStartMs? updateType?
    chunkId?}}`,
  background_tasks: `
    timestamp? method? params?{sessionId? update?{sessionUpdate? tasks?{task_id? command?
    description? cwd? kind? status? started_at? output_file? ended_at? exit_code?}} _meta?{eventId?
    agentTimestampMs?}}`,
  retry_state: `
    timestamp? method? params?{sessionId? update?{<failed> sessionUpdate? type? error_type? message?
    <retrying> sessionUpdate? type? attempt? max_retries? reason? error_type?} _meta?{eventId?
    agentTimestampMs?}}`,
  subagent_finished: `
    timestamp? method? params?{sessionId? update?{sessionUpdate? subagent_id? attempt_id?
    child_session_id? status? tool_calls? turns? duration_ms? tokens_used? output? will_wake?}
    _meta?{eventId? agentTimestampMs?}}`,
  subagent_spawned: `
    timestamp? method? params?{sessionId? update?{sessionUpdate? subagent_id? attempt_id?
    parent_session_id? parent_prompt_id? child_session_id? subagent_type? description?
    effective_context_source? model?} _meta?{eventId? agentTimestampMs?}}`,
  task_backgrounded: `
    timestamp? method? params?{sessionId? update?{sessionUpdate? tool_call_id? task_id? command?
    cwd? output_file? description?} _meta?{eventId? agentTimestampMs?}}`,
  task_completed: `
    timestamp? method? params?{sessionId? update?{sessionUpdate? task_snapshot?{task_id? command?
    cwd? start_time?{secs_since_epoch? nanos_since_epoch?} end_time?{secs_since_epoch?
    nanos_since_epoch?} output? output_file? truncated? output_total_bytes? exit_code? signal?
    completed? kind? block_waited? explicitly_killed? kill_result_delivered? owner_session_id?
    description? is_backgrounded?} will_wake?} _meta?{eventId? agentTimestampMs?}}`,
  tool_call: `
    timestamp method params{sessionId update{sessionUpdate toolCallId title rawInput* _meta?*}
    _meta{totalTokens eventId agentTimestampMs promptId streamStartMs turnStartMs updateType
    updateParams{toolCallId title kind status}}}`,
  tool_call_update: `
    timestamp method params{sessionId update{sessionUpdate toolCallId status? title?
    content?{<content> type content{<text> type text} <diff> type? path? oldText? newText?
    _meta?{details?* old_line? new_line?}} kind? locations?{path} rawInput?* _meta?* rawOutput?*}
    _meta{totalTokens eventId agentTimestampMs promptId streamStartMs turnStartMs updateType
    updateParams{toolCallId status}}}`,
  turn_completed: `
    timestamp method params{sessionId update{sessionUpdate prompt_id stop_reason usage?{inputTokens
    outputTokens totalTokens cachedReadTokens cacheCreationTokens reasoningTokens modelCalls
    apiDurationMs modelUsage* numTurns} elapsed_ms agent_result?} _meta{eventId agentTimestampMs
    cancellationCategory?}}`,
  user_message_chunk: `
    timestamp method params{sessionId update{sessionUpdate content{<text> type text} _meta{modelId
    promptIndex hideFromScrollback?}} _meta{eventId agentTimestampMs}}`,
};
