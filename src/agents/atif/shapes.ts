/** Kinds of records, and foreign content in them. The fields are in generated/fields.ts. */
import type { RecordShapes } from '../../model/agent.ts';
import { words } from '../kit/text.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

export const shapes: RecordShapes = {
  kindOf: (value) => ('schema_version' in value ? 'trajectory' : ''),
  opaque: words('arguments tool_definitions'),
  stdout: STDOUT,
  session: SESSION,
};
