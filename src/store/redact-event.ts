/** Redacting events: every string of their data, and texts that come in pieces as the texts they are. */
import type { DataOf, Event } from '../model/event.ts';
import type { Redactor } from './redact.ts';

/** An event or a draft of one. */
interface Told {
  kind: string;
  data: object;
}

type Delta =
  | { kind: 'message_delta'; data: DataOf<'message_delta'> }
  | { kind: 'thinking_delta'; data: DataOf<'thinking_delta'> };

/** Streams of a call beside the unnamed one. What is held of them at its end stands in its output too. */
const CALL_STREAMS = ['stdout', 'stderr'];

/** The event with every secret in its data replaced; the same object when there is none. */
export function redactEvent<E extends Told = Event>(event: E, redactor: Redactor): E {
  const stream = streamOf(event);
  if (stream === null || stream.ends) {
    const data = redactor.value(event.data);
    return data === event.data ? event : { ...event, data };
  }
  const { text, ...rest } = event.data as { text: string | null };
  if (text === null) return event;
  const others = redactor.value(rest);
  return { ...event, data: { ...event.data, ...others, text: redactor.delta(stream.key, text) } };
}

/**
 * What was held back of a text that this event ends, as the delta that has to go before it; null when there is
 * nothing. To be called before `redactEvent`.
 */
export function heldDelta(event: Told, redactor: Redactor): Delta | null {
  const stream = streamOf(event);
  if (stream === null || !stream.ends) return null;
  const text = redactor.flush(stream.key);
  if (event.kind === 'call_finished')
    for (const end of CALL_STREAMS) redactor.flush(stream.key + end);
  if (text === '') return null;
  const { message_id = null, parent_call_id = null } = event.data as Partial<
    DataOf<'message_delta'>
  >;
  const data = { message_id, parent_call_id, text };
  if (event.kind === 'message_finished') return { kind: 'message_delta', data };
  return event.kind === 'thinking_finished' ? { kind: 'thinking_delta', data } : null;
}

/** Which text an event is a piece or the end of. */
function streamOf(event: Told): { key: string; ends: boolean } | null {
  const data = event.data as Record<string, unknown>;
  const message = () => `${data.message_id ?? ''}\n${data.parent_call_id ?? ''}`;
  switch (event.kind) {
    case 'message_delta':
    case 'message_finished':
      return { key: `message\n${message()}`, ends: event.kind === 'message_finished' };
    case 'thinking_delta':
    case 'thinking_finished':
      return { key: `thinking\n${message()}`, ends: event.kind === 'thinking_finished' };
    case 'call_progress':
      return { key: `call\n${data.call_id}\n${data.stream ?? ''}`, ends: false };
    case 'call_finished':
      return { key: `call\n${data.call_id}\n`, ends: true };
    default:
      return null;
  }
}
