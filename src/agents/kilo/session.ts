/** Location of sessions, and their decoder. */
import { sessionsOf } from '../kit/opencode-family/session.ts';
import { tools } from './tools.ts';

export const session = sessionsOf({ name: 'kilo', variable: 'KILO_DB', tools });
