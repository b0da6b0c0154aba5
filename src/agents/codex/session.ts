/**
 * Session files: `<home>/sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`, also of sub-agents. What the model said and asked
 * for (`response_item`), what came of it (`event_msg`), and the tokens of every request.
 */
import { join } from 'node:path';
import { decoder, type Table } from '../kit/decoder.ts';
import type { Drafts } from '../kit/drafts.ts';
import { type Claim, nativeOf, type Open, textOf, wordOf } from '../kit/native.ts';
import { homeOf, sessionFiles } from '../kit/sessions.ts';
import { words } from '../kit/text.ts';
import type { Session } from './generated/native.ts';
import type { Conversations, Response } from './messages.ts';
import { keyOf } from './pairs.ts';
import { isMain, ROLLOUT, subAgents } from './rollouts.ts';
import { type Event, itemOf, mcpOf, SessionRun } from './session-run.ts';

/** By the type of the line and that of its payload; items that are completed, by their own type. */
type Lines = Omit<Session, 'event_msg' | 'response_item'> &
  Record<`response_item/${string}`, Session['response_item']> &
  Record<`${'event_msg' | 'item_completed'}/${string}`, Session['event_msg']>;
type Rows = Table<Lines>['records'];

const IGNORED = [
  ...words('inter_agent_communication inter_agent_communication_metadata world_state'),
  // Context for the model, or what events say as well.
  ...words(
    `
    additional_tools agent_message compaction compaction_summary compaction_trigger
    context_compaction ghost_snapshot other
    `,
    'response_item/',
  ),
  // What response items and items say as well, or bookkeeping.
  ...words(
    `
    agent_message agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break
    collab_agent_interaction_end collab_agent_spawn_end collab_close_end collab_resume_end
    collab_waiting_end dynamic_tool_call_request dynamic_tool_call_response entered_review_mode
    exited_review_mode guardian_assessment image_generation_end item_started plan_update
    request_user_input session_configured sub_agent_activity terminal_interaction
    thread_goal_updated thread_name_updated thread_settings_applied turn_diff undo_completed
    view_image_tool_call web_search_end
    `,
    'event_msg/',
  ),
  // What response items say as well, or of the CLI's own modes.
  ...words(
    `
    AgentMessage ContextCompaction EnteredReviewMode ExitedReviewMode HookPrompt ImageGeneration
    ImageView Plan Reasoning Sleep
    `,
    'item_completed/',
  ),
];
/** Events for people. */
const NOTICES = words(
  `
    background_event context_compacted deprecation_notice guardian_warning model_reroute
    model_verification thread_rolled_back warning
  `,
  'event_msg/',
);

export const session = sessionFiles({
  root: (env) => env.CODEX_HOME || join(homeOf(env), '.codex'),
  id: /^[0-9a-zA-Z-]{1,64}$/,
  names: [
    [/^sessions$/, /./, /./, /./, ROLLOUT],
    [/^archived_sessions$/, ROLLOUT],
  ],
  isMain,
  subAgents,
  keyOf,
  decoder: ({ since_ms } = {}) =>
    decoder<Lines>((to) => {
      const run = new SessionRun(to);
      const holds = held(to);
      return {
        since_ms,
        kindOf,
        isEarlier: (line, part) => run.isEarlier(line, part),
        before: (line, _part, earlier) => run.before(line, earlier),
        records: {
          session_meta: holds((meta) => run.meta(meta)),
          turn_context: holds((context) => run.context(context)),
          token_usage_record: holds((record) => run.tokens(record.usage)),
          compacted: holds(() => to.notice('compacted', null)),
          ...responseRows(to, run.talk),
          ...eventRows(to, run),
        },
        ignored: IGNORED,
        notices: NOTICES,
        noticeText: (line) => textOf(nativeOf(line.payload)?.message),
        end: () => run.end(),
      };
    }),
});

function kindOf({ type, payload }: Open): string | null {
  const inner = nativeOf(payload);
  if (typeof type !== 'string') return null;
  if (inner === null || (type !== 'event_msg' && type !== 'response_item')) return type;
  const item = inner.type === 'item_completed' ? nativeOf(inner.item) : null;
  const own = item === null ? inner.type : item.type;
  if (typeof own !== 'string') return null;
  return `${item === null ? type : 'item_completed'}/${own}`;
}

/** Makes rows of what is done with a line's payload. */
const held =
  (to: Drafts) =>
  <P>(row: (payload: P) => void) =>
  (line: { readonly type?: unknown; readonly payload?: Claim<P> }): void => {
    const payload = nativeOf(line.payload);
    if (payload === null) to.problem('unknown_record', wordOf(line.type));
    else row(payload);
  };

/** What the model gave back. */
function responseRows(to: Drafts, talk: Conversations): Rows {
  const holds = held(to);
  const call = holds((response: Response) => talk.call(response));
  const served = holds((response: Response) => talk.served(response));
  const answer = holds((response: Response) => talk.answer(response));
  return {
    'response_item/message': holds((response) => talk.message(response)),
    'response_item/reasoning': holds((response) => talk.reasoning(response)),
    'response_item/function_call': call,
    'response_item/custom_tool_call': call,
    'response_item/local_shell_call': call,
    'response_item/tool_search_call': call,
    'response_item/web_search_call': served,
    'response_item/image_generation_call': served,
    'response_item/function_call_output': answer,
    'response_item/custom_tool_call_output': answer,
    'response_item/mcp_tool_call_output': answer,
    'response_item/tool_search_output': answer,
  };
}

/** What came of it. */
function eventRows(to: Drafts, run: SessionRun): Rows {
  const holds = held(to);
  const begin = () => run.begin();
  const end = holds((event: Event) => run.turnEnded(event));
  const item = holds((event: Event) => run.completed(event));
  return {
    'event_msg/task_started': begin,
    'event_msg/turn_started': begin,
    'event_msg/task_complete': end,
    'event_msg/turn_complete': end,
    'event_msg/turn_aborted': holds((event) => run.aborted(textOf(event.reason))),
    'event_msg/token_count': holds((event) => run.count(nativeOf(event.info))),
    'event_msg/user_message': holds((event) => run.prompt(textOf(event.message), null)),
    'event_msg/error': holds((event) => run.failed(event, false)),
    'event_msg/stream_error': holds((event) => run.failed(event, true)),
    // Events of older versions in the place of items.
    'event_msg/exec_command_end': holds((event) => run.item(itemOf('CommandExecution', event))),
    'event_msg/patch_apply_end': holds((event) => run.item(itemOf('FileChange', event))),
    'event_msg/mcp_tool_call_end': holds((event) => run.item(mcpOf(event))),
    'event_msg/item_completed': () => to.bad('item_completed without item'),
    'item_completed/CollabAgentToolCall': item,
    'item_completed/CommandExecution': item,
    'item_completed/FileChange': item,
    'item_completed/McpToolCall': item,
    'item_completed/SubAgentActivity': item,
    'item_completed/UserMessage': item,
    'item_completed/WebSearch': item,
  };
}
