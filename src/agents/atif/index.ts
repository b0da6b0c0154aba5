/** The agent `atif`: trajectories of any agent in the Agent Trajectory Interchange Format. See README.md. */
import type { Agent } from '../../model/agent.ts';
import { NEVER } from '../kit/capabilities.ts';
import { session } from './session.ts';
import { tools } from './tools.ts';

export const atif: Agent = {
  id: 'atif',
  title: 'ATIF trajectories',
  binaries: [],
  install: 'tacho import atif FILE…',
  version_args: [],
  checked_versions: ['1.7'],
  capabilities: {
    ...NEVER,
    steps: 'after',
    text: 'after',
    thinking: 'after',
    call_requests: 'after',
    call_results: 'after',
    exit_codes: 'after',
    denials: 'after',
    sub_agents: 'after',
    skills: 'after',
    usage: 'after',
    cost: 'after',
    end_record: 'after',
    model: 'after',
    session_id: 'after',
  },
  approval: null,
  tools,
  secret_env: [],
  launch: null,
  stream: null,
  session,
  shapes: async () => (await import('./shapes.ts')).shapes,
};
