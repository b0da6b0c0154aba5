/** Kinds of records, and foreign content in them. The fields are in generated/fields.ts. */
import type { RecordShapes } from '../../model/agent.ts';
import { nativeOf, textOf } from '../kit/native.ts';
import { words } from '../kit/text.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

function kindOf({ type, role, event }: Readonly<Record<string, unknown>>): string {
  if (role === 'meta') return `meta/${textOf(type) ?? ''}`;
  if (type === 'context.append_loop_event') return `${type}/${textOf(nativeOf(event)?.type) ?? ''}`;
  return textOf(type) ?? textOf(role) ?? '';
}

export const shapes: RecordShapes = {
  kindOf,
  opaque: words('args display entries inputSchema parameters tools usage value'),
  stdout: STDOUT,
  session: SESSION,
};
