/** The agent `gemini`: Gemini CLI. README.md describes its behaviour and the gaps in its streams. */
import type { RunnableAgent } from '../../model/agent.ts';
import { LIVE } from '../kit/capabilities.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const gemini: RunnableAgent = {
  id: 'gemini',
  title: 'Gemini CLI',
  binaries: ['gemini'],
  install: 'npm install -g @google/gemini-cli',
  version_args: ['--version'],
  checked_versions: ['0.61.0'],
  capabilities: {
    ...LIVE,
    thinking: 'after',
    call_starts: 'never',
    exit_codes: 'after',
    decisions: 'never',
    sub_agents: 'after',
    usage: 'end',
    cost: 'never',
    provider_retries: 'never',
  },
  pricing: {
    provider: 'google',
    reasoning: 'beside',
    needs: ['input', 'output', 'cache_read', 'reasoning'],
  },
  approval: {
    default:
      'Reads files. Tools that edit files or run commands are not offered to the model; calls to them fail.',
    edits: 'Edits files. The tool that runs commands is not offered to the model.',
    all: 'Denies nothing.',
  },
  tools,
  secret_env: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  launch,
  stream,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
