/** The agent `cursor`: Cursor's agent, in the editor and as a CLI. Only its transcripts are read. See README.md. */
import type { Agent } from '../../model/agent.ts';
import { NEVER } from '../kit/capabilities.ts';
import { session } from './session.ts';
import { tools } from './tools.ts';

export const cursor: Agent = {
  id: 'cursor',
  title: 'Cursor',
  binaries: ['cursor-agent'],
  install: 'https://cursor.com/cli',
  version_args: ['--version'],
  checked_versions: [],
  capabilities: {
    ...NEVER,
    steps: 'after',
    text: 'after',
    call_requests: 'after',
    sub_agents: 'after',
    end_record: 'after',
    session_id: 'after',
  },
  approval: null,
  tools,
  secret_env: ['CURSOR_API_KEY'],
  launch: null,
  instead:
    'To run it with tacho, use its ACP server: tacho run --agent acp PROMPT -- cursor-agent acp',
  stream: null,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
