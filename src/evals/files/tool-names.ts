/**
 * Checks names of tools in expectations. A misspelt name would fail without a clear reason, so each name must be known:
 * canonical, of an MCP server (`mcp__…`), a native name that appears in records, or listed under `tools` in the file.
 */
import { type Place, quoted } from '../../lib/schema/mistakes.ts';
import { nearestWord } from '../../lib/schema/read.ts';
import { CANONICAL_TOOLS } from '../../model/words.ts';

export interface ToolNames {
  /** Native names that appear in records unchanged. */
  kept: ReadonlySet<string>;
  /** Native name → canonical name that appears in records instead. */
  renamed: ReadonlyMap<string, string>;
}

export interface NamedTool {
  name: string;
  place: Place;
}

const CANONICAL: ReadonlySet<string> = new Set(CANONICAL_TOOLS);

const isPlain = (name: string) => CANONICAL.has(name) || name.startsWith('mcp__');

/** `names` is called only if a name is neither canonical nor of an MCP server. */
export async function checkToolNames(
  named: readonly NamedTool[],
  listed: readonly string[],
  names: () => Promise<ToolNames>,
): Promise<void> {
  const open = named.filter(({ name }) => !isPlain(name) && !listed.includes(name));
  if (open.length === 0) return;
  const known = await names();
  for (const { name, place } of open)
    if (!known.kept.has(name)) place.mistake(() => mistakeIn(name, known, listed), ': ');
}

function mistakeIn(name: string, { kept, renamed }: ToolNames, listed: readonly string[]): string {
  const canonical = renamed.get(name);
  if (canonical !== undefined)
    return `${quoted(name)} is an agent's own name for ${canonical}: use ${canonical}, the name in records`;
  const all = [...CANONICAL_TOOLS, ...listed, ...kept];
  const same = all.find((one) => one.toLowerCase() === name.toLowerCase());
  const near = same ?? nearestWord(name, all);
  const hint =
    near === undefined
      ? `expected one of: ${CANONICAL_TOOLS.join(', ')}.`
      : `did you mean ${near}?`;
  return `unknown tool ${quoted(name)}; ${hint} List tools of your own under tools: in this file`;
}
