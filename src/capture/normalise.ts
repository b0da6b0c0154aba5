/**
 * Native names → canonical names (AG-4 … AG-8), using only the agent's table.
 * Contract: native fields are kept next to the canonical ones. An input that cannot be kept is replaced and reported.
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
  const rows = new Map(table.rows.map((row) => [row.native, knownRow(agent_id, row)]));

  return {
    toolName: (native_tool: string | null) => rows.get(native_tool ?? '')?.tool ?? native_tool,
    /** `problems`: the parts of the input that could not be kept. */
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
      const input = row.fields.length === 0 ? given : withCanonicalFields(given, row.fields);
      const command =
        row.tool === 'Bash' ? (input as { command?: unknown } | null)?.command : undefined;
      const reads = typeof command === 'string' ? shellReads(command) : NO_READS;
      return { tool: draft.tool ?? row.tool, row: row.id, input, reads, problems };
    },
  };
}

/** A row of the table, prepared for many calls. `fields`: fields with a different name in the canonical input. */
function knownRow(agent_id: string, { native, tool, fields = {} }: ToolRow) {
  const renamed = Object.entries(fields).filter(([from, to]) => from !== to);
  return { id: `${agent_id}:${native}`, tool, fields: renamed };
}

/** The input as it can be kept, and problems for the rest. */
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

/** As JSON stores it: an infinite number becomes null. */
const asStored = (input: unknown): unknown => JSON.parse(JSON.stringify(input));

function withCanonicalFields(input: unknown, fields: readonly [string, string][]): unknown {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input;
  const native = input as Record<string, unknown>;
  let result: Record<string, unknown> | null = null;
  for (const [from, to] of fields) {
    if (!Object.hasOwn(native, from) || Object.hasOwn(native, to)) continue;
    // A spread keeps a foreign `__proto__` key an ordinary key.
    result = { ...(result ?? native), [to]: native[from] };
  }
  return result ?? input;
}
