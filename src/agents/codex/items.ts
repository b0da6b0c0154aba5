/** Items that are calls, from stdout (snake_case), session files (CamelCase types) and the app-server (camelCase). */
import type { CallFinishedDraft } from '../../model/draft.ts';
import type { CallStatus } from '../../model/words.ts';
import type { Drafts } from '../kit/drafts.ts';
import { codeOf, idOf, listOf, nativeOf, type Open, textOf, wordOf } from '../kit/native.ts';
import { refusal } from './answers.ts';
import { type Item, type Request, textIn } from './native.ts';
import { changesOfItem, type FileChange, fieldsOf, fileChanges, toolOf } from './patch.ts';
import { commandCall, commandOfWords } from './shell-line.ts';

export interface CallItem {
  /** Null: the item lacks the fields of a call. */
  request(item: Item): Request | null;
  ended(item: Item, call_id: string): CallFinishedDraft;
  changes?(item: Item): FileChange[];
}

const STATUSES: ReadonlyMap<unknown, CallStatus> = new Map([
  ['completed', 'ok'],
  ['failed', 'error'],
  ['declined', 'denied'],
  // The item is reported at the end of the turn and still running: its end was not seen.
  ['in_progress', 'cancelled'],
  ['inProgress', 'cancelled'],
  ['interrupted', 'cancelled'],
]);

const statusOf = ({ status }: Item): CallStatus => STATUSES.get(status) ?? 'unknown';

const command: CallItem = {
  request(item) {
    const native_tool = wordOf(item.type);
    const command = commandOfWords(item.command);
    if (command === null) return { native_tool, input: {} };
    return commandCall(native_tool, { command }, command);
  },
  ended(item, call_id) {
    const exit_code = codeOf(item.exit_code ?? item.exitCode);
    const output = textOf(item.aggregated_output ?? item.aggregatedOutput);
    let status = statusOf(item);
    if (status === 'ok' && exit_code !== null && exit_code !== 0) status = 'error';
    if (exit_code === 124 && output?.startsWith('command timed out after ')) status = 'timeout';
    // The CLI killed a running process. A command that never started has no process.
    const process = item.process_id ?? item.processId;
    if (status === 'error' && exit_code === -1 && process != null) status = 'cancelled';
    return { call_id, status, exit_code, output };
  },
};

const patch: CallItem = {
  request(item) {
    const changes = changesOfItem(item.changes);
    const input = { changes: item.changes ?? [], ...fieldsOf(changes) };
    return { native_tool: wordOf(item.type), input, more: toolOf(changes) };
  },
  ended(item, call_id) {
    const said = [textOf(item.stdout), textOf(item.stderr)].filter((text) => text);
    const output = said.length === 0 ? null : said.join('\n');
    return { call_id, status: statusOf(item), exit_code: null, output };
  },
  changes: (item) => changesOfItem(item.changes),
};

const mcp: CallItem = {
  request(item) {
    const [server, tool] = [idOf(item.server), idOf(item.tool)];
    if (server === null || tool === null) return null;
    return { native_tool: tool, input: item.arguments ?? {}, more: { mcp: { server, tool } } };
  },
  ended(item, call_id) {
    const result = nativeOf(item.result);
    const error = textOf(nativeOf(item.error)?.message) ?? textOf(item.error);
    const structured = result?.structured_content ?? result?.structuredContent ?? null;
    const whole = structured === null ? null : JSON.stringify(structured);
    const output = error ?? textIn(result?.content) ?? whole;
    const status = statusOf(item);
    const refused = status === 'error' && error !== null ? refusal(error) : null;
    return { call_id, status: refused ?? status, exit_code: null, output };
  },
};

const collab: CallItem = {
  request(item) {
    const native_tool = idOf(item.tool);
    if (native_tool === null) return null;
    const receivers = listOf(item.receiver_thread_ids ?? item.receiverThreadIds);
    const receiver_thread_ids = receivers.length > 0 ? receivers : null;
    return { native_tool, input: filled({ prompt: textOf(item.prompt), receiver_thread_ids }) };
  },
  ended(item, call_id) {
    const states = nativeOf(item.agents_states ?? item.agentsStates);
    const output = states && Object.keys(states).length > 0 ? JSON.stringify(states) : null;
    return { call_id, status: statusOf(item), exit_code: null, output };
  },
};

/** A simple tool: its name, and the item's fields that are its input. */
function plain(native_tool: string, fieldsIn: (item: Item) => Open): CallItem {
  return {
    request: (item) => ({ native_tool, input: filled(fieldsIn(item)) }),
    ended: (item, call_id) => {
      const status = item.status === undefined ? 'ok' : statusOf(item);
      return { call_id, status, exit_code: null, output: null };
    },
  };
}

const filled = (fields: Open) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null));

const search = plain('web_search', ({ query, action }) => ({ query: textOf(query) ?? '', action }));

/** A tool that the app-server's client offers and runs. */
const dynamic: CallItem = {
  request(item) {
    const native_tool = idOf(item.tool);
    return native_tool === null ? null : { native_tool, input: item.arguments ?? {} };
  },
  ended(item, call_id) {
    const status = item.success === false ? 'error' : statusOf(item);
    return { call_id, status, exit_code: null, output: textIn(item.contentItems) };
  },
};

/** Type names of each item on stdout, in session files and from the app-server. */
const SPELLINGS: readonly (readonly [CallItem, string])[] = [
  [command, 'command_execution CommandExecution commandExecution'],
  [patch, 'file_change FileChange fileChange'],
  [mcp, 'mcp_tool_call McpToolCall mcpToolCall'],
  [collab, 'collab_tool_call CollabAgentToolCall collabAgentToolCall'],
  [search, 'web_search WebSearch webSearch'],
  [dynamic, 'dynamicToolCall'],
  [plain('subAgentActivity', () => ({})), 'subAgentActivity'],
  [plain('view_image', ({ path }) => ({ path })), 'imageView'],
  [plain('image_generation', (item) => ({ prompt: item.revisedPrompt })), 'imageGeneration'],
  [plain('sleep', (item) => ({ duration_ms: item.durationMs })), 'sleep'],
];
/** Readers for items that are calls, by type. */
export const CALL_ITEMS: ReadonlyMap<unknown, CallItem> = new Map(
  SPELLINGS.flatMap(([item, types]) => types.split(' ').map((type) => [type, item] as const)),
);

/** Null: the item lacks the fields of a call. */
export function requestIn(to: Drafts, kind: CallItem, item: Item): Request | null {
  const request = kind.request(item);
  if (request === null) to.bad(`${wordOf(item.type)} without the fields of a call`);
  return request;
}

/** False if nothing was requested. */
export function requested(to: Drafts, kind: CallItem, call_id: string, item: Item): boolean {
  const request = requestIn(to, kind, item);
  if (request !== null) to.requested(call_id, request.native_tool, request.input, request.more);
  return request !== null;
}

export function finished(to: Drafts, kind: CallItem, call_id: string, item: Item): void {
  const ended = kind.ended(item, call_id);
  to.finished(ended);
  if (ended.status === 'ok' && kind.changes) fileChanges(to, kind.changes(item), call_id);
}
