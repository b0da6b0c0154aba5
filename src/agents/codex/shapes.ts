/** What kinds of records there are, and what in them belongs to others; the fields themselves are in generated/fields.ts. */
import { kindBy } from '../../lib/shape.ts';
import type { RecordShapes } from '../../model/agent.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

export const shapes: RecordShapes = {
  kindOf: kindBy('type'),
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
