/** Forwards input of clients to the agent of a session, and the agent's answer back (LP-14). */
import type { WireMessage } from '../protocol/messages.ts';
import type { Connection } from './hub.ts';

export function forward(from: Connection, message: WireMessage, text: string): void {
  const { hub } = from;
  const session = hub.sessions.get(message.session_id ?? '');
  const owner = session?.owner ?? null;
  if (session === undefined || owner === null || session.status !== 'active') {
    const details = {
      current_state: session?.status ?? 'unknown',
      allowed_states: ['active'],
      attempted_input_type: message.type,
    };
    const why = 'the agent of this session is not connected';
    from.complain('INPUT_INJECTION_RESTRICTED', why, { about: message, details });
    return;
  }
  if (!owner.has_room) {
    const why = 'the agent of this session does not read: try again later';
    from.complain('CAPACITY_EXHAUSTED', why, { about: message });
    return;
  }
  hub.counters.forwarded += 1;
  const route = routeOf(owner, message.message_id ?? '');
  hub.routes.set(route, from);
  owner.write(text);
}

/** Only the agent that received a message can answer it. */
const routeOf = (agent: Connection, message_id: string) => `${agent.id}\n${message_id}`;

/** Sends an agent's error about a forwarded message to the client that sent the message, once. */
export function routeAnswer(agent: Connection, message: WireMessage, text: string): void {
  const { routes } = agent.hub;
  const { caused_by } = message.data as { caused_by?: { message_id?: string | null } | null };
  const id = caused_by?.message_id;
  if (id === null || id === undefined) return;
  const route = routeOf(agent, id);
  const to = routes.get(route);
  routes.delete(route);
  if (to?.phase === 'open') to.write(text);
}
