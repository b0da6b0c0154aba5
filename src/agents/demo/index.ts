/** The demo agent: built in, plays a story, needs neither a model nor a network. */
import type { RunnableAgent } from '../../model/agent.ts';
import { LIVE } from '../kit/capabilities.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';
import { DEMO_VERSION } from './words.ts';

export const demo: RunnableAgent = {
  id: 'demo',
  title: 'Demo (built in)',
  binaries: [],
  install: 'built in: nothing to install',
  version_args: [],
  checked_versions: [DEMO_VERSION],
  capabilities: LIVE,
  pricing: { provider: null, reasoning: 'in_output', needs: ['input', 'output'] },
  approval: {
    default: 'Denies nothing; there are no permissions.',
    edits: 'Same as `default`.',
    all: 'Same as `default`.',
  },
  tools,
  secret_env: [],
  launch,
  stream,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
