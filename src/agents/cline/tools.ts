/**
 * The tool table. Names and fields as sent to the model (testdata/tools.json). One call of `read_files` and `run_commands`
 * may have several files or commands. MCP tools are `<server>__<tool>`.
 */
import type { ToolTable } from '../../model/agent.ts';
import { words } from '../kit/text.ts';

export const READ = 'read_files';
export const EDITOR = 'editor';
export const SHELL = 'run_commands';
export const SEARCH = 'search_codebase';
export const SPAWN = 'spawn_agent';

export const tools: ToolTable = {
  rows: [
    { native: READ, tool: 'Read', fields: { files: 'file_path' } },
    {
      native: EDITOR,
      tool: 'Edit',
      fields: { path: 'file_path', old_text: 'old_string', new_text: 'new_string' },
    },
    { native: SHELL, tool: 'Bash', fields: { commands: 'command' } },
    { native: SEARCH, tool: 'Grep', fields: { queries: 'pattern' } },
    { native: 'fetch_web_content', tool: 'WebFetch' },
    { native: SPAWN, tool: 'Task', fields: { task: 'prompt' } },
    { native: 'skills', tool: 'Skill' },
    { native: 'ask_question', tool: 'AskUser' },
  ],
  passed_through: words(
    `
      attach_outcome_fragment await_runs broadcast cancel_run cleanup create_outcome finalize_outcome list_outcomes
      list_runs mission_log read_mailbox review_outcome_fragment run_task send_message shutdown_teammate spawn_teammate
      status task
    `,
    'team_',
  ),
};

const NATIVE: ReadonlySet<string> = new Set([
  ...tools.rows.map(({ native }) => native),
  ...tools.passed_through,
]);

/** Server and tool of an MCP call; null for the CLI's own tools. */
export function mcpOf(native_tool: string): { server: string; tool: string } | null {
  const at = native_tool.indexOf('__');
  if (at <= 0 || at + 2 >= native_tool.length || NATIVE.has(native_tool)) return null;
  return { server: native_tool.slice(0, at), tool: native_tool.slice(at + 2) };
}
