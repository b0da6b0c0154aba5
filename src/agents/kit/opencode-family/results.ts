/** The end of a call and the files it changed, from its last state. */
import { tailOf } from '../../../lib/byte-text.ts';
import { asciiBytes } from '../../../lib/utf8.ts';
import type { DataOf } from '../../../model/event.ts';
import type { CallStatus, FileOperation } from '../../../model/words.ts';
import { codeOf, filledOf, listOf, nativeOf, type Open, textOf } from '../native.ts';
import type { ToolState } from './native.ts';

type Change = Omit<DataOf<'file_changed'>, 'call_id' | 'source'>;

/** Beginnings of refusals, and their source. */
const REFUSALS = [
  ['The user rejected permission to use this specific tool call', 'user'],
  ['The user has specified a rule which prevents you from using this specific tool call', 'rule'],
  ['The user dismissed this question', 'user'],
] as const;
/** After a refusal with advice the run continues, as after a rule. Other refusals end it. */
const ADVICE = 'with the following feedback';
const ABORTED = 'Tool execution aborted';
/** The shell tool appends this to the output of a command that it ended itself. */
const ENDED_BY_TOOL = /<(?:bash|shell)_metadata>\n([^<]*)<\/(?:bash|shell)_metadata>[\t-\r ]*$/;
export const SHELLS: ReadonlySet<string> = new Set(['bash', 'shell']);
const METADATA_CHARS = 1_000;

/** `exit_code`: known from elsewhere. `ends_run`: the call was refused, which ends the run. */
export function resultOf(
  call: { native_tool: string; exit_code: number | null },
  state: ToolState,
) {
  const metadata = nativeOf(state.metadata);
  const shell = SHELLS.has(call.native_tool);
  let status: CallStatus = call.native_tool === 'invalid' ? 'error' : 'ok';
  if (state.status === 'error') {
    const output = textOf(state.error);
    const refused_by = REFUSALS.find(([words]) => output?.startsWith(words))?.[1] ?? null;
    const cancelled = output === ABORTED || metadata?.interrupted === true;
    status = refused_by !== null ? 'denied' : cancelled ? 'cancelled' : 'error';
    const ends_run = refused_by === 'user' && !(output ?? '').includes(ADVICE);
    return { status, exit_code: null, output, refused_by, ends_run };
  }
  const output = textOf(state.output);
  const exit_code = shell ? (codeOf(metadata?.exit) ?? call.exit_code) : null;
  const tail = shell ? tailOf(output ?? '', METADATA_CHARS) : '';
  const note = ENDED_BY_TOOL.exec(tail)?.[1] ?? '';
  if (note.includes('exceeding timeout')) status = 'timeout';
  else if (note.includes('aborted the command')) status = 'cancelled';
  else if (exit_code !== null && exit_code !== 0) status = 'error';
  return { status, exit_code, output, refused_by: null, ends_run: false };
}

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

/** An edit of an empty text creates the file. */
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
