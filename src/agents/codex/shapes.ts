/** Kinds of records, and foreign content in them. The fields are in generated/fields.ts. */
import type { RecordShapes } from '../../model/agent.ts';
import { words } from '../kit/text.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

/** App-server messages have a method; those without one are answers. */
function kindOf({ type, method, id, result }: Readonly<Record<string, unknown>>): string {
  if (typeof type === 'string') return type;
  if (typeof method === 'string') return `server/${method}`;
  return id !== undefined && result !== undefined ? 'server/answer' : '';
}

export const shapes: RecordShapes = {
  kindOf,
  opaque: words('_meta agents_states arguments parameters structuredContent structured_content'),
  stdout: STDOUT,
  session: SESSION,
  unrecorded: {
    stdout: {
      // Older versions: changes as in session files, todo lists, searches.
      'item.completed': `
        item{error{message?} changes{content? move_path? unified_diff?} items?{text? completed?}
        action?{type? query?} query?}`,
      'item.started': `
        item{changes{content? move_path? unified_diff?} items?{text? completed?} action?{type? query?}
        query?}`,
      'item.updated':
        'type? item?{id? type? status? items?{text? completed?} changes?{path? kind?}}',
      // The client's answers to questions, and failures.
      'server/answer': 'error?{message?} result{decision?* action?}',
      'server/item/completed': `
        params{item{changes{content? move_path? unified_diff? kind{move_path?}} contentItems?{text?} success?
        path? revisedPrompt?}}`,
      'server/item/fileChange/outputDelta': 'params?{threadId? itemId? delta?}',
      'server/item/mcpToolCall/progress': 'params?{threadId? itemId? message?}',
      'server/item/permissions/requestApproval': 'params?{threadId? itemId? reason?}',
      'server/item/reasoning/textDelta': 'params?{threadId? itemId? delta?}',
      'server/turn/plan/updated': 'params?{threadId? plan?{step? status?}}',
    },
    session: {
      // Older versions end calls with events.
      event_msg: `
        payload{<error> message? codex_error_info?* <stream_error> message? <user_message> message?
        <exec_command_end> call_id? command? exit_code? status? aggregated_output? <patch_apply_end> call_id?
        success? changes?* stdout? stderr? <mcp_tool_call_end> call_id? invocation?{server? tool? arguments?*}
        result?{Ok?{content?* structured_content?* isError? is_error?} Err?} <item_completed> item{error?{message?}}}`,
      // The shell, and tools that the provider runs.
      response_item: `
        payload{<function_call_output> output{content?} <local_shell_call> id? call_id? status? action?{type? command?} <web_search_call> id? status?
        action?{type? query?} <image_generation_call> id? status? revised_prompt?}`,
      // A copy of another session.
      session_meta: 'payload{forked_from_id?}',
      compacted: 'payload?{message?}',
    },
  },
};
