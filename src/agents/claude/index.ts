/** The agent `claude`: Claude Code. README.md describes its behaviour and the gaps in its streams. */
import type { RunnableAgent } from '../../model/agent.ts';
import { LIVE } from '../kit/capabilities.ts';
import { approval, caution } from './approval.ts';
import { Talk } from './input.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const claude: RunnableAgent = {
  id: 'claude',
  title: 'Claude Code',
  binaries: ['claude'],
  install: 'npm install -g @anthropic-ai/claude-code',
  version_args: ['--version'],
  checked_versions: ['2.1.325'],
  capabilities: { ...LIVE, call_starts: 'never', usage: 'end', cost: 'end' },
  pricing: {
    provider: 'anthropic',
    reasoning: 'in_output',
    needs: ['input', 'output', 'cache_read', 'cache_write'],
  },
  approval,
  caution,
  tools,
  secret_env: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
  launch,
  stream,
  session,
  input: () => new Talk(),
  shapes: async () => (await import('./shapes.ts')).shapes,
};
