/**
 * Native names → canonical names (AG-4 … AG-8), by the agent's table and nothing else.
 * Contract: native fields stay beside the canonical ones; an input that cannot be kept is replaced and said.
 */
import { checkValue } from '../lib/json.ts';
import { LIMITS } from '../lib/limits.ts';
import { shellReads } from '../lib/shell-reads.ts';
import type { ToolRow, ToolTable } from '../model/agent.ts';
import type { CallRequestedDraft } from '../model/draft.ts';
import type { ProblemCode } from '../model/words.ts';

export type Normaliser = ReturnType<typeof createNormaliser>;

const NO_PROBLEMS: ProblemCode[] = [];
const NO_READS: string[] = [];

export function createNormaliser(agent_id: string, table: ToolTable) {
  const rows = new Map<string, ToolRow>(table.rows.map((row) => [row.native, row]));

  return {
    toolName: (native_tool: string | null) => rows.get(native_tool ?? '')?.tool ?? native_tool,
    /** `problems`: what of the input could not be kept. */
    call(draft: CallRequestedDraft) {
      const { mcp, looked_up_as, native_tool } = draft;
      const name = looked_up_as ?? native_tool;
      const { input: given, problems } = keptInput(draft.input);
      const row = mcp === undefined ? rows.get(name) : undefined;
      if (row === undefined) {
        const tool = mcp === undefined ? name : `mcp__${mcp.server}__${mcp.tool}`;
        const by = mcp !== undefined || name.startsWith('mcp__') ? 'mcp' : 'pass';
        return { tool, row: by, input: given, reads: NO_READS, problems };
      }
      const input = row.fields === undefined ? given : withCanonicalFields(given, row.fields);
      const command =
        row.tool === 'Bash' ? (input as { command?: unknown } | null)?.command : undefined;
      const reads = typeof command === 'string' ? shellReads(command) : NO_READS;
      const id = `${agent_id}:${row.native}`;
      return { tool: draft.tool ?? row.tool, row: id, input, reads, problems };
    },
  };
}

/** The input as it can be kept, and what could not be. */
function keptInput(input: unknown): { input: unknown; problems: ProblemCode[] } {
  const found = { too_deep: false, lossy_number: false };
  checkValue(input, LIMITS.depth_max, found);
  if (!found.too_deep && !found.lossy_number) return { input, problems: NO_PROBLEMS };
  const codes = ['too_deep', 'lossy_number'] as const;
  return {
    input: found.too_deep ? {} : asStored(input),
    problems: codes.filter((code) => found[code]),
  };
}

/** As JSON has it: an infinite number is null there. */
const asStored = (input: unknown): unknown => JSON.parse(JSON.stringify(input));

function withCanonicalFields(input: unknown, fields: Readonly<Record<string, string>>): unknown {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input;
  const native = input as Record<string, unknown>;
  let result: Record<string, unknown> | null = null;
  for (const [from, to] of Object.entries(fields)) {
    if (from === to || !Object.hasOwn(native, from) || Object.hasOwn(native, to)) continue;
    // A spread keeps a foreign `__proto__` key an ordinary key.
    result = { ...(result ?? native), [to]: native[from] };
  }
  return result ?? input;
}
