/**
 * The tool table. Names and fields as sent to the model (testdata/tools.json). The CLI itself names MCP tools
 * `mcp__<server>__<tool>`. `subagent` comes from an example extension that the CLI ships.
 */
import type { ToolTable } from '../../model/agent.ts';
import { words } from '../kit/text.ts';

export const tools: ToolTable = {
  rows: [
    { native: 'read', tool: 'Read', fields: { path: 'file_path' } },
    { native: 'write', tool: 'Write', fields: { path: 'file_path' } },
    { native: 'edit', tool: 'Edit', fields: { path: 'file_path' } },
    { native: 'bash', tool: 'Bash' },
    { native: 'powershell', tool: 'Bash' },
    { native: 'grep', tool: 'Grep' },
    { native: 'find', tool: 'Glob' },
    { native: 'ls', tool: 'LS' },
    { native: 'subagent', tool: 'Task', fields: { task: 'prompt' } },
  ],
  passed_through: words(
    'codemode list_mcp_resource_templates list_mcp_resources read_mcp_resource tool_search',
  ),
};
