/** The tool table: names and fields as sent to the model (testdata/tools.json), and of other platforms and versions. */
import type { ToolTable } from '../../model/agent.ts';
import { words } from '../kit/text.ts';

export const tools: ToolTable = {
  rows: [
    { native: 'view', tool: 'Read', fields: { path: 'file_path' } },
    { native: 'create', tool: 'Write', fields: { path: 'file_path', file_text: 'content' } },
    {
      native: 'edit',
      tool: 'Edit',
      fields: { path: 'file_path', old_str: 'old_string', new_str: 'new_string' },
    },
    // The input is one text in a grammar that calls the file `filename`.
    { native: 'apply_patch', tool: 'Edit', fields: { filename: 'file_path' } },
    { native: 'bash', tool: 'Bash' },
    { native: 'powershell', tool: 'Bash' },
    { native: 'grep', tool: 'Grep' },
    { native: 'rg', tool: 'Grep' },
    { native: 'glob', tool: 'Glob' },
    { native: 'web_fetch', tool: 'WebFetch' },
    { native: 'web_search', tool: 'WebSearch' },
    { native: 'task', tool: 'Task' },
    { native: 'skill', tool: 'Skill' },
    { native: 'update_todo', tool: 'TodoWrite' },
    { native: 'ask_user', tool: 'AskUser' },
  ],
  passed_through: words(`
    exit_plan_mode fetch_copilot_cli_documentation list_agents list_bash list_powershell
    read_agent read_bash read_powershell report_intent semantic_code_search session_store_sql sql
    stop_bash stop_powershell store_memory task_complete write_agent write_bash write_powershell
  `),
};
