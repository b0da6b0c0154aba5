/** Kinds of records and their types. Both channels have the same records. */
import type { Both, Inside } from '../kit/native.ts';
import { words } from '../kit/text.ts';
import type { Session, Stdout } from './generated/native.ts';

export type Records = Both<Stdout, Session>;
/** The `data` type of a kind of record. */
export type Data<K extends keyof Records> = 'data' extends keyof Records[K]
  ? Inside<Records[K]['data']>
  : never;
export type Completed = Data<'tool.execution_complete'>;

/** A call, as its records describe it. */
export interface Asked {
  readonly native_tool: string;
  readonly input: unknown;
}

/** Kinds with facts that other records repeat, or with nothing to record. */
export const IGNORED = [
  ...words(`
    assistant.idle assistant.intent assistant.message_start assistant.server_tool_progress
    assistant.streaming_delta assistant.tool_call_delta capabilities.changed command.completed
    command.execute command.queued commands.changed external_tool.completed
    external_tool.requested hook.progress hook.start mcp.prompts.list_changed
    mcp.resources.list_changed mcp.tools.list_changed model.call_end model.call_final_result
    model.call_finished pending_messages.modified sampling.completed sampling.requested
    sandbox.decision skill.context_delivered_ref subagent.completed subagent.configured
    subagent.deselected subagent.selected system.message tool_search.activated
  `),
  ...words(
    `
    auto_mode_resolved autopilot_objective_changed background_tasks_changed binary_asset
    canvas.closed canvas.opened canvas.registry_changed compaction_start context_changed
    custom_agents_updated extensions_loaded extensions.attachments_pushed idle
    managed_settings_enforced managed_settings_resolved mcp_server_needs_reconnect
    mcp_server_removed mcp_server_status_changed mcp_server_tools_loaded mcp_servers_loaded
    mode_changed mode_notice_delivered permissions_changed plan_changed remote_steerable_changed
    schedule_cancelled schedule_created skills_loaded title_changed todos_changed
    usage_checkpoint usage_info workspace_file_changed
    `,
    'session.',
  ),
  // Internals of the CLI that programs on its SDK receive.
  ...words(
    `
    log message messages_snapshot model_call_started model_call_success response telemetry
    tool_execution turn_ended turn_failed turn_started
    `,
    'model.',
  ),
];

/** Records with a message for people, and the field with the text. */
export const NOTICES: ReadonlyMap<string, string> = new Map([
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
