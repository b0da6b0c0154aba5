/** The agent `omp`: oh-my-pi, a variant of Pi. README.md describes its behaviour and the gaps in its streams. */
import type { RunnableAgent } from '../../model/agent.ts';
import { LIVE } from '../kit/capabilities.ts';
import { words } from '../kit/text.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const omp: RunnableAgent = {
  id: 'omp',
  title: 'oh-my-pi',
  binaries: ['omp'],
  install: 'bun install -g @oh-my-pi/pi-coding-agent',
  version_args: ['--version'],
  checked_versions: ['18.2.3'],
  capabilities: {
    ...LIVE,
    decisions: 'never',
    sub_agents: 'never',
    provider_retries: 'never',
  },
  approval: {
    default: 'Tools that need approval are denied: commands, and changes of files.',
    edits: 'Changes of files are allowed. Commands are denied.',
    all: 'Allows everything.',
  },
  tools,
  secret_env: words(`
    ANTHROPIC_API_KEY ANTHROPIC_OAUTH_TOKEN COPILOT_GITHUB_TOKEN GEMINI_API_KEY GROQ_API_KEY
    KILO_API_KEY MISTRAL_API_KEY OMP_AUTH_BROKER_TOKEN OPENAI_API_KEY OPENROUTER_API_KEY
    XAI_API_KEY ZAI_API_KEY
  `),
  launch,
  stream,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
