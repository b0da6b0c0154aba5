/** The agent `kimi`: Kimi Code CLI. README.md describes its behaviour and the gaps in its streams. */
import type { RunnableAgent } from '../../model/agent.ts';
import { LIVE } from '../kit/capabilities.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

const APPROVAL =
  'Denies nothing: with a prompt, the CLI approves every call. Hooks of its settings can still block calls.';

export const kimi: RunnableAgent = {
  id: 'kimi',
  title: 'Kimi Code',
  binaries: ['kimi'],
  process_names: ['kimi-code'],
  install: 'npm install -g @moonshot-ai/kimi-code',
  version_args: ['--version'],
  checked_versions: ['2.1.0'],
  capabilities: {
    ...LIVE,
    text_deltas: 'never',
    thinking: 'after',
    call_starts: 'never',
    decisions: 'after',
    denials: 'after',
    sub_agents: 'after',
    usage: 'after',
    cost: 'never',
    model: 'after',
  },
  pricing: {
    provider: 'moonshotai',
    reasoning: 'in_output',
    needs: ['input', 'output', 'cache_read'],
  },
  approval: { default: APPROVAL, edits: 'Same as `default`.', all: 'Same as `default`.' },
  tools,
  secret_env: ['KIMI_API_KEY', 'KIMI_MODEL_API_KEY', 'KIMI_REGISTRY_API_KEY'],
  launch,
  stream,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
