/** The agent `acp`: any program that speaks the Agent Client Protocol over stdio. See README.md. */
import type { RunnableAgent } from '../../model/agent.ts';
import { LIVE } from '../kit/capabilities.ts';
import { input } from './input.ts';
import { launch } from './launch.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const acp: RunnableAgent = {
  id: 'acp',
  title: 'Any ACP agent',
  binaries: [],
  install: 'tacho run --agent acp PROMPT -- PROGRAM [ARGS]',
  version_args: ['--version'],
  checked_versions: ['1'],
  capabilities: { ...LIVE, usage: 'end', cost: 'end', provider_retries: 'never' },
  approval: {
    default: 'Denies every permission request. The agent decides what needs permission.',
    edits: 'Allows requests to edit, read and search. Denies all others, including commands.',
    all: 'Allows every permission request.',
  },
  tools,
  secret_env: [],
  launch,
  stream,
  session: null,
  input,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
