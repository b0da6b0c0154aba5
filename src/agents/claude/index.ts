/** The agent `claude`: Claude Code. See README.md for what was seen and what its streams leave out. */
import type { Agent } from '../../model/agent.ts';
import { input } from './input.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const claude: Agent = {
  id: 'claude',
  title: 'Claude Code',
  binaries: ['claude'],
  install: 'npm install -g @anthropic-ai/claude-code',
  version_args: ['--version'],
  checked_versions: ['2.1.325'],
  capabilities: {
    text: 'live',
    text_deltas: 'live',
    thinking: 'live',
    call_requests: 'live',
    call_results: 'live',
    call_starts: 'never',
    exit_codes: 'live',
    decisions: 'live',
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
  secret_env: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
  launch,
  stream,
  session,
  input,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
