/** The tool table. Names and fields as in published transcripts; README.md names the sources. */
import type { ToolTable } from '../../model/agent.ts';
import { words } from '../kit/text.ts';

export const TASK_TOOLS: ReadonlySet<string> = new Set(['Subagent', 'Task']);

export const tools: ToolTable = {
  rows: [
    { native: 'Read', tool: 'Read', fields: { path: 'file_path' } },
    { native: 'Write', tool: 'Write', fields: { path: 'file_path', contents: 'content' } },
    { native: 'StrReplace', tool: 'Edit', fields: { path: 'file_path' } },
    { native: 'Shell', tool: 'Bash' },
    { native: 'Grep', tool: 'Grep' },
    { native: 'Glob', tool: 'Glob' },
    { native: 'LS', tool: 'LS' },
    { native: 'WebFetch', tool: 'WebFetch' },
    { native: 'WebSearch', tool: 'WebSearch' },
    { native: 'Task', tool: 'Task' },
    { native: 'Subagent', tool: 'Task' },
    { native: 'TodoWrite', tool: 'TodoWrite' },
    { native: 'AskQuestion', tool: 'AskUser' },
  ],
  passed_through: words('ApplyPatch Delete'),
};
