/** The agent `opencode`: OpenCode. See README.md for what was seen and what its streams leave out. */
import type { Agent } from '../../model/agent.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { records } from './stream.ts';
import { tools } from './tools.ts';

export const opencode: Agent = {
  id: 'opencode',
  title: 'OpenCode',
  binaries: ['opencode'],
  install: 'npm install -g opencode-ai',
  version_args: ['--version'],
  checked_versions: ['1.18.33'],
  capabilities: {
    text: 'live',
    text_deltas: 'never',
    thinking: 'live',
    call_requests: 'live',
    call_results: 'live',
    call_starts: 'never',
    exit_codes: 'live',
    decisions: 'never',
    denials: 'live',
    sub_agents: 'after',
    skills: 'live',
    usage: 'live',
    cost: 'live',
    provider_retries: 'never',
    end_record: 'never',
    model: 'after',
    session_id: 'live',
  },
  tools,
  secret_env: ['OPENCODE_API_KEY', 'OPENCODE_SERVER_PASSWORD'],
  launch,
  stream: () => records(),
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
