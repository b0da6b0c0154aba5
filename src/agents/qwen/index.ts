/** The agent `qwen`: Qwen Code. See README.md for what was seen and what its streams leave out. */
import type { Agent } from '../../model/agent.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const qwen: Agent = {
  id: 'qwen',
  title: 'Qwen Code',
  binaries: ['qwen'],
  install: 'npm install -g @qwen-code/qwen-code',
  version_args: ['--version'],
  checked_versions: ['0.24.4'],
  capabilities: {
    text: 'live',
    text_deltas: 'live',
    thinking: 'live',
    call_requests: 'live',
    call_results: 'live',
    call_starts: 'never',
    exit_codes: 'live',
    decisions: 'after',
    denials: 'live',
    sub_agents: 'live',
    skills: 'live',
    usage: 'live',
    cost: 'never',
    provider_retries: 'after',
    end_record: 'live',
    model: 'live',
    session_id: 'live',
  },
  tools,
  secret_env: [
    'ANTHROPIC_API_KEY',
    'BAILIAN_CODING_PLAN_API_KEY',
    'DASHSCOPE_API_KEY',
    'GEMINI_API_KEY',
    'GOOGLE_API_KEY',
    'OPENAI_API_KEY',
  ],
  launch,
  stream,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
