/** The tool table: names that agents use. A missing name is recovered from the call's id, title, kind and input. */
import { own } from '../../lib/own.ts';
import type { ToolRow, ToolTable } from '../../model/agent.ts';
import { idOf, type Open } from '../kit/native.ts';
import { words } from '../kit/text.ts';
import { metaField } from './protocol.ts';

const PATH = {
  absolute_path: 'file_path',
  filePath: 'file_path',
  filename: 'file_path',
  notebook_path: 'file_path',
  path: 'file_path',
};
/** Native fields of any agent. An existing canonical field is kept. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Read: PATH,
  Write: { ...PATH, file_text: 'content' },
  Edit: {
    ...PATH,
    old_str: 'old_string',
    oldString: 'old_string',
    new_str: 'new_string',
    newString: 'new_string',
  },
  Bash: { cmd: 'command' },
  Skill: { name: 'skill' },
  Task: { task: 'prompt', message: 'prompt' },
  TodoWrite: { entries: 'todos', items: 'todos', plan: 'todos' },
};

const NAMES: Readonly<Record<string, string>> = {
  Read: 'NotebookRead Read read read_file view',
  Write: 'Write create write write_file',
  Edit: 'Edit MultiEdit NotebookEdit edit multiedit notebook_edit replace',
  Bash: 'Bash bash exec_command powershell run_shell_command shell',
  Grep: 'Grep grep grep_search rg search_file_content',
  Glob: 'Glob find glob',
  LS: 'LS list list_directory ls',
  WebFetch: 'WebFetch web_fetch webfetch',
  WebSearch: 'WebSearch google_web_search web_search websearch',
  Task: 'Agent Task agent invoke_agent spawn_agent subagent task',
  Skill: 'Skill activate_skill skill',
  TodoWrite: 'TodoWrite plan todo_write todowrite update_plan update_todo write_todos',
  AskUser: 'AskUserQuestion ask_user ask_user_question question',
};
/** A patch may only add files; its draft says so. */
const PATCHES = ['apply_patch', 'patch'];
/** For calls with only a known kind. */
const KINDS: Readonly<Record<string, string>> = {
  edit: 'Edit',
  execute: 'Bash',
  fetch: 'WebFetch',
  read: 'Read',
  search: 'Grep',
};
export const PLAN = 'plan';

function rowOf(native: string, tool: string): ToolRow {
  const fields = own(FIELDS, tool);
  return fields === undefined ? { native, tool } : { native, tool, fields };
}

export const tools: ToolTable = {
  rows: [
    ...Object.entries(NAMES).flatMap(([tool, names]) =>
      words(names).map((name) => rowOf(name, tool)),
    ),
    ...PATCHES.map((name) => rowOf(name, 'Edit')),
    ...Object.entries(KINDS).map(([kind, tool]) => rowOf(`kind:${kind}`, tool)),
  ],
  passed_through: [],
};

const TOOL_BY_NAME: ReadonlyMap<string, string> = new Map(
  tools.rows.map(({ native, tool }) => [native, tool]),
);

/** Possible tools per kind, so that a command called `ls` is not mistaken for a tool of that name. */
const TOOLS_OF_KIND: Readonly<Record<string, readonly string[]>> = {
  delete: [],
  edit: ['Edit', 'Write'],
  execute: ['Bash'],
  fetch: ['WebFetch', 'WebSearch'],
  move: [],
  read: ['Glob', 'Grep', 'LS', 'Read', 'Skill'],
  search: ['Glob', 'Grep', 'LS', 'WebSearch'],
  switch_mode: [],
};

/** Titles that identify a tool: their beginning, the kind, the tool. */
const TITLES = [
  ['Viewing ', 'read', 'view'],
  ['Searching for ', 'read', 'grep'],
  ['Finding files matching ', 'read', 'glob'],
  ['Creating ', 'edit', 'create'],
  ['Editing ', 'edit', 'edit'],
  ['Using skill: ', 'other', 'skill'],
] as const;

/** The known facts about a call. */
interface Evidence {
  readonly call_id: string;
  /** The protocol's own field. */
  readonly name: string | null;
  readonly meta: Open;
  readonly title: string | null;
  readonly kind: string | null;
  readonly input: Open | null;
}

export interface ToolName {
  native_tool: string;
  looked_up_as?: string;
  mcp?: { server: string; tool: string };
}

const IDENTIFIER = /^[A-Za-z_][\w.-]{0,99}$/;
const MCP_PREFIX = 'mcp_';

export function toolOf(evidence: Evidence, mcp_separator: string | null): ToolName {
  const { title, kind } = evidence;
  const name = evidence.name ?? idOf(metaField(evidence.meta, ['toolName'])) ?? idPrefix(evidence);
  if (name !== null) return named(name);
  const guess = titleName(evidence) ?? inputName(evidence);
  if (guess !== null) return { native_tool: guess };
  if (kind !== null && Object.hasOwn(KINDS, kind)) {
    return { native_tool: kind, looked_up_as: `kind:${kind}` };
  }
  if (title === null || !IDENTIFIER.test(title)) return { native_tool: kind ?? 'other' };
  const mcp = split(title, mcp_separator);
  return mcp === null ? named(title) : { native_tool: title, mcp };
}

/** The canonical tool for a name. */
export function canonicalOf({ native_tool, looked_up_as, mcp }: ToolName): string {
  if (mcp !== undefined) return `mcp__${mcp.server}__${mcp.tool}`;
  return TOOL_BY_NAME.get(looked_up_as ?? native_tool) ?? native_tool;
}

/** `mcp__<server>__<tool>` is canonical; `mcp_<server>_<tool>` is split at the first underscore. */
function named(name: string): ToolName {
  if (name.startsWith('mcp__') || !name.startsWith(MCP_PREFIX)) return { native_tool: name };
  const mcp = split(name.slice(MCP_PREFIX.length), '_');
  return mcp === null ? { native_tool: name } : { native_tool: name, mcp };
}

function split(word: string, separator: string | null): { server: string; tool: string } | null {
  const cut = separator === null ? -1 : word.indexOf(separator);
  if (cut <= 0 || cut === word.length - 1) return null;
  return { server: word.slice(0, cut), tool: word.slice(cut + 1) };
}

/** `<tool>__<id of the model>` */
function idPrefix({ call_id }: Evidence): string | null {
  const cut = call_id.lastIndexOf('__');
  const prefix = idOf(call_id.slice(0, Math.max(cut, 0)));
  if (prefix === null || !IDENTIFIER.test(prefix)) return null;
  return TOOL_BY_NAME.has(prefix) || prefix.startsWith(MCP_PREFIX) ? prefix : null;
}

function titleName({ title, kind }: Evidence): string | null {
  if (title === null) return null;
  const tool = TOOL_BY_NAME.get(title);
  const possible = kind === null ? undefined : own(TOOLS_OF_KIND, kind);
  if (tool !== undefined && (possible === undefined || possible.includes(tool))) return title;
  return TITLES.find(([start, of]) => of === kind && title.startsWith(start))?.[2] ?? null;
}

/** Input fields that identify a tool, with the kind. */
function inputName({ input, kind }: Evidence): string | null {
  const has = (field: string) => input !== null && Object.hasOwn(input, field);
  if (kind === 'execute' && has('command')) return 'bash';
  return kind === 'other' && has('prompt') && has('agent_type') ? 'task' : null;
}
