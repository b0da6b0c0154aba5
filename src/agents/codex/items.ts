/** Items that are calls: the same things on stdout (snake_case, no ids of the model), in the session file (CamelCase types) and from the app-server (camelCase). */
import { own } from '../../lib/own.ts';
import type { CallRequestedDraft } from '../../model/draft.ts';
import type { CallStatus } from '../../model/words.ts';
import { type Ended, refusal } from './answers.ts';
import { codeOf, contentText, idOf, type Native, nativeOf, textOf, wordOf } from './native.ts';
import { addsOnly, changesOfItem, type FileChange, fieldsOf } from './patch.ts';
import { commandOfWords } from './shell-line.ts';

type Request = Omit<CallRequestedDraft, 'call_id' | 'parent_call_id'>;

interface Item {
  /** Null: the item lacks what makes it a call. */
  request(item: Native): Request | null;
  ended(item: Native): Ended;
  changes?(item: Native): FileChange[];
}

const STATUSES: Readonly<Record<string, CallStatus>> = {
  completed: 'ok',
  failed: 'error',
  declined: 'denied',
  // An item that is shown at the end of the turn and is still running: its end was not seen.
  in_progress: 'cancelled',
  inProgress: 'cancelled',
  interrupted: 'cancelled',
};

function statusOf(item: Native): CallStatus {
  const status = textOf(item.status);
  return own(STATUSES, status ?? '') ?? 'unknown';
}

const command: Item = {
  request(item) {
    const line = commandOfWords(item.command);
    return { native_tool: wordOf(item.type), input: line === null ? {} : { command: line } };
  },
  ended(item) {
    const exit_code = codeOf(item.exit_code ?? item.exitCode);
    const output = textOf(item.aggregated_output ?? item.aggregatedOutput);
    let status = statusOf(item);
    if (status === 'ok' && exit_code !== null && exit_code !== 0) status = 'error';
    if (exit_code === 124 && output?.startsWith('command timed out after ')) status = 'timeout';
    // The CLI ended a process that still ran; one that never began has no process.
    const process = item.process_id ?? item.processId;
    if (status === 'error' && exit_code === -1 && process != null) status = 'cancelled';
    return { status, exit_code, output };
  },
};

const patch: Item = {
  request(item) {
    const changes = changesOfItem(item.changes);
    const input = { changes: item.changes ?? [], ...fieldsOf(changes) };
    return { native_tool: wordOf(item.type), input, ...(addsOnly(changes) && { adds_only: true }) };
  },
  ended(item) {
    const said = [textOf(item.stdout), textOf(item.stderr)].filter((text) => text);
    const output = said.length === 0 ? null : said.join('\n');
    return { status: statusOf(item), exit_code: null, output };
  },
  changes: (item) => changesOfItem(item.changes),
};

const mcp: Item = {
  request(item) {
    const [server, tool] = [idOf(item.server), idOf(item.tool)];
    if (server === null || tool === null) return null;
    return { native_tool: tool, input: item.arguments ?? {}, mcp: { server, tool } };
  },
  ended(item) {
    const result = nativeOf(item.result);
    const error = textOf(nativeOf(item.error)?.message) ?? textOf(item.error);
    const structured = result?.structured_content ?? result?.structuredContent ?? null;
    const output =
      error ??
      contentText(result?.content) ??
      (structured === null ? null : JSON.stringify(structured));
    const status = statusOf(item);
    const refused = status === 'error' && error !== null ? refusal(error) : null;
    return { status: refused ?? status, exit_code: null, output };
  },
};

const collab: Item = {
  request(item) {
    const native_tool = idOf(item.tool);
    if (native_tool === null) return null;
    const prompt = textOf(item.prompt);
    const receivers = item.receiver_thread_ids ?? item.receiverThreadIds;
    const input = {
      ...(prompt !== null && { prompt }),
      ...(Array.isArray(receivers) && receivers.length > 0 && { receiver_thread_ids: receivers }),
    };
    return { native_tool, input };
  },
  ended(item) {
    const states = nativeOf(item.agents_states ?? item.agentsStates);
    const output = states && Object.keys(states).length > 0 ? JSON.stringify(states) : null;
    return { status: statusOf(item), exit_code: null, output };
  },
};

const search: Item = {
  request: ({ query, action }) => ({
    native_tool: 'web_search',
    input: { query: textOf(query) ?? '', ...(action != null && { action }) },
  }),
  ended: (item) => ({
    status: item.status === undefined ? 'ok' : statusOf(item),
    exit_code: null,
    output: null,
  }),
};

/** A tool that the client of the app-server offers and runs. */
const dynamic: Item = {
  request(item) {
    const native_tool = idOf(item.tool);
    return native_tool === null ? null : { native_tool, input: item.arguments ?? {} };
  },
  ended: (item) => ({
    status: item.success === false ? 'error' : statusOf(item),
    exit_code: null,
    output: contentText(item.contentItems),
  }),
};

/** A tool whose item tells little: the tool, and the item's fields that are its input. */
function plain(native_tool: string, fields: Readonly<Record<string, string>>): Item {
  return {
    request(item) {
      const given = Object.entries(fields).filter(([name]) => item[name] != null);
      const input = Object.fromEntries(given.map(([name, field]) => [field, item[name]]));
      return { native_tool, input };
    },
    ended: search.ended,
  };
}

const ITEMS: ReadonlyMap<unknown, Item> = new Map<unknown, Item>([
  ['command_execution', command],
  ['CommandExecution', command],
  ['file_change', patch],
  ['FileChange', patch],
  ['mcp_tool_call', mcp],
  ['McpToolCall', mcp],
  ['collab_tool_call', collab],
  ['CollabAgentToolCall', collab],
  ['web_search', search],
  ['WebSearch', search],
  ['commandExecution', command],
  ['fileChange', patch],
  ['mcpToolCall', mcp],
  ['collabAgentToolCall', collab],
  ['webSearch', search],
  ['dynamicToolCall', dynamic],
  ['subAgentActivity', plain('subAgentActivity', {})],
  ['imageView', plain('view_image', { path: 'path' })],
  ['imageGeneration', plain('image_generation', { revisedPrompt: 'prompt' })],
  ['sleep', plain('sleep', { durationMs: 'duration_ms' })],
]);

/** How to read an item that is a call; undefined for the others. */
export function callItem(type: unknown): Item | undefined {
  return ITEMS.get(type);
}
