/** Location of session files, and their decoder. */
import { join, resolve } from 'node:path';
import { sessionsOf } from '../kit/pi-family/session.ts';
import { homeOf } from '../kit/sessions.ts';

/** A folder from an environment variable, as the CLI reads it: `~` is the home folder. */
function folderOf(value: string | undefined, home: string): string | null {
  if (value === undefined || value === '') return null;
  if (value === '~') return home;
  return value.startsWith('~/') ? join(home, value.slice(2)) : resolve(value);
}

export const session = sessionsOf({
  where: '~/.pi/agent/sessions, $PI_CODING_AGENT_DIR/sessions or $PI_CODING_AGENT_SESSION_DIR',
  root(env) {
    const home = homeOf(env);
    const agent = folderOf(env.PI_CODING_AGENT_DIR, home) ?? join(home, '.pi', 'agent');
    return folderOf(env.PI_CODING_AGENT_SESSION_DIR, home) ?? join(agent, 'sessions');
  },
});
