/** The agent `cline`: Cline's CLI. README.md describes its behaviour and the gaps in its streams. */
import type { RunnableAgent } from '../../model/agent.ts';
import { LIVE } from '../kit/capabilities.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const cline: RunnableAgent = {
  id: 'cline',
  title: 'Cline',
  binaries: ['cline'],
  install: 'npm install -g cline',
  version_args: ['--version'],
  checked_versions: ['3.0.65'],
  capabilities: {
    ...LIVE,
    call_starts: 'never',
    cost: 'never',
    decisions: 'never',
    provider_retries: 'never',
    session_id: 'after',
  },
  pricing: { provider: null, reasoning: 'in_output', needs: ['input', 'output', 'cache_read'] },
  approval: {
    default: 'Denies every tool, including those that only read.',
    edits: 'Same as `default`.',
    all: 'Denies nothing.',
  },
  tools,
  secret_env: ['CLINE_API_KEY'],
  launch,
  stream,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
