/**
 * The tool table. Names and fields as the CLI sends them to its model (testdata/tools.json). MCP tools are named
 * `mcp__<server>__<tool>` by the CLI itself. `subagent` comes from an extension the CLI ships as an example.
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
