/** What kinds of messages there are, and what in them belongs to others; the fields themselves are in generated/fields.ts. */
import type { RecordShapes } from '../../model/agent.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

/** Lines name their direction, messages their method, updates and blocks their kind. */
function kindOf({ dir, method, sessionUpdate, type }: Readonly<Record<string, unknown>>): string {
  const kind = [dir, method, sessionUpdate, type].find((word) => typeof word === 'string');
  return kind === undefined ? '' : String(kind);
}

export const shapes: RecordShapes = {
  kindOf,
  opaque: ['_meta', 'rawInput', 'rawOutput'],
  stdout: STDOUT,
  session: SESSION,
};
