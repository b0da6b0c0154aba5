/** Files changed by file tools: from the end record's list, otherwise from the call's input. */

import { asciiBytes } from '../../lib/utf8.ts';
import { trimmedStart } from '../../lib/white-space.ts';
import type { FileOperation } from '../../model/words.ts';
import type { FileChange } from '../kit/drafts.ts';
import { filledOf, isList, nativeOf, type Open, textOf } from '../kit/native.ts';
import type { Asked, Completed } from './records.ts';

type Change = Pick<FileChange, 'path' | 'operation'>;

const PATCH_FILE = /(?:^|[\r\n])\*\*\* (Add|Update|Delete) File: ([^\r\n]+)/g;
/** Operation words in patches and end records. All others modify. */
const OPERATIONS: ReadonlyMap<unknown, FileOperation> = new Map([
  ['create', 'created'],
  ['add', 'created'],
  ['delete', 'deleted'],
  ['remove', 'deleted'],
]);

/** The files named in a patch. */
function patchFiles(patch: string): Change[] {
  return [...patch.matchAll(PATCH_FILE)].map(([, verb = '', path = '']) => ({
    path,
    operation: OPERATIONS.get(verb.toLowerCase()) ?? 'modified',
  }));
}

/** A patch is one text. It is kept whole, with the file's name next to it if there is only one. */
export function patchInput(patch: string): Open {
  const [first, ...others] = patchFiles(patch);
  return first === undefined || others.length > 0 ? { patch } : { patch, filename: first.path };
}

/** From the call alone, for versions that do not list a call's changes. */
function changesByInput({ native_tool, input }: Asked): Change[] {
  const fields = nativeOf(input);
  if (native_tool === 'apply_patch') return patchFiles(textOf(fields?.patch) ?? '');
  const path = filledOf(fields?.path);
  if (path === null) return [];
  if (native_tool === 'create') return [{ path, operation: 'created' }];
  return native_tool === 'edit' ? [{ path, operation: 'modified' }] : [];
}

function changesOf(call: Asked, edits: Completed['fileEdits']): Change[] {
  if (!isList(edits)) return changesByInput(call);
  return edits.flatMap((item) => {
    const edit = nativeOf(item);
    const path = filledOf(edit?.path);
    if (path === null) return [];
    return [{ path, operation: OPERATIONS.get(edit?.kind) ?? 'modified' }];
  });
}

/** The git diff that the tool shows people, on stdout only. */
function diffOf({ result }: Completed): string | null {
  const shown = trimmedStart(textOf(nativeOf(result)?.detailedContent) ?? '');
  return shown.startsWith('diff --git ') ? shown : null;
}

export function filesChanged(call: Asked, data: Completed): FileChange[] {
  const changes = changesOf(call, data.fileEdits);
  const content = call.native_tool === 'create' ? nativeOf(call.input)?.file_text : null;
  const size = typeof content === 'string' ? asciiBytes(content) : null;
  const diff = changes.length === 1 ? diffOf(data) : null;
  return changes.map((change) => ({ ...change, source: 'tool', diff, size }));
}
