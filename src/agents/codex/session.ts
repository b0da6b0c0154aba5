/** Session files, also of sub-agents. `response_item` holds the model's output, `event_msg` its effects. */
import { join } from 'node:path';
import { own } from '../../lib/own.ts';
import { decoder } from '../kit/decoder.ts';
import type { Drafts } from '../kit/drafts.ts';
import { type Inside, type Merged, nativeOf, type Open, textOf, wordOf } from '../kit/native.ts';
import { homeOf, sessionFiles } from '../kit/sessions.ts';
import { words } from '../kit/text.ts';
import type { Session } from './generated/native.ts';
import type { Response } from './messages.ts';
import { type Event, itemOf, mcpOf } from './native.ts';
import { changesOfInput, changesOfPatch, patchKey } from './patch.ts';
import { retention } from './retention.ts';
import { isMain, ROLLOUT, subAgents } from './rollouts.ts';
import { SessionRun } from './session-run.ts';
import { SHELLS } from './shell-line.ts';

type Rows = Record<string, (line: Open) => void>;
type Facts = Inside<
  Merged<Session, 'session_meta' | 'turn_context' | 'token_usage_record'>['payload']
>;

const IGNORED = [
  ...words('inter_agent_communication inter_agent_communication_metadata world_state'),
  // Context for the model, or facts that events repeat.
  ...words(`
    additional_tools agent_message compaction compaction_summary compaction_trigger
    context_compaction ghost_snapshot other
  `).map((kind) => `response_item/${kind}`),
  // Facts that response items and items repeat, or bookkeeping.
  ...words(`
    agent_message agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break
    collab_agent_interaction_end collab_agent_spawn_end collab_close_end collab_resume_end
    collab_waiting_end dynamic_tool_call_request dynamic_tool_call_response entered_review_mode
    exited_review_mode guardian_assessment image_generation_end item_started plan_update
    request_user_input session_configured sub_agent_activity terminal_interaction
    thread_goal_updated thread_name_updated thread_settings_applied turn_diff undo_completed
    view_image_tool_call web_search_end
  `).map((kind) => `event_msg/${kind}`),
  // Facts that response items repeat, or items of the CLI's own modes.
  ...words(`
    AgentMessage ContextCompaction EnteredReviewMode ExitedReviewMode HookPrompt ImageGeneration
    ImageView Plan Reasoning Sleep
  `).map((kind) => `item_completed/${kind}`),
];
const NOTICES = words(`
  background_event context_compacted deprecation_notice guardian_warning model_reroute
  model_verification thread_rolled_back warning
`).map((kind) => `event_msg/${kind}`);

const COMMANDS: ReadonlySet<string> = new Set(['command_execution', 'CommandExecution', ...SHELLS]);
const PATCHES: ReadonlySet<string> = new Set(['file_change', 'FileChange', 'apply_patch']);
/** Names of the same tool on stdout and in the session file. */
const SAME: Readonly<Record<string, string>> = { wait_agent: 'wait', todo_list: 'update_plan' };
const SHOWN: ReadonlySet<string> = new Set(
  words('spawn_agent wait send_input close_agent resume_agent update_plan'),
);
const SHELL_PATCH = /^(?:cd [^\n;&|]{1,1024} && )?apply_?patch\s/;
const KEY_CHARS = 1_000;

export const session = sessionFiles({
  where: '~/.codex/sessions and ~/.codex/archived_sessions, or in $CODEX_HOME',
  root: (env) => env.CODEX_HOME || join(homeOf(env), '.codex'),
  id: /^[0-9a-zA-Z-]{1,64}$/,
  names: [
    [/^sessions$/, /./, /./, /./, ROLLOUT],
    [/^archived_sessions$/, ROLLOUT],
  ],
  retention,
  parts_in_places: true,
  isMain,
  subAgents,
  keyOf,
  decoder: ({ since_ms } = {}) =>
    decoder<Record<string, Open>>((to) => {
      const run = new SessionRun(to);
      return {
        since_ms,
        kindOf,
        isEarlier: (line, part) => run.isEarlier(line, part),
        before: (line, _part, earlier) => run.before(line, earlier),
        records: {
          ...rows<Facts>(to, '', {
            session_meta: (meta) => run.meta(meta),
            turn_context: (context) => run.context(context),
            token_usage_record: ({ usage }) => run.tokens(usage),
            compacted: () => to.notice('compacted', null),
          }),
          ...payloads(to, run),
        },
        ignored: IGNORED,
        notices: NOTICES,
        noticeText: (line) => textOf(nativeOf(line.payload)?.message),
        end: () => run.end(),
      };
    }),
});

/** The types of the line and its payload; for a completed item, the item's type. */
function kindOf({ type, payload }: Open): string | null {
  const inner = nativeOf(payload);
  if (typeof type !== 'string') return null;
  if (inner === null || (type !== 'event_msg' && type !== 'response_item')) return type;
  const item = inner.type === 'item_completed' ? nativeOf(inner.item) : null;
  const own = item === null ? inner.type : item.type;
  if (typeof own !== 'string') return null;
  return `${item === null ? type : 'item_completed'}/${own}`;
}

/** Rows that receive a line's payload. Each key lists one or more kinds. */
function rows<P>(to: Drafts, prefix: string, table: Record<string, (payload: P) => void>): Rows {
  const all = Object.entries(table).flatMap(([kinds, row]) => {
    const held = (line: Open) => {
      const payload = nativeOf(line.payload) as P | null;
      if (payload === null) to.problem('unknown_record', wordOf(line.type));
      else row(payload);
    };
    return words(kinds, prefix).map((kind) => [kind, held] as const);
  });
  return Object.fromEntries(all);
}

/** Rows for response items and events. */
function payloads(to: Drafts, run: SessionRun): Rows {
  const { talk } = run;
  return {
    ...rows<Response>(to, 'response_item/', {
      message: (item) => talk.message(item),
      reasoning: (item) => talk.reasoning(item),
      'function_call custom_tool_call local_shell_call': (item) => talk.call(item),
      tool_search_call: (item) => talk.call(item),
      'web_search_call image_generation_call': (item) => talk.served(item),
      'function_call_output custom_tool_call_output': (item) => talk.answer(item),
      'mcp_tool_call_output tool_search_output': (item) => talk.answer(item),
    }),
    ...rows<Event>(to, 'event_msg/', {
      'task_started turn_started': () => run.begin(),
      'task_complete turn_complete': (event) => run.turnEnded(event),
      turn_aborted: ({ reason }) => run.aborted(textOf(reason)),
      token_count: ({ info }) => run.count(nativeOf(info)),
      user_message: ({ message }) => run.prompt(textOf(message), null),
      error: (event) => run.failed(event, false),
      stream_error: (event) => run.failed(event, true),
      // Events of older versions that replace items.
      exec_command_end: (event) => run.item(itemOf('CommandExecution', event)),
      patch_apply_end: (event) => run.item(itemOf('FileChange', event)),
      mcp_tool_call_end: (event) => run.item(mcpOf(event)),
      item_completed: () => to.bad('item_completed without item'),
    }),
    ...rows<Event>(to, 'item_completed/', {
      'CollabAgentToolCall CommandExecution FileChange': (event) => run.completed(event),
      'McpToolCall SubAgentActivity UserMessage WebSearch': (event) => run.completed(event),
    }),
  };
}

/**
 * Identifies a call by content that stdout and the session file share: stdout numbers items, the session file has the
 * model's ids, and nothing else shows that two calls are the same. Null for a call that stdout never shows.
 */
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

/** The CLI itself applies a patch given to a shell, and reports it like any other. */
function commandKey(command: string): string {
  const changes = SHELL_PATCH.test(command) ? changesOfPatch(command) : [];
  return changes.length === 0 ? `command ${cut(command)}` : `patch ${cut(patchKey(changes))}`;
}

function cut(text: string): string {
  return text.length <= KEY_CHARS ? text : `${text.slice(0, KEY_CHARS)} ${text.length}`;
}
