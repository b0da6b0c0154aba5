/** The agent `codex`: OpenAI's Codex CLI. README.md describes its behaviour and the gaps in its streams. */
import type { RunnableAgent } from '../../model/agent.ts';
import { LIVE } from '../kit/capabilities.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const codex: RunnableAgent = {
  id: 'codex',
  title: 'Codex CLI',
  binaries: ['codex'],
  install: 'npm install -g @openai/codex',
  version_args: ['--version'],
  checked_versions: ['0.166.0'],
  capabilities: {
    ...LIVE,
    steps: 'after',
    text_deltas: 'never',
    decisions: 'never',
    denials: 'after',
    sub_agents: 'after',
    skills: 'after',
    usage: 'end',
    cost: 'never',
    model: 'after',
  },
  pricing: { provider: 'openai', reasoning: 'in_output', needs: ['input', 'output', 'cache_read'] },
  approval: {
    default:
      'Runs commands in a read-only sandbox without network access. Writes fail without a prompt.',
    edits:
      'Commands and edits can write to the working directory and to temporary folders, without network access. Everything else fails.',
    all: 'Denies nothing; there is no sandbox.',
  },
  tools,
  secret_env: ['OPENAI_API_KEY', 'CODEX_API_KEY', 'CODEX_ACCESS_TOKEN'],
  launch,
  stream,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
