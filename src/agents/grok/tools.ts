/** The tool table. Names and fields as sent to the model (testdata/tools.json), and those of its documentation. */
import type { ToolTable } from '../../model/agent.ts';
import { words } from '../kit/text.ts';

export const tools: ToolTable = {
  rows: [
    { native: 'read_file', tool: 'Read', fields: { target_file: 'file_path' } },
    { native: 'write', tool: 'Write' },
    { native: 'search_replace', tool: 'Edit' },
    { native: 'run_terminal_command', tool: 'Bash' },
    { native: 'grep', tool: 'Grep' },
    { native: 'list_dir', tool: 'LS' },
    { native: 'web_fetch', tool: 'WebFetch' },
    { native: 'web_search', tool: 'WebSearch' },
    { native: 'spawn_subagent', tool: 'Task' },
    { native: 'todo_write', tool: 'TodoWrite' },
    { native: 'ask_user_question', tool: 'AskUser' },
  ],
  passed_through: words(`
    enter_plan_mode exit_plan_mode get_command_or_subagent_output image_edit image_gen
    image_to_video kill_command_or_subagent monitor reference_to_video scheduler_create
    scheduler_delete scheduler_list search_tool send_feedback use_tool workflow
  `),
};
