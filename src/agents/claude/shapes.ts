/** What kinds of records there are, and what in them belongs to others; the fields themselves are in generated/fields.ts. */
import { wordOf } from '../../lib/foreign.ts';
import { kindBy } from '../../lib/shape.ts';
import type { RecordShapes } from '../../model/agent.ts';
import { words } from '../kit/text.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

const named = kindBy('type', 'subtype');

export const shapes: RecordShapes = {
  /** What the CLI sends to its model is the vendor's: not looked into. */
  kindOf: (value) => (wordOf(value.type).startsWith('api-request') ? '' : named(value)),
  opaque: words(`
    by_type data input input_schema modelUsage model_usage_since_last_result structured_output
    tool_input toolUseResult tool_use_result updatedInput
  `),
  stdout: STDOUT,
  session: SESSION,
  unrecorded: {
    stdout: {
      // The reason that a rule or a hook gives.
      control_request: 'request{decision_reason?}',
      // The host's answer, in a log of both directions.
      control_response: 'response{response{behavior? message?}}',
      // The session file's spelling, which the same function reads; results of the CLI's own tools.
      user: `
        tool_result_meta{permission_decision{reasonType?}} tool_use_result?{type? content? interrupted?
        originalFile? structuredPatch?{oldStart? oldLines? newStart? newLines? lines?}}`,
    },
    session: {
      // Of a request to the model only the model's name is read.
      'api-request': 'type? params?{model?}',
      // As on stdout.
      user: `
        permissionDecision{reason_type?} toolUseResult?{type? content? interrupted? originalFile?
        structuredPatch?{oldStart? oldLines? newStart? newLines? lines?}}`,
    },
  },
};
