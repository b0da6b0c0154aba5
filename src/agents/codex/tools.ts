/**
 * The tool table: names of function tools (session file, testdata/tools.json), of items (`command_execution` on stdout,
 * `CommandExecution` in the session file, `commandExecution` from the app-server), and of earlier versions.
 */
import type { ToolTable } from '../../model/agent.ts';

const COMMAND = { tool: 'Bash', reads_as: 'Read' } as const;
const PATCH = { tool: 'Edit', adds_as: 'Write' } as const;

export const tools: ToolTable = {
  rows: [
    { native: 'command_execution', ...COMMAND },
    { native: 'CommandExecution', ...COMMAND },
    { native: 'commandExecution', ...COMMAND },
    { native: 'exec_command', ...COMMAND, fields: { cmd: 'command' } },
    { native: 'shell', ...COMMAND },
    { native: 'shell_command', ...COMMAND },
    { native: 'local_shell', ...COMMAND },
    { native: 'file_change', ...PATCH },
    { native: 'FileChange', ...PATCH },
    { native: 'fileChange', ...PATCH },
    { native: 'apply_patch', ...PATCH },
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
  passed_through: [
    'closeAgent',
    'close_agent',
    'create_goal',
    'exec',
    'followup_task',
    'get_goal',
    'image_generation',
    'interrupt_agent',
    'list_agents',
    'list_mcp_resource_templates',
    'list_mcp_resources',
    'read_mcp_resource',
    'resumeAgent',
    'resume_agent',
    'sendInput',
    'send_input',
    'send_message',
    'sleep',
    'tool_search',
    'update_goal',
    'view_image',
    'wait',
    'wait_agent',
    'write_stdin',
  ],
};
