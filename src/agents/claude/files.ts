/** Files changed by successful file tools. */
import { asciiBytes } from '../../lib/utf8.ts';
import type { FileOperation } from '../../model/words.ts';
import type { FileChange } from '../kit/drafts.ts';
import { countOf, listOf, nativeOf, type Open, textOf } from '../kit/native.ts';

const FILE_TOOLS: ReadonlySet<string> = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit']);

/** The file a file tool works on; null for other tools. */
export function pathOf(native_tool: string, input: unknown): string | null {
  const fields = FILE_TOOLS.has(native_tool) ? nativeOf(input) : null;
  return textOf(fields?.file_path) ?? textOf(fields?.notebook_path);
}

/** Results of sub-agents on stdout lack the structured part. The operation then follows from the tool alone. */
function operationOf(native_tool: string, detail: Open | null): FileOperation {
  if (detail?.type === 'create') return 'created';
  if (detail?.type === 'update') return 'modified';
  if (detail && 'originalFile' in detail) {
    return detail.originalFile === null ? 'created' : 'modified';
  }
  return native_tool === 'Write' ? 'created' : 'modified';
}

/** The tool's own hunks as a unified diff; null if it reports none. */
function diffOf(path: string, detail: Open | null): string | null {
  const lines: string[] = [];
  for (const item of listOf(detail?.structuredPatch)) {
    const hunk = nativeOf(item);
    if (!hunk) continue;
    const [oldStart, oldLines] = [countOf(hunk.oldStart) ?? 0, countOf(hunk.oldLines) ?? 0];
    const [newStart, newLines] = [countOf(hunk.newStart) ?? 0, countOf(hunk.newLines) ?? 0];
    lines.push(`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`);
    for (const line of listOf(hunk.lines)) if (typeof line === 'string') lines.push(line);
  }
  return lines.length === 0 ? null : `--- ${path}\n+++ ${path}\n${lines.join('\n')}\n`;
}

export function fileChanged(native_tool: string, path: string, detail: Open | null): FileChange {
  const content = native_tool === 'Write' ? textOf(detail?.content) : null;
  return {
    path,
    operation: operationOf(native_tool, detail),
    source: 'tool',
    diff: diffOf(path, detail),
    size: content === null ? null : asciiBytes(content),
  };
}
