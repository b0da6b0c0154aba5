/** Input of clients on its way to the agent of a session, and the agent's answer on its way back (LP-14). */
import { LIMITS } from '../../lib/limits.ts';
import type { WireMessage } from '../protocol/messages.ts';
import { type Connection, complain, type Hub, hasRoom, write } from './hub.ts';

export function forward(hub: Hub, from: Connection, message: WireMessage, text: string): void {
  const session = hub.sessions.get(message.session_id ?? '');
  const owner = session?.owner ?? null;
  if (session === undefined || owner === null || session.status !== 'active') {
    complain(hub, from, 'INPUT_INJECTION_RESTRICTED', {
      message: 'no agent of this session is connected',
      about: message,
      details: {
        current_state: session?.status ?? 'unknown',
        allowed_states: ['active'],
        attempted_input_type: message.type,
      },
    });
    return;
  }
  if (!hasRoom(hub, owner)) {
    const why = 'the agent of this session does not read: try again later';
    complain(hub, from, 'CAPACITY_EXHAUSTED', { message: why, about: message });
    return;
  }
  hub.counters.forwarded += 1;
  remember(hub, routeOf(owner, message.message_id ?? ''), from);
  write(hub, owner, text);
}

/** Only the agent that was given a message can answer it. */
const routeOf = (agent: Connection, message_id: string) => `${agent.id}\n${message_id}`;

function remember({ routes }: Hub, route: string, from: Connection): void {
  routes.delete(route);
  routes.set(route, from);
  if (routes.size <= LIMITS.live_routes_max) return;
  for (const oldest of routes.keys()) {
    routes.delete(oldest);
    return;
  }
}

/** An agent's error about a message that was forwarded to it goes to whoever sent that, once. */
export function routeAnswer(hub: Hub, agent: Connection, message: WireMessage, text: string): void {
  const { caused_by } = message.data as { caused_by?: { message_id?: string | null } | null };
  const id = caused_by?.message_id;
  if (id === null || id === undefined) return;
  const route = routeOf(agent, id);
  const to = hub.routes.get(route);
  hub.routes.delete(route);
  if (to !== undefined && to.phase === 'open') write(hub, to, text);
}
