/** Kinds of records, and foreign content in them. The fields are in generated/fields.ts. */
import { wordOf } from '../../lib/foreign.ts';
import { kindBy } from '../../lib/shape.ts';
import type { RecordShapes } from '../../model/agent.ts';
import { words } from '../kit/text.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

const named = kindBy('type', 'subtype');

export const shapes: RecordShapes = {
  /** Requests from the CLI to its model are the vendor's, and not inspected. */
  kindOf: (value) => (wordOf(value.type).startsWith('api-request') ? '' : named(value)),
  opaque: words(`
    by_type data input input_schema modelUsage model_usage_since_last_result structured_output
    tool_input toolUseResult tool_use_result updatedInput
  `),
  stdout: STDOUT,
  session: SESSION,
  unrecorded: {
    stdout: {
      // The reason given by a rule or a hook.
      control_request: 'request{decision_reason?}',
      // The host's answer, in a log of both directions.
      control_response: 'response{response{behavior? message?}}',
      // The session file's spelling, read by the same function; results of the CLI's own tools.
      user: `
        tool_result_meta{permission_decision{reasonType?}} tool_use_result?{type? content? interrupted?
        originalFile? structuredPatch?{oldStart? oldLines? newStart? newLines? lines?}}`,
    },
    session: {
      // Only the model's name is read from a request to the model.
      'api-request': 'type? params?{model?}',
      // As on stdout.
      user: `
        permissionDecision{reason_type?} toolUseResult?{type? content? interrupted? originalFile?
        structuredPatch?{oldStart? oldLines? newStart? newLines? lines?}}`,
    },
  },
};
