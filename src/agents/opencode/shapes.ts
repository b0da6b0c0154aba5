/** What kinds of records there are, and what in them belongs to others; the fields themselves are in generated/fields.ts. */
import type { RecordShapes } from '../../model/agent.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

/** Rows of the database and pieces of an export have no type; within records, messages have a role and calls a status. */
function kindOf(value: Readonly<Record<string, unknown>>): string {
  const { type, role, status } = value;
  for (const kind of [type, role, status]) if (typeof kind === 'string') return kind;
  if (value.time_created === undefined) return piece(value);
  if (value.message_id !== undefined) return 'row/part';
  return value.data === undefined ? 'row/session' : 'row/message';
}

const PIECES = ['session', 'message', 'part'];

function piece(value: Readonly<Record<string, unknown>>): string {
  const [name = '', ...more] = Object.keys(value);
  const one = more.length === 0 && typeof value[name] === 'object' && PIECES.includes(name);
  return one ? `export/${name}` : '';
}

export const shapes: RecordShapes = {
  kindOf,
  opaque: ['input', 'metadata', 'permission', 'responseHeaders', 'summary_diffs'],
  stdout: STDOUT,
  session: SESSION,
};
