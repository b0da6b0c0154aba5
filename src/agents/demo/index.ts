/** The demo agent: built in, plays a story, needs neither a model nor a network. */
import type { Agent } from '../../model/agent.ts';
import { launch } from './launch.ts';
import { session } from './session.ts';
import { stream } from './stream.ts';
import { tools } from './tools.ts';
import { DEMO_VERSION } from './words.ts';

export const demo: Agent = {
  id: 'demo',
  title: 'Demo (built in)',
  binaries: [],
  install: 'built in: nothing to install',
  version_args: [],
  checked_versions: [DEMO_VERSION],
  capabilities: {
    text: 'live',
    text_deltas: 'live',
    thinking: 'live',
    call_requests: 'live',
    call_results: 'live',
    call_starts: 'live',
    exit_codes: 'live',
    decisions: 'live',
    denials: 'live',
    sub_agents: 'live',
    skills: 'live',
    usage: 'live',
    cost: 'live',
    provider_retries: 'live',
    end_record: 'live',
    model: 'live',
    session_id: 'live',
  },
  tools,
  secret_env: [],
  launch,
  stream,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
