/**
 * What a call is about, in words that stdout and the session file share: the one counts items, the other has the model's
 * ids, and nothing else tells that two calls are the same.
 */
import { own } from '../../lib/own.ts';
import { nativeOf, textOf } from '../kit/native.ts';
import { changesOfInput, changesOfPatch, patchKey } from './patch.ts';
import { SHELLS } from './shell-line.ts';

const COMMANDS: ReadonlySet<string> = new Set(['command_execution', 'CommandExecution', ...SHELLS]);
const PATCHES: ReadonlySet<string> = new Set(['file_change', 'FileChange', 'apply_patch']);
/** Names of the same tool on stdout and in the session file. */
const SAME: Readonly<Record<string, string>> = { wait_agent: 'wait', todo_list: 'update_plan' };
const SHOWN: ReadonlySet<string> = new Set([
  'spawn_agent',
  'wait',
  'send_input',
  'close_agent',
  'resume_agent',
  'update_plan',
]);
const SHELL_PATCH = /^(?:cd [^\n;&|]{1,1024} && )?apply_?patch\s/;
const KEY_CHARS = 1_000;

/** Null for a call that stdout never shows. */
export function keyOf(call: { tool: string; native_tool: string; input: unknown }): string | null {
  const { tool, native_tool, input } = call;
  const fields = nativeOf(input);
  if (COMMANDS.has(native_tool)) return commandKey(textOf(fields?.command) ?? '');
  if (PATCHES.has(native_tool)) return `patch ${cut(patchKey(changesOfInput(input)))}`;
  if (tool.startsWith('mcp__')) return `${tool} ${cut(JSON.stringify(input) ?? '')}`;
  if (native_tool === 'web_search') return `search ${cut(textOf(fields?.query) ?? '')}`;
  const name = own(SAME, native_tool) ?? native_tool;
  // In code mode `wait` may also wait for a script.
  if (!SHOWN.has(name) || fields?.cell_id !== undefined) return null;
  return name === 'spawn_agent' ? `spawn ${cut(textOf(fields?.prompt) ?? '')}` : name;
}

/** A patch that is given to a shell is applied by the CLI itself, and shown as any other. */
function commandKey(command: string): string {
  const changes = SHELL_PATCH.test(command) ? changesOfPatch(command) : [];
  return changes.length === 0 ? `command ${cut(command)}` : `patch ${cut(patchKey(changes))}`;
}

function cut(text: string): string {
  return text.length <= KEY_CHARS ? text : `${text.slice(0, KEY_CHARS)} ${text.length}`;
}
