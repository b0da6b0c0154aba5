/** The demo agent's tools. No other agent uses these names, so the table is always exercised. */
import type { ToolTable } from '../../model/agent.ts';

export const tools: ToolTable = {
  rows: [
    { native: 'read_file', tool: 'Read', fields: { path: 'file_path' } },
    { native: 'write_file', tool: 'Write', fields: { path: 'file_path', text: 'content' } },
    {
      native: 'edit_file',
      tool: 'Edit',
      fields: { path: 'file_path', find: 'old_string', replace: 'new_string' },
    },
    { native: 'run', tool: 'Bash', fields: { cmd: 'command' } },
    { native: 'search', tool: 'Grep', fields: { query: 'pattern' } },
    { native: 'find_files', tool: 'Glob', fields: { glob: 'pattern' } },
    { native: 'list', tool: 'LS' },
    { native: 'fetch', tool: 'WebFetch' },
    { native: 'look_up', tool: 'WebSearch' },
    { native: 'spawn', tool: 'Task', fields: { task: 'prompt' } },
    { native: 'use_skill', tool: 'Skill', fields: { name: 'skill' } },
    { native: 'todo', tool: 'TodoWrite' },
    { native: 'ask', tool: 'AskUser' },
  ],
  passed_through: ['checkpoint'],
};
