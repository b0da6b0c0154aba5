/** Session files: `<home>/session-state/<session>/events.jsonl`; sub-agents are in the same file. Records as on stdout. */
import { join, resolve } from 'node:path';
import { homeOf, sessionFiles } from '../kit/sessions.ts';
import { decoderSince } from './stream.ts';

export const session = sessionFiles({
  where: '~/.copilot/session-state, or $COPILOT_HOME/session-state',
  root(env, cwd) {
    const home = env.COPILOT_HOME ? resolve(cwd, env.COPILOT_HOME) : join(homeOf(env), '.copilot');
    return join(home, 'session-state');
  },
  id: /^[0-9a-zA-Z][0-9a-zA-Z_-]{0,127}$/,
  // Earlier versions kept one file per session.
  names: [
    [/^([0-9a-zA-Z][0-9a-zA-Z_-]{0,127})$/, /^events\.jsonl$/],
    [/^([0-9a-zA-Z][0-9a-zA-Z_-]{0,127})\.jsonl$/],
  ],
  likely: (id) => [join(id, 'events.jsonl'), `${id}.jsonl`],
  decoder: ({ since_ms } = {}) => decoderSince(since_ms),
});
