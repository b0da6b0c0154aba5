/** What kinds of records there are, and what in them belongs to others; the fields themselves are in generated/fields.ts. */
import type { RecordShapes } from '../../model/agent.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

/** Records of the session file without a type: what changed in it, and its first line. */
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
      // A message is taken back.
      $rewindTo: '$rewindTo?',
      // A message of the model that a patch repeats has the same fields as in a line of its own.
      $set: '$set{messages{model? thoughts?* tokens?* toolCalls?*}}',
      error: 'content?',
      info: 'content?',
      warning: 'content?',
      // Results of the CLI's own tools.
      gemini: `
        toolCalls{result{functionResponse{response{error? output?}}} resultDisplay{fileDiff? isNewFile?
        newContent?}}`,
      // Parts that are thoughts are no text.
      user: 'content{thought? functionResponse{response{error? output?}}}',
    },
  },
};
