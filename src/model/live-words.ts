/** The closed vocabularies of the live protocol, as plain data: importing this file loads no schema library. */

export const LIVE_VERSION = '1.0';

/** Sent by an agent, numbered, stored. */
export const AGENT_MESSAGE_TYPES = [
  'session_start',
  'session_end',
  'tool_call_request',
  'tool_call_confirmation',
  'tool_execution_status',
  'tool_call_response',
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_stop',
  'session_state',
] as const;

/** Sent by a client to a session's agent. */
export const CLIENT_MESSAGE_TYPES = [
  'tool_confirmation_response',
  'user_input',
  'interrupt',
] as const;

/** Exchanged by the two ends of a connection. An agent may also send `error`, numbered like its other messages. */
export const CONTROL_MESSAGE_TYPES = [
  'handshake_request',
  'handshake_response',
  'subscribe_events',
  'unsubscribe_events',
  'ack',
  'flow_control',
  'heartbeat',
  'error',
] as const;

export const LIVE_TYPES = [
  ...AGENT_MESSAGE_TYPES,
  ...CLIENT_MESSAGE_TYPES,
  ...CONTROL_MESSAGE_TYPES,
] as const;
/** A type of message of the live protocol. */
export type LiveType = (typeof LIVE_TYPES)[number];

/** Belong to one call: they have its correlation id. */
export const CALL_MESSAGE_TYPES: ReadonlySet<string> = new Set([
  'tool_call_request',
  'tool_call_confirmation',
  'tool_confirmation_response',
  'tool_execution_status',
  'tool_call_response',
]);

/** Acknowledged by default (LP-7). */
export const ACKED_TYPES: ReadonlySet<string> = new Set([...CALL_MESSAGE_TYPES, 'session_end']);

/** May be sent without credits (LP-10). */
export const URGENT_TYPES: ReadonlySet<string> = new Set(['error', 'interrupt', 'session_end']);

export const LIVE_ROLES = ['agent', 'client'] as const;
export type LiveRole = (typeof LIVE_ROLES)[number];
export const LIVE_PERMISSIONS = ['subscribe', 'send', 'inject'] as const;
export type LivePermission = (typeof LIVE_PERMISSIONS)[number];
export const EXECUTION_STATUSES = ['running', 'paused', 'cancelled', 'failed'] as const;
export const SEVERITIES = ['fatal', 'error', 'warning'] as const;
/** agent: the agent's own time; capture: when tacho read it; clamped: raised so that time never decreases. */
export const TIME_SOURCES = ['agent', 'capture', 'clamped'] as const;
export const SESSION_STATUSES = ['active', 'ended', 'lost'] as const;
