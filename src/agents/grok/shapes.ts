/** Kinds of records, and foreign content in them. The fields are in generated/fields.ts. */
import type { RecordShapes } from '../../model/agent.ts';
import { SESSION, STDOUT } from './generated/fields.ts';
import { kindOf } from './native.ts';

export const shapes: RecordShapes = {
  kindOf: (value) => kindOf(value) ?? '',
  opaque: ['rawInput', 'rawOutput', 'modelUsage', 'input', 'details'],
  stdout: STDOUT,
  session: SESSION,
  unrecorded: {
    stdout: {
      // Reported by the API of the vendor.
      end: 'total_cost_usd?',
    },
  },
};
