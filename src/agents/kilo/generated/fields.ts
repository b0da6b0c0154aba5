/** Fields of the records, as the recordings show them, in the notation of lib/shape. Made by scripts/shapes.ts. */

export const STDOUT: Readonly<Record<string, string>> = {
  error: `
    type? timestamp? sessionID? error?{name? data?{message? statusCode? isRetryable?
    responseHeaders?* responseBody? metadata?*}}`,
  reasoning: `
    type? timestamp? sessionID? part?{<reasoning> id? sessionID? messageID? type? text? time?{start?
    end?}}`,
  step_finish: `
    type timestamp sessionID part{<step-finish> id sessionID messageID type reason
    metrics{generation source} time{start end elapsed} cost tokens{total input* output reasoning
    cache{read write}}}`,
  step_start: `type timestamp sessionID part{<step-start> id sessionID messageID type}`,
  text: `type timestamp sessionID part{<text> id sessionID messageID type text time{start end}}`,
  tool_use: `
    type timestamp sessionID part{<tool> id sessionID messageID type callID tool state{<error>
    status input* error time{start end} metadata?* <completed> status input* output title metadata*
    time{start end}}}`,
};

export const SESSION: Readonly<Record<string, string>> = {
  'row/message': `
    id session_id time_created time_updated data{<user> role time{created} agent model{providerID
    modelID} summary{diffs} tools?{question? task?} <assistant> parentID role mode agent path{cwd
    root} cost tokens{total? input* output reasoning cache{write read}} modelID providerID
    time{created completed?} finish? error?{name? data?{message? statusCode? isRetryable?
    responseHeaders?* responseBody? metadata?*}}}`,
  'row/part': `
    id message_id session_id time_created time_updated data{<text> type text time?{start end}
    <step-start> type time{start} <tool> type tool callID state{<error> status input* error
    time{start end} metadata?* <completed> status input* output metadata* title time{start end}
    <running> status? input?* time?{start?} metadata?*} <step-finish> reason type time{start end
    elapsed} metrics{generation source} tokens{total input* output reasoning cache{write read}} cost
    <reasoning> type? text? time?{start? end?}}`,
  'row/session': `
    id project_id workspace_id parent_id slug directory path title version share_url
    summary_additions summary_deletions summary_files summary_diffs* metadata* cost tokens_input
    tokens_output tokens_reasoning tokens_cache_read tokens_cache_write revert permission* agent
    model time_created time_updated time_compacting time_archived`,
};
