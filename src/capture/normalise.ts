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

export interface NormalisedCall {
  tool: string;
  row: string;
  input: unknown;
  reads: string[];
  /** What of the input could not be kept. */
  problems: ProblemCode[];
}

export interface Normaliser {
  toolName(native_tool: string | null): string | null;
  call(draft: CallRequestedDraft): NormalisedCall;
}

const NO_PROBLEMS: ProblemCode[] = [];
const NO_READS: string[] = [];

export function createNormaliser(agent_id: string, table: ToolTable): Normaliser {
  const rows = new Map<string, ToolRow>(table.rows.map((row) => [row.native, row]));

  return {
    toolName: (native_tool) => rows.get(native_tool ?? '')?.tool ?? native_tool,
    call(draft) {
      const name = draft.looked_up_as ?? draft.native_tool;
      const row = rows.get(name);
      const checked = checkValue(draft.input, LIMITS.depth_max, {
        too_deep: false,
        lossy_number: false,
      });
      const problems: ProblemCode[] =
        checked.too_deep || checked.lossy_number
          ? [
              ...(checked.too_deep ? (['too_deep'] as const) : []),
              ...(checked.lossy_number ? (['lossy_number'] as const) : []),
            ]
          : NO_PROBLEMS;
      const native_input = checked.too_deep
        ? {}
        : checked.lossy_number
          ? asStored(draft.input)
          : draft.input;
      if (draft.mcp !== undefined) {
        const tool = `mcp__${draft.mcp.server}__${draft.mcp.tool}`;
        return { tool, row: 'mcp', input: native_input, reads: NO_READS, problems };
      }
      if (row === undefined) {
        const mcp = name.startsWith('mcp__');
        return {
          tool: name,
          row: mcp ? 'mcp' : 'pass',
          input: native_input,
          reads: NO_READS,
          problems,
        };
      }
      const input =
        row.fields === undefined ? native_input : withCanonicalFields(native_input, row.fields);
      const command =
        row.tool === 'Bash' ? (input as { command?: unknown } | null)?.command : undefined;
      const reads = typeof command === 'string' ? shellReads(command) : NO_READS;
      const id = `${agent_id}:${row.native}`;
      return { tool: draft.tool ?? row.tool, row: id, input, reads, problems };
    },
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
