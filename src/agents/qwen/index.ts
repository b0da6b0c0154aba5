/** The agent `qwen`: Qwen Code. README.md describes its behaviour and the gaps in its streams. */
import type { RunnableAgent } from '../../model/agent.ts';
import { LIVE } from '../kit/capabilities.ts';
import { words } from '../kit/text.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const qwen: RunnableAgent = {
  id: 'qwen',
  title: 'Qwen Code',
  binaries: ['qwen'],
  install: 'npm install -g @qwen-code/qwen-code',
  version_args: ['--version'],
  checked_versions: ['0.24.4'],
  capabilities: {
    ...LIVE,
    call_starts: 'never',
    decisions: 'after',
    cost: 'never',
    provider_retries: 'after',
  },
  pricing: { provider: null, reasoning: 'in_output', needs: ['input', 'output'] },
  approval: {
    default: 'Reads files. Denies edits and commands, because nobody can approve them.',
    edits: 'Edits files. Denies commands.',
    all: 'Denies nothing.',
  },
  tools,
  secret_env: words(`
    ANTHROPIC_API_KEY BAILIAN_CODING_PLAN_API_KEY DASHSCOPE_API_KEY GEMINI_API_KEY GOOGLE_API_KEY
    OPENAI_API_KEY
  `),
  launch,
  stream,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
