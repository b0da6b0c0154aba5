/** The agent `grok`: Grok. README.md describes its behaviour and the gaps in its streams. */
import type { RunnableAgent } from '../../model/agent.ts';
import { LIVE } from '../kit/capabilities.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const grok: RunnableAgent = {
  id: 'grok',
  title: 'Grok',
  binaries: ['grok'],
  install: 'npm install -g @xai-official/grok',
  version_args: ['--version'],
  checked_versions: ['1.0.41'],
  capabilities: { ...LIVE, decisions: 'never', cost: 'end', provider_retries: 'after' },
  pricing: { provider: 'x-ai', reasoning: 'in_output', needs: ['input', 'output', 'cache_read'] },
  approval: {
    default:
      'Follows the rules in its configuration. A permission request is refused, and the run ends with it.',
    edits:
      'Edits are allowed. Other permission requests are refused, and the run ends with the first one.',
    all: 'Allows everything that its rules do not deny.',
  },
  tools,
  secret_env: ['XAI_API_KEY', 'GROK_CODE_XAI_API_KEY', 'GROK_DEPLOYMENT_KEY', 'GROK_AGENT_SECRET'],
  launch,
  stream,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
