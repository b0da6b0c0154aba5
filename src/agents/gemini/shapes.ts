/** Kinds of records, and foreign content in them. The fields are in generated/fields.ts. */
import type { RecordShapes } from '../../model/agent.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

/** Session records without a type: patches, and the first line. */
function kindOf(value: Readonly<Record<string, unknown>>): string {
  if (typeof value.type === 'string') return value.type;
  if (value.$set !== undefined) return '$set';
  return value.projectHash === undefined ? '' : 'session';
}

export const shapes: RecordShapes = {
  kindOf,
  opaque: ['args', 'models', 'parameters', 'response', 'resultDisplay'],
  stdout: STDOUT,
  session: SESSION,
  unrecorded: {
    session: {
      // A message is withdrawn.
      $rewindTo: '$rewindTo?',
      // A model message repeated by a patch has the same fields as in its own line.
      $set: '$set{messages{model? thoughts?* tokens?* toolCalls?*}}',
      error: 'content?',
      info: 'content?',
      warning: 'content?',
      // Results of the CLI's own tools.
      gemini: `
        toolCalls{result{functionResponse{response{error? output?}}} resultDisplay{fileDiff? isNewFile?
        newContent?}}`,
      // Parts with thoughts are not text.
      user: 'content{thought? functionResponse{response{error? output?}}}',
    },
  },
};
