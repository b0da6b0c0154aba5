/** What successful file tools changed. The result's text is the only word on whether a file was there before. */
import type { DataOf } from '../../model/event.ts';
import { nativeOf, textOf } from './native.ts';

const FILE_TOOLS: ReadonlySet<string> = new Set(['write_file', 'edit', 'replace', 'notebook_edit']);
const OVERWRITTEN = /^Successfully overwrote /;

/** What a call on a file will have done if it succeeds. */
export interface FileCall {
  readonly path: string;
  /** An edit of nothing makes a file; null: the result tells. */
  readonly creates: boolean | null;
}

export function fileCallOf(native_tool: string, input: unknown): FileCall | null {
  if (!FILE_TOOLS.has(native_tool)) return null;
  const fields = nativeOf(input);
  const path = textOf(fields?.file_path) ?? textOf(fields?.notebook_path);
  if (path === null) return null;
  return { path, creates: native_tool === 'write_file' ? null : fields?.old_string === '' };
}

export function fileChanged(
  file: FileCall,
  output: string,
  diff: string | null,
): Omit<DataOf<'file_changed'>, 'call_id'> {
  const created = file.creates ?? !OVERWRITTEN.test(output);
  const operation = created ? 'created' : 'modified';
  return { path: file.path, operation, source: 'tool', diff, size: null };
}
