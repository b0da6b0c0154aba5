/** What kinds of records there are, and what in them belongs to others; the fields themselves are in generated/fields.ts. */
import type { RecordShapes } from '../../model/agent.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

/** Messages have a role. */
function kindOf({ type, role }: Readonly<Record<string, unknown>>): string {
  return typeof type === 'string' ? type : typeof role === 'string' ? role : '';
}

export const shapes: RecordShapes = {
  kindOf,
  opaque: [
    'args',
    'arguments',
    'data',
    'details',
    'parameters',
    'sections',
    'structuredContent',
    'toolsAdded',
  ],
  stdout: STDOUT,
  session: SESSION,
  unrecorded: {
    stdout: {
      // Earlier versions.
      auto_compaction_end:
        'result{usage{input output cacheRead cacheWrite reasoning cost{total}}} errorMessage reason',
    },
    session: { branch_summary: 'usage{input output cacheRead cacheWrite reasoning cost{total}}' },
  },
};
