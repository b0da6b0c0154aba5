/** What kinds of records there are, and what in them belongs to others; the fields themselves are in generated/fields.ts. */
import type { RecordShapes } from '../../model/agent.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

/** Messages of the app-server have a method; those without one are answers. */
function kindOf({ type, method, id, result }: Readonly<Record<string, unknown>>): string {
  if (typeof type === 'string') return type;
  if (typeof method === 'string') return `server/${method}`;
  return id !== undefined && result !== undefined ? 'server/answer' : '';
}

export const shapes: RecordShapes = {
  kindOf,
  opaque: [
    '_meta',
    'agents_states',
    'arguments',
    'parameters',
    'structuredContent',
    'structured_content',
  ],
  stdout: STDOUT,
  session: SESSION,
};
