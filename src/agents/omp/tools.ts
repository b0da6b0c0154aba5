/** The tool table. Names and fields as sent to the model (testdata/tools.json). `edit` has other fields by setting. */
import type { ToolTable } from '../../model/agent.ts';
import { words } from '../kit/text.ts';

export const tools: ToolTable = {
  rows: [
    { native: 'read', tool: 'Read', fields: { path: 'file_path' } },
    { native: 'write', tool: 'Write', fields: { path: 'file_path' } },
    { native: 'edit', tool: 'Edit', fields: { path: 'file_path' } },
    { native: 'bash', tool: 'Bash' },
    { native: 'grep', tool: 'Grep' },
    { native: 'glob', tool: 'Glob', fields: { path: 'pattern' } },
    { native: 'task', tool: 'Task', fields: { context: 'prompt' } },
    { native: 'todo', tool: 'TodoWrite' },
    { native: 'web_search', tool: 'WebSearch' },
  ],
  passed_through: words('eval hub'),
};
