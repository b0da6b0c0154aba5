/** Kinds of records, and foreign content in them. The fields are in generated/fields.ts. */
import type { RecordShapes } from '../../model/agent.ts';
import { textOf } from '../kit/native.ts';
import { words } from '../kit/text.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

export const shapes: RecordShapes = {
  kindOf: ({ role, type }) => textOf(role) ?? textOf(type) ?? '',
  opaque: words('input'),
  stdout: STDOUT,
  session: SESSION,
};
