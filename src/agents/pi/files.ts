/** What successful file tools changed. */
import { LIMITS } from '../../lib/limits.ts';
import type { DataOf } from '../../model/event.ts';
import { type Native, nativeOf, textOf } from './native.ts';

const FILE_TOOLS: ReadonlySet<string> = new Set(['read', 'write', 'edit']);
const BEYOND_ASCII = /[^\u0000-\u007f]/;

export interface FileUse {
  readonly tool: string;
  readonly path: string;
  /** Of a write, where the text alone tells it. */
  readonly size: number | null;
}

/** The file a file tool works on; null for other tools. */
export function fileUse(tool: string, input: unknown): FileUse | null {
  const fields = FILE_TOOLS.has(tool) ? nativeOf(input) : null;
  const path = textOf(fields?.path) ?? textOf(fields?.file_path);
  if (path === null || path === '') return null;
  const content = tool === 'write' ? textOf(fields?.content) : null;
  // Beyond ASCII the length in bytes depends on how the text was read.
  const size = content === null || BEYOND_ASCII.test(content) ? null : content.length;
  return { tool, path, size };
}

/** Remembers which files were there: the CLI does not say whether a write created its file. */
export class Files {
  readonly #seen = new Set<string>();

  succeeded(use: FileUse, details: Native | null): Omit<DataOf<'file_changed'>, 'call_id'> | null {
    const known = this.#seen.has(use.path);
    if (this.#seen.size < LIMITS.artifacts_max) this.#seen.add(use.path);
    if (use.tool === 'read') return null;
    const operation = use.tool === 'edit' || known ? 'modified' : 'created';
    const diff = use.tool === 'edit' ? textOf(details?.patch) : null;
    return { path: use.path, operation, source: 'tool', diff, size: use.size };
  }
}
