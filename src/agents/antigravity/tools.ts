/** The tool table. Names and fields as in published transcripts; README.md names the sources. */
import type { ToolTable } from '../../model/agent.ts';

export const tools: ToolTable = {
  rows: [
    { native: 'view_file', tool: 'Read', fields: { AbsolutePath: 'file_path' } },
    {
      native: 'write_to_file',
      tool: 'Write',
      fields: { TargetFile: 'file_path', CodeContent: 'content' },
    },
    { native: 'replace_file_content', tool: 'Edit', fields: { TargetFile: 'file_path' } },
    { native: 'run_command', tool: 'Bash', fields: { CommandLine: 'command' } },
    { native: 'grep_search', tool: 'Grep', fields: { Query: 'pattern' } },
    { native: 'find_by_name', tool: 'Glob', fields: { Pattern: 'pattern' } },
    { native: 'list_dir', tool: 'LS' },
    { native: 'read_url_content', tool: 'WebFetch' },
    { native: 'search_web', tool: 'WebSearch' },
  ],
  passed_through: [],
};
