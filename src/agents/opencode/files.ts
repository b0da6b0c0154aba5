/** File changes by successful calls. */
import { asciiBytes } from '../../lib/utf8.ts';
import type { DataOf } from '../../model/event.ts';
import type { FileOperation } from '../../model/words.ts';
import { filledOf, listOf, nativeOf, type Open, textOf } from '../kit/native.ts';

type Change = Omit<DataOf<'file_changed'>, 'call_id' | 'source'>;

const PATCH_OPERATIONS: ReadonlyMap<unknown, FileOperation> = new Map([
  ['add', 'created'],
  ['delete', 'deleted'],
]);

function written(input: Open | null, metadata: Open | null): Change[] {
  const path = filledOf(metadata?.filepath) ?? filledOf(input?.filePath);
  if (path === null) return [];
  const content = textOf(input?.content);
  const operation = metadata?.exists === true ? 'modified' : 'created';
  return [{ path, operation, diff: null, size: content === null ? null : asciiBytes(content) }];
}

/** An edit of nothing into something makes the file. */
function edited(input: Open | null, metadata: Open | null): Change[] {
  const filediff = nativeOf(metadata?.filediff);
  const path = filledOf(filediff?.file) ?? filledOf(input?.filePath);
  if (path === null) return [];
  const diff = textOf(filediff?.patch) ?? textOf(metadata?.diff);
  const made = input?.oldString === '' && (diff === null || diff.includes('\n@@ -0,0 '));
  return [{ path, operation: made ? 'created' : 'modified', diff, size: null }];
}

function patched(_input: Open | null, metadata: Open | null): Change[] {
  return listOf(metadata?.files).flatMap((item): Change[] => {
    const file = nativeOf(item);
    const path = filledOf(file?.filePath) ?? filledOf(file?.relativePath);
    if (path === null) return [];
    const [diff, size] = [textOf(file?.patch), null];
    const target = filledOf(file?.movePath);
    if (target === null || target === path) {
      const operation = PATCH_OPERATIONS.get(file?.type) ?? 'modified';
      return [{ path, operation, diff, size }];
    }
    const gone = { path, operation: 'deleted', diff: null, size } as const;
    return [gone, { path: target, operation: 'created', diff, size }];
  });
}

const TOOLS: ReadonlyMap<string, typeof written> = new Map([
  ['write', written],
  ['edit', edited],
  ['multiedit', edited],
  ['apply_patch', patched],
  ['patch', patched],
]);

export function changesOf(tool: string, input: Open | null, metadata: Open | null): Change[] {
  return TOOLS.get(tool)?.(input, metadata) ?? [];
}
