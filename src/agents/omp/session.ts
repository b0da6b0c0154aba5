/**
 * Location of session files, and their decoder. `PI_CODING_AGENT_DIR` is not used: the CLI shares it with Pi, and the
 * sessions there would be those of both agents.
 */
import { join } from 'node:path';
import { sessionsOf } from '../kit/pi-family/session.ts';
import { homeOf } from '../kit/sessions.ts';

export const session = sessionsOf({
  where: '~/.omp/agent/sessions',
  root: (env) => join(homeOf(env), '.omp', 'agent', 'sessions'),
});
