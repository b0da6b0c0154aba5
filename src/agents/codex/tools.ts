/** The tool table: functions (testdata/tools.json), items in each channel's spelling, and names of earlier versions. */
import type { ToolTable } from '../../model/agent.ts';
import { words } from '../kit/text.ts';

export const tools: ToolTable = {
  rows: [
    { native: 'command_execution', tool: 'Bash' },
    { native: 'CommandExecution', tool: 'Bash' },
    { native: 'commandExecution', tool: 'Bash' },
    { native: 'exec_command', tool: 'Bash', fields: { cmd: 'command' } },
    { native: 'shell', tool: 'Bash' },
    { native: 'shell_command', tool: 'Bash' },
    { native: 'local_shell', tool: 'Bash' },
    { native: 'file_change', tool: 'Edit' },
    { native: 'FileChange', tool: 'Edit' },
    { native: 'fileChange', tool: 'Edit' },
    { native: 'apply_patch', tool: 'Edit' },
    { native: 'read_file', tool: 'Read' },
    { native: 'list_dir', tool: 'LS' },
    { native: 'grep_files', tool: 'Grep' },
    { native: 'web_search', tool: 'WebSearch' },
    { native: 'spawn_agent', tool: 'Task', fields: { message: 'prompt' } },
    { native: 'spawnAgent', tool: 'Task' },
    { native: 'subAgentActivity', tool: 'Task' },
    { native: 'update_plan', tool: 'TodoWrite', fields: { plan: 'todos' } },
    { native: 'todo_list', tool: 'TodoWrite', fields: { items: 'todos' } },
    { native: 'request_user_input', tool: 'AskUser' },
    { native: 'request_user_input_async', tool: 'AskUser' },
  ],
  passed_through: words(`
    closeAgent close_agent create_goal exec followup_task get_goal image_generation
    interrupt_agent list_agents list_mcp_resource_templates list_mcp_resources read_mcp_resource
    resumeAgent resume_agent sendInput send_input send_message sleep tool_search update_goal
    view_image wait wait_agent write_stdin
  `),
};
