/** The agent `pi`: the Pi coding agent. README.md describes its behaviour and the gaps in its streams. */
import type { RunnableAgent } from '../../model/agent.ts';
import { LIVE } from '../kit/capabilities.ts';
import { words } from '../kit/text.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const pi: RunnableAgent = {
  id: 'pi',
  title: 'Pi',
  binaries: ['pi'],
  install: 'npm install -g @earendil-works/pi-coding-agent',
  version_args: ['--version'],
  checked_versions: ['1.5.0', '0.87.1'],
  capabilities: { ...LIVE, decisions: 'never' },
  approval: {
    default:
      'Denies nothing; there are no permissions. Does not load skills, extensions and settings of the project.',
    edits: 'Same as `default`.',
    all: 'Denies nothing, and trusts the skills, extensions and settings of the project.',
  },
  tools,
  secret_env: words(`
    AI_GATEWAY_API_KEY ANTHROPIC_API_KEY ANTHROPIC_OAUTH_TOKEN AWS_BEARER_TOKEN_BEDROCK
    AWS_SECRET_ACCESS_KEY AZURE_OPENAI_API_KEY CEREBRAS_API_KEY GEMINI_API_KEY GROQ_API_KEY
    KIMI_API_KEY MINIMAX_API_KEY MISTRAL_API_KEY OPENAI_API_KEY OPENROUTER_API_KEY XAI_API_KEY
    ZAI_API_KEY
  `),
  launch,
  stream,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
