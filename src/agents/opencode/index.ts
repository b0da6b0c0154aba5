/** The agent `opencode`: OpenCode. README.md describes its behaviour and the gaps in its streams. */
import type { RunnableAgent } from '../../model/agent.ts';
import { LIVE } from '../kit/capabilities.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const opencode: RunnableAgent = {
  id: 'opencode',
  title: 'OpenCode',
  binaries: ['opencode'],
  install: 'npm install -g opencode-ai',
  version_args: ['--version'],
  checked_versions: ['1.18.33'],
  capabilities: {
    ...LIVE,
    text_deltas: 'never',
    call_starts: 'never',
    decisions: 'never',
    sub_agents: 'after',
    provider_retries: 'never',
    end_record: 'never',
    model: 'after',
  },
  approval: {
    default:
      'Follows the rules in its configuration, which allow edits and commands by default. Permission requests are denied.',
    edits: 'Follows the same rules, but always allows edits.',
    all: 'Allows everything that its rules do not deny; permission requests are approved.',
  },
  tools,
  secret_env: ['OPENCODE_API_KEY', 'OPENCODE_SERVER_PASSWORD'],
  launch,
  stream,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
