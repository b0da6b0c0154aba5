/** The names of all agents' tools, for checking expectations. */
import { allAgents } from '../../agents/registry.ts';
import type { ToolNames } from '../../evals/files/tool-names.ts';

export async function toolNames(): Promise<ToolNames> {
  const tables = (await allAgents()).map(({ tools }) => tools);
  const rows = tables.flatMap((table) => table.rows);
  return {
    kept: new Set(tables.flatMap((table) => table.passed_through)),
    renamed: new Map(rows.map(({ native, tool }) => [native, tool])),
  };
}
