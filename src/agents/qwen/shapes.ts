/** What kinds of records there are, and what in them belongs to others; the fields themselves are in generated/fields.ts. */
import { kindBy } from '../../lib/shape.ts';
import type { RecordShapes } from '../../model/agent.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

export const shapes: RecordShapes = {
  kindOf: kindBy('type', 'subtype'),
  opaque: [
    'args',
    'byName',
    'bySource',
    'fileStates',
    'input',
    'models',
    'resultDisplay',
    'response',
    'stats',
    'tool_input',
    'trackedFileBackups',
    'uiEvent',
  ],
  stdout: STDOUT,
  session: SESSION,
};
