/** The agent `acp`: any program that speaks the Agent Client Protocol over stdio. See README.md. */
import type { Agent } from '../../model/agent.ts';
import { LIVE } from '../kit/capabilities.ts';
import { input } from './input.ts';
import { launch } from './launch.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const acp: Agent = {
  id: 'acp',
  title: 'Any ACP agent',
  binaries: [],
  install: 'tacho run --agent acp PROMPT -- PROGRAM [ARGS]',
  version_args: ['--version'],
  checked_versions: ['1'],
  capabilities: { ...LIVE, usage: 'end', cost: 'end', provider_retries: 'never' },
  approval: {
    default: 'Every permission request is denied. The agent decides what it asks for.',
    edits: 'Allows requests to edit, read and search. Denies all others, commands included.',
    all: 'Every permission request is allowed.',
  },
  tools,
  secret_env: [],
  launch,
  stream,
  session: null,
  input,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
