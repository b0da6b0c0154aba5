/** Default capabilities: everything is known live, unless the agent's folder says otherwise. */
import { CAPABILITY_NAMES, type Capabilities } from '../../model/agent.ts';

export const LIVE = Object.fromEntries(
  CAPABILITY_NAMES.map((name) => [name, 'live']),
) as Capabilities;

/** For agents that only have session files: nothing is known, unless the agent's folder says otherwise. */
export const NEVER = Object.fromEntries(
  CAPABILITY_NAMES.map((name) => [name, 'never']),
) as Capabilities;
