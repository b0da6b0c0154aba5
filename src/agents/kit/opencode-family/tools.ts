/** The tool table of the family: names and fields as sent to the model, and those of earlier versions. */
import type { ToolTable } from '../../../model/agent.ts';
import type { CallRequestedDraft } from '../../../model/draft.ts';
import { idOf, nativeOf, textOf } from '../native.ts';
import { words } from '../text.ts';

export const TOOLS: ToolTable = {
  rows: [
    { native: 'read', tool: 'Read', fields: { filePath: 'file_path' } },
    { native: 'write', tool: 'Write', fields: { filePath: 'file_path' } },
    {
      native: 'edit',
      tool: 'Edit',
      fields: { filePath: 'file_path', oldString: 'old_string', newString: 'new_string' },
    },
    { native: 'multiedit', tool: 'Edit', fields: { filePath: 'file_path' } },
    { native: 'patch', tool: 'Edit' },
    { native: 'apply_patch', tool: 'Edit' },
    { native: 'bash', tool: 'Bash' },
    { native: 'shell', tool: 'Bash' },
    { native: 'grep', tool: 'Grep' },
    { native: 'glob', tool: 'Glob' },
    { native: 'list', tool: 'LS' },
    { native: 'webfetch', tool: 'WebFetch' },
    { native: 'websearch', tool: 'WebSearch' },
    { native: 'task', tool: 'Task' },
    { native: 'skill', tool: 'Skill', fields: { name: 'skill' } },
    { native: 'todowrite', tool: 'TodoWrite' },
    { native: 'question', tool: 'AskUser' },
  ],
  passed_through: words('batch codesearch execute invalid lsp plan_enter plan_exit todoread'),
};

const PATCHES: ReadonlySet<string> = new Set(['apply_patch', 'patch']);

/**
 * MCP tools are named `<server>_<tool>`, without any other mark: a name with an underscore that is not a built-in is
 * one. A plugin's tool with such a name looks the same, and a server name with an underscore is split at the first one.
 */
function mcpOf(native_tool: string, built_in: ReadonlySet<string>) {
  const at = native_tool.indexOf('_');
  if (at <= 0 || at === native_tool.length - 1 || built_in.has(native_tool)) return null;
  if (native_tool.startsWith('mcp__')) return null;
  return { server: native_tool.slice(0, at), tool: native_tool.slice(at + 1) };
}

/** Names that depend on the call. */
export type NamesOf = (
  native_tool: string,
  input: unknown,
  /** The error of a call that failed. */
  error: string | null,
) => Pick<CallRequestedDraft, 'tool' | 'looked_up_as' | 'mcp'>;

/** Patches are named by their effect; `invalid` replaces the requested tool; MCP tools are not in the table. */
export function toolNamesIn(table: ToolTable): NamesOf {
  const built_in = new Set([...table.rows.map(({ native }) => native), ...table.passed_through]);
  return (native_tool, input, error) => {
    const fields = nativeOf(input);
    if (PATCHES.has(native_tool)) return patchName(textOf(fields?.patchText) ?? '');
    const asked = native_tool === 'invalid' ? idOf(fields?.tool) : null;
    const failure = asked === null ? error : textOf(fields?.error);
    const exists = !failure?.includes('tried to call unavailable tool');
    const mcp = exists ? mcpOf(asked ?? native_tool, built_in) : null;
    if (mcp !== null) return { mcp };
    return asked === null ? {} : { looked_up_as: asked };
  };
}

function patchName(patch: string): { tool?: 'Write' } {
  const adds = /(?:^|[\r\n])\*\*\* Add File: /.test(patch);
  const more = /(?:^|[\r\n])\*\*\* (?:Update|Delete) File: /.test(patch);
  return adds && !more ? { tool: 'Write' } : {};
}
