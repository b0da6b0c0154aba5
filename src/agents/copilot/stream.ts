/**
 * stdout of `--output-format json`, and the session file: the same records, each channel with some of its own.
 * Envelope: `{type, data, id, timestamp, parentId, ephemeral?, agentId?}`; `agentId` names the sub-agent that speaks.
 */
import { decoder, type Table } from '../kit/decoder.ts';
import { type Drafts, OK } from '../kit/drafts.ts';
import {
  codeOf,
  countOf,
  idOf,
  isNative,
  listOf,
  nativeOf,
  statusOf,
  textOf,
  wordOf,
} from '../kit/native.ts';
import { Calls } from './calls.ts';
import { Ending } from './ending.ts';
import { Conversation } from './messages.ts';
import type { Data, Records } from './records.ts';
import { Spending } from './usage.ts';

type Rows = { readonly [K in keyof Records]?: (data: Data<K>) => void };

/** Their facts are in other records too, or mean nothing for a recording. */
const IGNORED = [
  'assistant.idle',
  'assistant.intent',
  'assistant.message_start',
  'assistant.server_tool_progress',
  'assistant.streaming_delta',
  'assistant.tool_call_delta',
  'capabilities.changed',
  'command.completed',
  'command.execute',
  'command.queued',
  'commands.changed',
  'external_tool.completed',
  'external_tool.requested',
  'hook.progress',
  'hook.start',
  'mcp.prompts.list_changed',
  'mcp.resources.list_changed',
  'mcp.tools.list_changed',
  'model.call_end',
  'model.call_final_result',
  'model.call_finished',
  'pending_messages.modified',
  'sampling.completed',
  'sampling.requested',
  'sandbox.decision',
  'session.auto_mode_resolved',
  'session.autopilot_objective_changed',
  'session.background_tasks_changed',
  'session.binary_asset',
  'session.canvas.closed',
  'session.canvas.opened',
  'session.canvas.registry_changed',
  'session.compaction_start',
  'session.context_changed',
  'session.custom_agents_updated',
  'session.extensions_loaded',
  'session.extensions.attachments_pushed',
  'session.idle',
  'session.managed_settings_enforced',
  'session.managed_settings_resolved',
  'session.mcp_server_needs_reconnect',
  'session.mcp_server_removed',
  'session.mcp_server_status_changed',
  'session.mcp_server_tools_loaded',
  'session.mcp_servers_loaded',
  'session.mode_changed',
  'session.mode_notice_delivered',
  'session.permissions_changed',
  'session.plan_changed',
  'session.remote_steerable_changed',
  'session.schedule_cancelled',
  'session.schedule_created',
  'session.skills_loaded',
  'session.title_changed',
  'session.todos_changed',
  'session.usage_checkpoint',
  'session.usage_info',
  'session.workspace_file_changed',
  'skill.context_delivered_ref',
  'subagent.completed',
  'subagent.configured',
  'subagent.deselected',
  'subagent.selected',
  'system.message',
  'tool_search.activated',
  // Internals of the CLI, which a program on its SDK is shown.
  'model.log',
  'model.message',
  'model.messages_snapshot',
  'model.model_call_started',
  'model.model_call_success',
  'model.response',
  'model.telemetry',
  'model.tool_execution',
  'model.turn_ended',
  'model.turn_failed',
  'model.turn_started',
];

/** Records for people, and the field that holds the text. */
const NOTICES: ReadonlyMap<string, string> = new Map([
  ['auto_mode_switch.completed', 'response'],
  ['auto_mode_switch.requested', 'reason'],
  ['elicitation.completed', 'action'],
  ['elicitation.requested', 'message'],
  ['exit_plan_mode.completed', 'feedback'],
  ['exit_plan_mode.requested', 'summary'],
  ['mcp.oauth_completed', 'serverName'],
  ['mcp.oauth_required', 'serverName'],
  ['session.autopilot_stopped', 'reason'],
  ['session.compaction_complete', 'error'],
  ['session.custom_notification', 'name'],
  ['session.handoff', 'summary'],
  ['session.snapshot_rewind', 'upToEventId'],
  ['session.task_complete', 'summary'],
  ['session.truncation', 'performedBy'],
  ['session.warning', 'message'],
  ['user_input.completed', 'answer'],
  ['user_input.requested', 'question'],
]);

/** `session.info` types that other records say too. */
const INFOS_IGNORED: ReadonlySet<string> = new Set(['cancellation', 'file_created', 'model_retry']);

export const stream = () => decoderSince(undefined);

/** `since_ms`: of earlier records only the session's own facts count. */
export const decoderSince = (since_ms: number | undefined) =>
  decoder<Records>((to) => {
    const run = runOf(to);
    return {
      since_ms,
      inside,
      before(record, _part, earlier) {
        run.calls.speaker(record);
        if (!earlier) return;
        run.spending.earlierRun();
        if (record.type === 'session.start') run.talk.start(nativeOf(record.data) ?? {});
      },
      records: {
        ...ofData(to, { ...talkRows(run), ...callRows(run), ...sessionRows(run) }),
        result(record) {
          const code = codeOf(record.exitCode);
          const error = code === null ? 'the end record has no exit code' : `exit code ${code}`;
          run.talk.introduce({ session_id: idOf(record.sessionId) });
          run.ending.end(code === 0 ? OK : { exit_reason: 'agent_error', error });
        },
      },
      ignored: IGNORED,
      notices: [...NOTICES.keys()],
      noticeText: ({ type, data }) => textOf(nativeOf(data)?.[NOTICES.get(wordOf(type)) ?? '']),
      end: () => run.ending.close(),
    };
  });

type Run = ReturnType<typeof runOf>;
function runOf(to: Drafts) {
  const calls = new Calls(to);
  const talk = new Conversation(to, calls);
  return { to, calls, talk, ending: new Ending(to, talk), spending: new Spending(to) };
}

/** A host's log of the SDK's events: `{dir, t, msg}`. */
function inside(value: unknown): readonly unknown[] | null {
  if (!isNative(value) || typeof value.type === 'string') return null;
  const { dir, msg } = value;
  if (typeof dir !== 'string' || !isNative(msg)) return null;
  if (dir === 'event' && typeof msg.type === 'string') return [msg];
  // Another protocol, which no row knows.
  return msg.jsonrpc === undefined ? [] : [{ type: 'a JSON-RPC message' }];
}

/** Rows of what is in the envelope. */
function ofData(to: Drafts, rows: Rows): Table<Records>['records'] {
  const wrapped = Object.entries(rows).map(([kind, row]) => [
    kind,
    (record: { data?: unknown }) => {
      const data = nativeOf(record.data);
      const { written } = to;
      (row as (data: object) => void)(data ?? {});
      if (data === null && to.written === written) to.bad(`${kind} without data`);
    },
  ]);
  return Object.fromEntries(wrapped);
}

const talkRows = ({ to, talk, ending }: Run): Rows => ({
  'assistant.message_delta': (data) =>
    talk.delta('message_delta', data.deltaContent, data.messageId),
  'assistant.reasoning_delta': (data) =>
    talk.delta('thinking_delta', data.deltaContent, data.reasoningId),
  'assistant.message': (data) => talk.message(data),
  'assistant.reasoning': (data) => talk.thought(data.content, idOf(data.reasoningId)),
  'assistant.turn_start'(data) {
    if (!to.root) return;
    ending.goesOn();
    talk.turn(data);
  },
  'assistant.turn_end'() {
    if (to.root) talk.settleTurn();
  },
  'user.message'(data) {
    if (to.root) ending.goesOn();
    talk.user(data);
  },
});

const callRows = ({ to, calls }: Run): Rows => ({
  'tool.execution_start': (data) => calls.take(data),
  'tool.execution_complete': (data) => calls.finish(data),
  'tool.shell_output': (data) => calls.progress(data.toolCallId, data.text, data.stream),
  'tool.execution_progress': (data) => calls.progress(data.toolCallId, data.progressMessage, null),
  // Its text repeats that of the shell output.
  'tool.execution_partial_result': (data) => calls.runs(idOf(data.toolCallId)),
  'tool.user_requested': (data) => calls.foreign(data),
  'subagent.started': (data) => calls.subAgent(idOf(data.toolCallId)),
  'subagent.failed'(data) {
    calls.background.agentFailed(idOf(data.toolCallId));
    to.notice('subagent.failed', textOf(data.error));
  },
  'agent.interrupted'(data) {
    for (const id of listOf(data.toolCallIds)) calls.runs(textOf(id));
  },
  'permission.requested': (data) => calls.asked(data),
  'permission.completed': (data) => calls.answered(data),
  'skill.invoked': (data) => calls.skillInvoked(idOf(data.name)),
  'system.notification'(data) {
    calls.background.notified(nativeOf(data.kind));
    to.notice('system.notification', textOf(data.content));
  },
});

function sessionRows({ to, calls, talk, ending, spending }: Run): Rows {
  let failed_call: Data<'model.call_failure'> | null = null;
  return {
    'session.start': (data) => talk.start(data),
    // Another process continues the session. The records before stay visible, but their cost is not this run's.
    'session.resume'(data) {
      if (!to.root) return;
      talk.start(data);
      talk.settleTurn();
      calls.abandon();
      ending.goesOn();
      spending.startOver();
    },
    'session.tools_updated': (data) => talk.introduce({ model: idOf(data.model) }),
    'model.call_start': (data) => talk.introduce({ model: idOf(data.model) }),
    'session.model_change': (data) => talk.introduce({ model: idOf(data.newModel) }),
    'model.call_failure'(data) {
      failed_call = data;
    },
    'assistant.turn_retry'(data) {
      const before = countOf(failed_call?.retryAttempt);
      const attempt = before === null ? null : before + 1;
      const status = statusOf(failed_call?.statusCode);
      to.retried({ attempt, status }, { native_kind: textOf(data.reason) });
    },
    abort: (data) => ending.abort(data),
    'session.error': (data) => ending.error(data),
    'session.usage_record': (data) => spending.call('session.usage_record', data),
    'assistant.usage': (data) => spending.call('assistant.usage', data),
    'session.shutdown'(data) {
      if (!to.root) return;
      spending.total(data);
      const error = textOf(data.errorReason) ?? 'the session was shut down by an error';
      ending.end(data.shutdownType === 'error' ? { exit_reason: 'agent_error', error } : OK);
    },
    'hook.end'({ hookType, success, error }) {
      const event = textOf(hookType);
      const outcome = success === true ? 'success' : success === false ? 'error' : null;
      const output = textOf(nativeOf(error)?.message);
      to.put('hook_finished', { name: event ?? '', event, exit_code: null, outcome, output });
    },
    'session.info'(data) {
      const info = textOf(data.infoType) ?? 'session.info';
      if (!INFOS_IGNORED.has(info)) to.notice(info, textOf(data.message));
    },
  };
}
