/** What successful file tools changed. */
import { own } from '../../lib/own.ts';
import { asciiBytes } from '../../lib/utf8.ts';
import type { DataOf } from '../../model/event.ts';
import type { FileOperation } from '../../model/words.ts';
import { filledOf, listOf, type Native, nativeOf, textOf } from './native.ts';

export type Change = Omit<DataOf<'file_changed'>, 'call_id' | 'source'>;

const PATCH_OPERATIONS: Readonly<Record<string, FileOperation>> = {
  add: 'created',
  update: 'modified',
  delete: 'deleted',
};

const change = (
  path: string,
  operation: FileOperation,
  diff: string | null,
  size: number | null,
): Change => ({ path, operation, diff, size });

function written(input: Native | null, metadata: Native | null): Change[] {
  const path = filledOf(metadata?.filepath) ?? filledOf(input?.filePath);
  if (path === null) return [];
  const content = textOf(input?.content);
  const operation = metadata?.exists === true ? 'modified' : 'created';
  return [change(path, operation, null, content === null ? null : asciiBytes(content))];
}

/** An edit of nothing into something makes the file. */
function edited(input: Native | null, metadata: Native | null): Change[] {
  const filediff = nativeOf(metadata?.filediff);
  const path = filledOf(filediff?.file) ?? filledOf(input?.filePath);
  if (path === null) return [];
  const diff = textOf(filediff?.patch) ?? textOf(metadata?.diff);
  const made = input?.oldString === '' && (diff === null || diff.includes('\n@@ -0,0 '));
  return [change(path, made ? 'created' : 'modified', diff, null)];
}

function patched(metadata: Native | null): Change[] {
  return listOf(metadata?.files).flatMap((item) => {
    const file = nativeOf(item);
    const path = filledOf(file?.filePath) ?? filledOf(file?.relativePath);
    if (path === null) return [];
    const diff = textOf(file?.patch);
    const target = filledOf(file?.movePath);
    if (target !== null && target !== path) {
      return [change(path, 'deleted', null, null), change(target, 'created', diff, null)];
    }
    return [
      change(path, own(PATCH_OPERATIONS, textOf(file?.type) ?? '') ?? 'modified', diff, null),
    ];
  });
}

export function changesOf(
  native_tool: string,
  input: Native | null,
  metadata: Native | null,
): Change[] {
  switch (native_tool) {
    case 'write':
      return written(input, metadata);
    case 'edit':
    case 'multiedit':
      return edited(input, metadata);
    case 'apply_patch':
    case 'patch':
      return patched(metadata);
    default:
      return [];
  }
}

/** Whether a patch only adds files; such a call is a Write. */
export function onlyAdds(patch: unknown): boolean {
  const text = textOf(patch) ?? '';
  return /^\*\*\* Add File: /m.test(text) && !/^\*\*\* (Update|Delete) File: /m.test(text);
}
