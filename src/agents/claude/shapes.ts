/** What kinds of records there are, and what in them belongs to others; the fields themselves are in generated/fields.ts. */
import { wordOf } from '../../lib/foreign.ts';
import { kindBy } from '../../lib/shape.ts';
import type { RecordShapes } from '../../model/agent.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

const named = kindBy('type', 'subtype');

export const shapes: RecordShapes = {
  /** What the CLI sends to its model is the vendor's: not looked into. */
  kindOf: (value) => (wordOf(value.type).startsWith('api-request') ? '' : named(value)),
  opaque: [
    'by_type',
    'data',
    'input',
    'input_schema',
    'modelUsage',
    'model_usage_since_last_result',
    'structured_output',
    'tool_input',
    'toolUseResult',
    'tool_use_result',
    'updatedInput',
  ],
  stdout: STDOUT,
  session: SESSION,
  unrecorded: {
    stdout: {
      // The host's answer is on its way in; recordings of both directions are not kept.
      control_response: 'response{response{behavior message}}',
      control_request: 'request{decision_reason}',
    },
    session: {
      // Not looked into, apart from the model.
      'api-request': 'params{model}',
    },
  },
};
