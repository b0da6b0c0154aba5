/** The tool table. Names and fields as sent to the model (testdata/tools.json), and those of earlier versions. */
import type { ToolTable } from '../../model/agent.ts';
import type { CallRequestedDraft } from '../../model/draft.ts';
import { words } from '../kit/text.ts';

export const SHELL = 'run_shell_command';
export const READ = 'read_file';
export const WRITE = 'write_file';
export const EDIT = 'replace';

export const tools: ToolTable = {
  rows: [
    { native: READ, tool: 'Read' },
    { native: WRITE, tool: 'Write' },
    { native: EDIT, tool: 'Edit' },
    { native: SHELL, tool: 'Bash' },
    { native: 'grep_search', tool: 'Grep' },
    { native: 'search_file_content', tool: 'Grep' },
    { native: 'glob', tool: 'Glob' },
    { native: 'list_directory', tool: 'LS' },
    { native: 'web_fetch', tool: 'WebFetch' },
    { native: 'google_web_search', tool: 'WebSearch' },
    { native: 'invoke_agent', tool: 'Task' },
    { native: 'activate_skill', tool: 'Skill', fields: { name: 'skill' } },
    { native: 'write_todos', tool: 'TodoWrite' },
    { native: 'ask_user', tool: 'AskUser' },
  ],
  passed_through: words(`
    complete_task enter_plan_mode exit_plan_mode get_internal_docs list_background_processes
    read_background_output read_many_files save_memory tracker_add_dependency tracker_create_task
    tracker_get_task tracker_list_tasks tracker_update_task tracker_visualize update_topic
  `),
};

type McpName = CallRequestedDraft['mcp'];

const PREFIX = 'mcp_';
const SHOWN_END = ' MCP Server)';

/**
 * Server and tool of `mcp_<server>_<tool>`. Only the session file's display name separates them reliably. Without it,
 * the name is split where the CLI splits it, at the first underscore.
 */
export function mcpOf(native_tool: string, shown: string | null): McpName {
  if (!native_tool.startsWith(PREFIX)) return undefined;
  const named = shown === null ? undefined : shownOf(shown);
  if (named !== undefined) return named;
  const cut = native_tool.indexOf('_', PREFIX.length);
  if (cut <= PREFIX.length || cut === native_tool.length - 1) return undefined;
  return { server: native_tool.slice(PREFIX.length, cut), tool: native_tool.slice(cut + 1) };
}

/** `<tool> (<server> MCP Server)`, split at the last bracket that leaves two non-empty names. */
function shownOf(shown: string): McpName {
  if (!shown.endsWith(SHOWN_END)) return undefined;
  const names = shown.slice(0, -SHOWN_END.length);
  const cut = names.lastIndexOf(' (', names.length - 3);
  return cut < 1 ? undefined : { tool: names.slice(0, cut), server: names.slice(cut + 2) };
}
