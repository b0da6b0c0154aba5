/** The handshake: identity and permissions of the peer, and the number where a session continues. */
import type { LiveDataOf } from '../../model/live.ts';
import { LIVE_TYPES, LIVE_VERSION } from '../../model/live-words.ts';
import type { LiveErrorCode } from '../protocol/errors.ts';
import type { WireMessage } from '../protocol/messages.ts';
import { FULL_GRANT, type Grant, grantFor, refusalOf } from './auth.ts';
import type { Arrival, Connection } from './hub.ts';
import { judge } from './judging.ts';
import { LIVE_SOURCE } from './options.ts';
import { claim } from './sessions.ts';
import { compareClocks } from './skew.ts';

interface Refusal {
  error_code: LiveErrorCode;
  message: string;
}

type Request = LiveDataOf<'handshake_request'>;

/**
 * Answers a handshake; false when the peer was refused. Waits only for the journal, and only to resume a session.
 * A handshake on an open connection resumes another session: permissions and credits of the peer do not change.
 */
export async function greet(
  connection: Connection,
  arrival: Arrival,
  again: boolean,
): Promise<boolean> {
  const { hub } = connection;
  const { message } = arrival;
  const request = message.data as Request;
  const answer = (more: Partial<LiveDataOf<'handshake_response'>>) =>
    respond(connection, message, more);
  const grant = grantOf(connection, request);
  if ('error_code' in grant) {
    answer({ success: false, error: { ...grant } });
    return false;
  }
  if (!again) {
    connection.grant = grant;
    connection.role = request.role;
    connection.credits = hub.limits.credits;
  }
  const resumed = await resume(connection, request);
  if (typeof resumed === 'object' && resumed !== null) {
    answer({ success: false, error: { ...resumed } });
    return false;
  }
  const given = message.session_id || null;
  const session_id = request.resume?.session_id ?? given ?? hub.options.newSessionId();
  // Judged without its session_id: it may name a session that the peer does not own.
  judge(connection, { ...arrival, message: { ...message, session_id: '' } });
  answer({ success: true, session_id, resume_from_seq: resumed });
  compareClocks(connection, message);
  return true;
}

function grantOf({ hub, wire }: Connection, request: Request): Grant | Refusal {
  if (!/^1(\.\d+)?$/.test(request.version))
    return {
      error_code: 'INVALID_MESSAGE_FORMAT',
      message: `protocol version ${request.version.slice(0, 20)} is not supported: use ${LIVE_VERSION}`,
    };
  const { tokens, clock } = hub.options;
  const token = request.token ?? '';
  if (tokens === null || (wire.private && token === '')) return FULL_GRANT;
  const grant = grantFor(tokens, token, clock.now());
  if (grant !== null) return grant;
  const why = token === '' ? 'a token is required' : 'the token is unknown or has expired';
  return { error_code: 'AUTH_FAILED', message: why };
}

/** The number that the next message must have; null when nothing is resumed. */
async function resume(connection: Connection, request: Request): Promise<number | null | Refusal> {
  const { hub } = connection;
  const wanted = request.resume ?? null;
  if (wanted === null) return null;
  // A client that sends a second handshake as an agent does not take over the session.
  if ([request.role, connection.role].includes('client')) return wanted.last_seq + 1;
  const refused = refusalOf(connection.grant, 'send', wanted.session_id);
  if (refused !== null) return { error_code: 'AUTH_FAILED', message: refused };
  const claimed = claim(connection, wanted.session_id, { take_over: true });
  if ('full' in claimed) {
    hub.countLimit('sessions_max');
    return { error_code: 'CAPACITY_EXHAUSTED', message: claimed.full.message };
  }
  try {
    const last = await hub.options.journal.lastSeq(wanted.session_id, LIVE_SOURCE);
    if ('session' in claimed) claimed.session.last_seq = last;
    return last + 1;
  } catch (error) {
    return { error_code: 'CAPACITY_EXHAUSTED', message: (error as Error).message };
  }
}

const FEATURES = ['ack', 'resume', 'subscribe', 'flow_control', 'input', ...LIVE_TYPES];

function respond(
  connection: Connection,
  { message_id = null }: WireMessage,
  more: Partial<LiveDataOf<'handshake_response'>>,
): void {
  const { hub } = connection;
  const { limits, options } = hub;
  const data: LiveDataOf<'handshake_response'> = {
    success: false,
    session_id: null,
    server_info: { name: 'tacho', version: options.version, protocol_version: LIVE_VERSION },
    supported_features: FEATURES,
    max_message_bytes: limits.message_bytes_max,
    heartbeat_interval_ms: limits.heartbeat_ms,
    credits: Math.max(0, connection.credits),
    resume_from_seq: null,
    error: null,
    ...more,
  };
  const ids = { session_id: data.session_id ?? null, correlation_id: message_id };
  if (more.error) options.board?.refused(more.error.error_code as LiveErrorCode);
  connection.say(hub.messageOf('handshake_response', data, ids), data.success);
}
