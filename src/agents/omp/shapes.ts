/** Kinds of records, and foreign content in them: as in the whole family. The fields are in generated/fields.ts. */
import type { RecordShapes } from '../../model/agent.ts';
import { FAMILY } from '../kit/pi-family/shapes.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

export const shapes: RecordShapes = { ...FAMILY, stdout: STDOUT, session: SESSION };
