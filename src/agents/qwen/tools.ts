/** The tool table: as sent to the model (testdata/tools.json; deferred tools by name only), and earlier versions. */
import type { ToolTable } from '../../model/agent.ts';
import { words } from '../kit/text.ts';

export const tools: ToolTable = {
  rows: [
    { native: 'read_file', tool: 'Read' },
    { native: 'write_file', tool: 'Write' },
    { native: 'edit', tool: 'Edit' },
    { native: 'replace', tool: 'Edit' },
    { native: 'notebook_edit', tool: 'Edit', fields: { notebook_path: 'file_path' } },
    { native: 'run_shell_command', tool: 'Bash' },
    { native: 'grep_search', tool: 'Grep' },
    { native: 'search_file_content', tool: 'Grep' },
    { native: 'glob', tool: 'Glob' },
    { native: 'list_directory', tool: 'LS' },
    { native: 'web_fetch', tool: 'WebFetch' },
    { native: 'web_search', tool: 'WebSearch' },
    { native: 'agent', tool: 'Task' },
    { native: 'task', tool: 'Task' },
    { native: 'skill', tool: 'Skill' },
    { native: 'todo_write', tool: 'TodoWrite' },
    { native: 'ask_user_question', tool: 'AskUser' },
  ],
  passed_through: words(`
    cron_create cron_delete cron_list enter_worktree exit_plan_mode exit_worktree get_goal
    list_agents loop_wakeup lsp monitor read_many_files read_mcp_resource record_artifact
    report_findings save_memory send_message structured_output task_create task_get task_list
    task_output task_stop task_update tool_call tool_search update_goal zoom_image
  `),
};
