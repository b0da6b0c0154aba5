/** Fields of the records, as the recordings show them, in the notation of lib/shape. Made by scripts/shapes.ts. */

export const STDOUT: Readonly<Record<string, string>> = {
  'catalog.updated': `id? type? properties?`,
  error: `
    type timestamp sessionID error{name data{message statusCode? isRetryable? responseHeaders?*
    responseBody? metadata?* ref?}}`,
  'file.edited': `id? type? properties?{file?}`,
  'file.watcher.updated': `id? type? properties?{file? event?}`,
  'integration.updated': `id? type? properties?`,
  'message.part.delta': `id? type? properties?{sessionID? messageID? partID? field? delta?}`,
  'message.part.updated': `
    id? type? properties?{sessionID? part?{<text> type? text? messageID? sessionID? id? time?{start?
    end?} <step-start> id? messageID? sessionID? snapshot? type? <reasoning> id? messageID?
    sessionID? type? text? time?{start? end?} <tool> id? messageID? sessionID? type? tool? callID?
    state?{<pending> status? input?* raw? <running> status? input?* time?{start?} metadata?*
    <completed> status? input?* output? metadata?* title? time?{start? end?}} <step-finish> id?
    reason? snapshot? messageID? sessionID? type? tokens?{total? input?* output? reasoning?
    cache?{write? read?}} cost? <patch> id? messageID? sessionID? type? hash? files?} time?}`,
  'message.updated': `
    id? type? properties?{sessionID? info?{<user> id? role? sessionID? time?{created?} agent?
    model?{providerID? modelID?} summary?{diffs?{<added> file? patch? additions? deletions?
    status?}} <assistant> id? parentID? role? mode? agent? path?{cwd? root?} cost? tokens?{input?*
    output? reasoning? cache?{read? write?} total?} modelID? providerID? time?{created? completed?}
    sessionID? finish?}}`,
  'plugin.added': `id? type? properties?{id?}`,
  reasoning: `
    type? timestamp? sessionID? part?{<reasoning> id? messageID? sessionID? type? text? time?{start?
    end?}}`,
  'reference.updated': `id? type? properties?`,
  'server.connected': `id? type? properties?`,
  'server.heartbeat': `id? type? properties?`,
  'session.created': `
    id? type? properties?{sessionID? info?{id? slug? version? projectID? directory? path? title?
    cost? tokens?{input?* output? reasoning? cache?{read? write?}} time?{created? updated?}
    permission?*}}`,
  'session.diff': `id? type? properties?{sessionID? diff?}`,
  'session.idle': `id? type? properties?{sessionID?}`,
  'session.status': `id? type? properties?{sessionID? status?{<busy> type? <idle> type?}}`,
  'session.updated': `
    id? type? properties?{sessionID? info?{id? slug? projectID? directory? path? title? agent?
    model?{id? providerID? variant?} version? cost? tokens?{input?* output? reasoning? cache?{read?
    write?}} time?{created? updated?} summary?{additions? deletions? files?} permission?*}}`,
  step_finish: `
    type timestamp sessionID part{<step-finish> id reason snapshot? messageID sessionID type
    tokens{total input* output reasoning cache{write read}} cost}`,
  step_start: `type timestamp sessionID part{<step-start> id messageID sessionID snapshot? type}`,
  text: `
    type timestamp sessionID part{<text> id messageID sessionID type text time{start end} metadata?*
    synthetic?}`,
  tool_use: `
    type timestamp sessionID part{<tool> type tool callID state{<completed> status input* output
    metadata* title time{start end} <error> status input* error time{start end}} id sessionID
    messageID}`,
};

export const SESSION: Readonly<Record<string, string>> = {
  'export/message': `
    message{<user> role time{created} agent model{providerID modelID variant?}
    summary?{diffs{<added> file patch additions deletions status <deleted> file? patch? additions?
    deletions? status? <modified> file? patch? additions? deletions? status?}} id sessionID
    <assistant> parentID role mode agent variant? path{cwd root} cost tokens{total? input* output
    reasoning cache{write read}} modelID providerID time{created completed?} finish? id sessionID
    error?{name data{message statusCode isRetryable responseHeaders* responseBody metadata*}}
    summary?}`,
  'export/part': `
    part{<text> type text id sessionID messageID time?{start end?} metadata?* synthetic?
    <step-start> snapshot type id sessionID messageID <reasoning> type text time{start end} id
    sessionID messageID <tool> type tool callID state{<completed> status input* output metadata*
    title time{start end} <error> status input* error time{start end}} id sessionID messageID
    <step-finish> reason snapshot type tokens{total input* output reasoning cache{write read}} cost
    id sessionID messageID <patch> type hash files id sessionID messageID <compaction> type? auto?
    overflow? id? sessionID? messageID? <file> type? mime? filename? url? id? sessionID? messageID?}`,
  'export/session': `
    session{id slug projectID directory path title agent model{id providerID variant} version
    summary?{additions deletions files} cost tokens{input* output reasoning cache{read write}}
    time{created updated} permission?*}`,
  'row/message': `
    id session_id time_created time_updated data"{<user> role time{created} agent model{providerID
    modelID variant?} summary?{diffs{<added> file patch additions deletions status <deleted> file?
    patch? additions? deletions? status? <modified> file? patch? additions? deletions? status?}}
    <assistant> parentID role mode agent variant? path{cwd root} cost tokens{total? input* output
    reasoning cache{write read}} modelID providerID time{created completed?} finish? error?{name
    data{message statusCode isRetryable responseHeaders* responseBody metadata*}} summary?}`,
  'row/part': `
    id message_id session_id time_created time_updated data"{<text> type text time?{start end?}
    metadata?* synthetic? <step-start> snapshot? type <reasoning> type text time{start end} <tool>
    type tool callID state{<completed> status input* output metadata* title time{start end} <error>
    status input* error time{start end}} <step-finish> reason snapshot? type tokens{total input*
    output reasoning cache{write read}} cost <patch> type hash files <compaction> type? auto?
    overflow? <file> type? mime? filename? url?}`,
  'row/session': `
    id project_id workspace_id parent_id slug directory path title version share_url
    summary_additions summary_deletions summary_files summary_diffs* metadata* cost tokens_input
    tokens_output tokens_reasoning tokens_cache_read tokens_cache_write revert permission* agent
    model"{id providerID variant} time_created time_updated time_compacting time_archived`,
};
