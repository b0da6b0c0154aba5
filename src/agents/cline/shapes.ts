/** Kinds of records, and foreign content in them. The fields are in generated/fields.ts. */
import type { RecordShapes } from '../../model/agent.ts';
import { nativeOf, textOf } from '../kit/native.ts';
import { words } from '../kit/text.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

function kindOf(value: Readonly<Record<string, unknown>>): string {
  const { type, event, hookEventName } = value;
  if ('messages' in value && 'sessionId' in value) return 'session';
  if (type === 'hook_event') return `hook_event/${textOf(hookEventName) ?? ''}`;
  if (type !== 'agent_event') return textOf(type) ?? '';
  const inner = nativeOf(event);
  const content = textOf(inner?.contentType);
  return `agent_event/${textOf(inner?.type) ?? ''}${content === null ? '' : `-${content}`}`;
}

export const shapes: RecordShapes = {
  kindOf,
  opaque: words('input output'),
  stdout: STDOUT,
  session: SESSION,
};
