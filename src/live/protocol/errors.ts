/** The error codes of the protocol, and the message that carries one. */
import { textOf } from '../../lib/foreign.ts';
import type { LiveMessage } from '../../model/live.ts';
import type { SEVERITIES } from '../../model/live-words.ts';
import { type ControlIds, control } from './compose.ts';

type Severity = (typeof SEVERITIES)[number];

interface ErrorKind {
  severity: Severity;
  /** Whether resending the same message can help. */
  retriable: boolean;
}

const error = (retriable: boolean): ErrorKind => ({ severity: 'error', retriable });
const FATAL: ErrorKind = { severity: 'fatal', retriable: false };

export const LIVE_ERRORS = {
  INVALID_JSON_FORMAT: error(true),
  INVALID_NDJSON_FORMAT: error(true),
  INVALID_MESSAGE_FORMAT: error(false),
  INVALID_MESSAGE_TYPE: error(false),
  INVALID_FIELD_TYPE: error(false),
  MISSING_REQUIRED_FIELD: error(false),
  MESSAGE_TOO_LARGE: error(false),
  AUTH_FAILED: FATAL,
  DUPLICATE_CONFLICT: error(false),
  SESSION_COLLISION: error(true),
  SESSION_TIMEOUT: { severity: 'warning', retriable: false },
  CAPACITY_EXHAUSTED: error(true),
  FLOW_CONTROL_TIMEOUT: error(true),
  STDIO_BROKEN_PIPE: FATAL,
  STDIO_STREAM_CLOSED: FATAL,
  CONNECTION_LOST: error(true),
  CONNECTION_TIMEOUT: error(true),
  CONNECTION_REFUSED: error(true),
  NAMED_PIPE_DISCONNECTED: error(true),
  NAMED_PIPE_CREATION_FAILED: FATAL,
  /** From here to UNSUPPORTED_TOOL: inside `tool_call_response.data.error`. */
  TOOL_EXECUTION_FAILED: error(true),
  TOOL_TIMEOUT: error(true),
  CANCELLED: error(false),
  PERMISSION_DENIED: error(false),
  RESOURCE_EXHAUSTED: error(true),
  INVALID_TOOL_ARGUMENTS: error(false),
  UNSUPPORTED_TOOL: error(false),
  INVALID_INPUT_FORMAT: error(false),
  INPUT_INJECTION_RESTRICTED: error(true),
  INPUT_PROCESSING_TIMEOUT: error(true),
  INPUT_BUFFER_OVERFLOW: error(false),
  INTERRUPT_PROCESSING_FAILED: error(false),
  INTERRUPT_ACK_TIMEOUT: error(true),
  /** Tacho's own codes of a run: an error of the model API, and output that could not be read. */
  PROVIDER_ERROR: error(true),
  CAPTURE_PROBLEM: { severity: 'warning', retriable: false },
} as const satisfies Record<string, ErrorKind>;

export type LiveErrorCode = keyof typeof LIVE_ERRORS;

interface Cause {
  correlation_id: string | null;
  message_id: string | null;
  seq: number | null;
}

export interface ErrorFacts {
  details?: Record<string, unknown>;
  caused_by?: Cause | null;
  /** Set when they differ from the defaults of the code. */
  severity?: Severity;
  retriable?: boolean;
}

export function errorMessage(
  error_code: LiveErrorCode,
  message: string,
  facts: ErrorFacts & Omit<ControlIds, 'correlation_id'>,
): LiveMessage<'error'> {
  const kind = LIVE_ERRORS[error_code];
  const { details = {}, caused_by = null, ...given } = facts;
  const { severity = kind.severity, retriable = kind.retriable, ...ids } = given;
  const data = { error_code, message, details, severity, retriable, caused_by };
  return control('error', data, { ...ids, correlation_id: caused_by?.correlation_id ?? null });
}

/** The ids of a message, as far as it could be parsed. */
export function causeOf(message: object | null): Cause | null {
  if (message === null) return null;
  const { correlation_id, message_id, seq } = message as Record<string, unknown>;
  return {
    correlation_id: textOf(correlation_id),
    message_id: textOf(message_id),
    seq: Number.isInteger(seq) && (seq as number) >= 0 ? (seq as number) : null,
  };
}
