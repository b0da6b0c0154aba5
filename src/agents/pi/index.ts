/** The agent `pi`: the Pi coding agent. See README.md for what was seen and what its streams leave out. */
import type { Agent } from '../../model/agent.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const pi: Agent = {
  id: 'pi',
  title: 'Pi',
  binaries: ['pi'],
  install: 'npm install -g @earendil-works/pi-coding-agent',
  version_args: ['--version'],
  checked_versions: ['1.5.0', '0.87.1'],
  capabilities: {
    text: 'live',
    text_deltas: 'live',
    thinking: 'live',
    call_requests: 'live',
    call_results: 'live',
    call_starts: 'live',
    exit_codes: 'live',
    decisions: 'never',
    denials: 'live',
    sub_agents: 'live',
    skills: 'live',
    usage: 'live',
    cost: 'live',
    provider_retries: 'live',
    end_record: 'live',
    model: 'live',
    session_id: 'live',
  },
  tools,
  secret_env: [
    'AI_GATEWAY_API_KEY',
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_OAUTH_TOKEN',
    'AWS_BEARER_TOKEN_BEDROCK',
    'AWS_SECRET_ACCESS_KEY',
    'AZURE_OPENAI_API_KEY',
    'CEREBRAS_API_KEY',
    'GEMINI_API_KEY',
    'GROQ_API_KEY',
    'KIMI_API_KEY',
    'MINIMAX_API_KEY',
    'MISTRAL_API_KEY',
    'OPENAI_API_KEY',
    'OPENROUTER_API_KEY',
    'XAI_API_KEY',
    'ZAI_API_KEY',
  ],
  launch,
  stream,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
