/** The agent `gemini`: Gemini CLI. See README.md for what was seen and what its streams leave out. */
import type { Agent } from '../../model/agent.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const gemini: Agent = {
  id: 'gemini',
  title: 'Gemini CLI',
  binaries: ['gemini'],
  install: 'npm install -g @google/gemini-cli',
  version_args: ['--version'],
  checked_versions: ['0.61.0'],
  capabilities: {
    text: 'live',
    text_deltas: 'live',
    thinking: 'after',
    call_requests: 'live',
    call_results: 'live',
    call_starts: 'never',
    exit_codes: 'after',
    decisions: 'never',
    denials: 'live',
    sub_agents: 'after',
    skills: 'live',
    usage: 'live',
    cost: 'never',
    provider_retries: 'never',
    end_record: 'live',
    model: 'live',
    session_id: 'live',
  },
  tools,
  secret_env: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  launch,
  stream,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
