/** The agent `codex`: OpenAI's Codex CLI. See README.md for what was seen and what its streams leave out. */
import type { Agent } from '../../model/agent.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const codex: Agent = {
  id: 'codex',
  title: 'Codex CLI',
  binaries: ['codex'],
  install: 'npm install -g @openai/codex',
  version_args: ['--version'],
  checked_versions: ['0.166.0'],
  capabilities: {
    text: 'live',
    text_deltas: 'never',
    thinking: 'live',
    call_requests: 'live',
    call_results: 'live',
    call_starts: 'live',
    exit_codes: 'live',
    decisions: 'never',
    denials: 'after',
    sub_agents: 'after',
    skills: 'after',
    usage: 'live',
    cost: 'never',
    provider_retries: 'live',
    end_record: 'live',
    model: 'after',
    session_id: 'live',
  },
  tools,
  secret_env: ['OPENAI_API_KEY', 'CODEX_API_KEY', 'CODEX_ACCESS_TOKEN'],
  launch,
  stream,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
