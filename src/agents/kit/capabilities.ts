/** Default capabilities: everything is known live, unless the agent's folder says otherwise. */
import { CAPABILITY_NAMES, type Capabilities } from '../../model/agent.ts';

export const LIVE = Object.fromEntries(
  CAPABILITY_NAMES.map((name) => [name, 'live']),
) as Capabilities;
