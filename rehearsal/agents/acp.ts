/** The Agent Client Protocol, as Qwen Code speaks it. */
import type { Rehearsed } from './agent.ts';
import { qwen } from './qwen.ts';

const TOYBOX_CALL = { tool: 'mcp__toybox__add_numbers', status: 'error' } as const;

export const acp: Rehearsed = {
  ...qwen,
  id: 'acp',
  takes_input: true,
  args: ['qwen', '--acp', ...(qwen.args ?? [])],
  differs: {
    // The protocol does not report retries.
    'provider-retry': { provider_retries: 0 },
    // The answer is an error, which has no field for tokens.
    'provider-error': { complete: false },
    // A refusal ends the turn.
    denied: {
      exit: 4,
      exit_reason: 'denied',
      calls: [{ tool: 'Bash', status: 'denied' }],
      final_text: 'Deleting.',
    },
    // In this mode the MCP servers of its settings are not available yet at the first prompt.
    mcp: { calls: [TOYBOX_CALL, TOYBOX_CALL] },
  },
};
