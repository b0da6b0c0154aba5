/** The agent `kilo`: Kilo, a variant of OpenCode. README.md describes its behaviour and the gaps in its streams. */
import type { RunnableAgent } from '../../model/agent.ts';
import { LIVE } from '../kit/capabilities.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';

export const kilo: RunnableAgent = {
  id: 'kilo',
  title: 'Kilo',
  binaries: ['kilo', 'kilocode'],
  install: 'npm install -g @kilocode/cli',
  version_args: ['--version'],
  checked_versions: ['7.7.9'],
  capabilities: {
    ...LIVE,
    text_deltas: 'never',
    // Only of calls that never ended.
    call_starts: 'after',
    decisions: 'never',
    sub_agents: 'after',
    provider_retries: 'never',
    end_record: 'never',
    model: 'after',
  },
  approval: {
    default:
      'Follows the rules in its configuration. Permission requests are denied, and the run ends with the first one.',
    edits: 'Follows the same rules, but always allows edits.',
    all: 'Allows everything that its rules do not deny; permission requests are approved.',
  },
  tools,
  secret_env: ['KILO_API_KEY', 'KILO_SERVER_PASSWORD', 'KILO_AUTH_CONTENT', 'OPENCODE_API_KEY'],
  launch,
  stream,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
