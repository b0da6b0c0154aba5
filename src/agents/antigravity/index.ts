/** The agent `antigravity`: Google Antigravity, as a CLI and in its editors. Only its transcripts are read. See README.md. */
import type { Agent } from '../../model/agent.ts';
import { NEVER } from '../kit/capabilities.ts';
import { session } from './session.ts';
import { tools } from './tools.ts';

export const antigravity: Agent = {
  id: 'antigravity',
  title: 'Antigravity',
  binaries: ['agy'],
  install: 'https://antigravity.google',
  version_args: ['--version'],
  checked_versions: [],
  capabilities: {
    ...NEVER,
    steps: 'after',
    text: 'after',
    thinking: 'after',
    call_requests: 'after',
    session_id: 'after',
  },
  approval: null,
  tools,
  secret_env: [],
  launch: null,
  stream: null,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
