/** Kinds of records, and foreign content in them. The fields are in generated/fields.ts. */
import { kindBy } from '../../lib/shape.ts';
import type { RecordShapes } from '../../model/agent.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

export const shapes: RecordShapes = {
  kindOf: kindBy('t'),
  opaque: ['input'],
  stdout: STDOUT,
  session: SESSION,
  unrecorded: {
    stdout: {
      // Scripts may contain these; none of the recorded ones does.
      call_output: 'ms? stream?',
      file: 'diff?',
      prompt: 'id? partial? synthetic?',
      skill: 'call?',
      text: 'partial? synthetic?',
      think_delta: 't? at? id? text?',
    },
  },
};
