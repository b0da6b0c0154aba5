/** Location of sessions, and their decoder. */
import { sessionsOf } from '../kit/opencode-family/session.ts';
import { tools } from './tools.ts';

export const session = sessionsOf({ name: 'opencode', variable: 'OPENCODE_DB', tools });
