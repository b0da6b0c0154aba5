/** The agent `copilot`: GitHub Copilot CLI. README.md describes its behaviour and the gaps in its streams. */
import type { RunnableAgent } from '../../model/agent.ts';
import { LIVE } from '../kit/capabilities.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const copilot: RunnableAgent = {
  id: 'copilot',
  title: 'GitHub Copilot CLI',
  binaries: ['copilot'],
  install: 'npm install -g @github/copilot',
  version_args: ['--version'],
  checked_versions: ['1.0.102'],
  capabilities: { ...LIVE, decisions: 'after', usage: 'after', cost: 'never' },
  pricing: { provider: null, reasoning: 'in_output', needs: ['input', 'output', 'cache_read'] },
  approval: {
    default: 'Reads files. Denies edits and commands, because nobody can approve them.',
    edits:
      'Edits files. Denies commands unless `--allow-tool` allows them: `-- --allow-tool="shell(npm test)"`.',
    all: 'Denies nothing.',
  },
  tools,
  secret_env: [
    'COPILOT_GITHUB_TOKEN',
    'COPILOT_PROVIDER_API_KEY',
    'COPILOT_PROVIDER_BEARER_TOKEN',
    'GH_TOKEN',
    'GITHUB_TOKEN',
  ],
  launch,
  stream,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
