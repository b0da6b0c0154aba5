/** The tool table: canonical names, which tacho's own exports contain. Names of other agents pass through. */
import type { ToolTable } from '../../model/agent.ts';
import { CANONICAL_TOOLS } from '../../model/words.ts';

export const tools: ToolTable = {
  rows: CANONICAL_TOOLS.map((tool) => ({ native: tool, tool })),
  passed_through: [],
};
