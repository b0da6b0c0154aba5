/** File changes, from the text of a patch and from the CLI's items. */
import { asciiBytes } from '../../lib/utf8.ts';
import type { FileOperation } from '../../model/words.ts';
import type { Drafts } from '../kit/drafts.ts';
import { nativeOf, textOf } from '../kit/native.ts';
import type { Change, Item } from './native.ts';

export interface FileChange {
  readonly path: string;
  readonly kind: 'add' | 'update' | 'delete';
  /** The file's new path if an update moves it. */
  to: string | null;
  /** The whole text of an added file, if known. */
  content: string | null;
  readonly diff: string | null;
}

const HEADER = /^\*\*\* (Add|Update|Delete) File: ([^\r\n]+)\r?$/;
const MOVE = /^\*\*\* Move to: ([^\r\n]+)\r?$/;
const OPERATIONS: Readonly<Record<FileChange['kind'], FileOperation>> = {
  add: 'created',
  update: 'modified',
  delete: 'deleted',
};

export function changesOfPatch(patch: string): FileChange[] {
  const changes: FileChange[] = [];
  let open: FileChange | null = null;
  for (const line of patch.split('\n')) {
    const marked = line.startsWith('*** ');
    const header = marked ? HEADER.exec(line) : null;
    if (header !== null) {
      const kind = (header[1] as string).toLowerCase() as FileChange['kind'];
      const content = kind === 'add' ? '' : null;
      open = { path: header[2] as string, kind, to: null, content, diff: null };
      changes.push(open);
    } else if (line.startsWith('*** End Patch')) {
      open = null;
    } else if (open !== null) {
      const move = marked ? MOVE.exec(line) : null;
      if (move !== null) open.to = move[1] as string;
      else if (open.content !== null && line.startsWith('+')) open.content += `${line.slice(1)}\n`;
    }
  }
  return changes;
}

/** `changes` of an item: a list of `{path, kind}`, or an object of changes by path. */
export function changesOfItem(value: Item['changes']): FileChange[] {
  const found = Array.isArray(value)
    ? value.map((entry) => changeOf(null, entry))
    : Object.entries(nativeOf(value) ?? {}).map(([path, entry]) => changeOf(path, entry));
  return found.filter((change) => change !== null);
}

function changeOf(name: string | null, entry: unknown): FileChange | null {
  const change: Change | null = nativeOf(entry);
  const detail = nativeOf(change?.kind);
  const path = name ?? textOf(change?.path);
  const kind = name === null ? (textOf(change?.kind) ?? textOf(detail?.type)) : change?.type;
  if (path === null || (kind !== 'add' && kind !== 'update' && kind !== 'delete')) return null;
  const to = textOf(change?.move_path) ?? textOf(detail?.move_path);
  // For an added or deleted file the app-server's "diff" is the complete text.
  const said = detail === null ? null : textOf(change?.diff);
  const content = kind === 'add' ? (textOf(change?.content) ?? said) : null;
  const hunks = textOf(change?.unified_diff) ?? (kind === 'update' ? said : null);
  const bare = hunks !== null && !hunks.startsWith('---');
  const diff = bare ? `--- ${path}\n+++ ${to ?? path}\n${hunks}` : hunks;
  return { path, kind, to, content, diff };
}

/** Canonical fields of a patch: the path if it has only one file, and the content if that file is new. */
export function fieldsOf(changes: readonly FileChange[]): { file_path?: string; content?: string } {
  const [change, more] = changes;
  if (change === undefined || more !== undefined) return {};
  if (change.content === null) return { file_path: change.path };
  return { file_path: change.path, content: change.content };
}

/** A patch that only adds files is a Write. */
export function toolOf(changes: readonly FileChange[]): { tool: 'Write' } | undefined {
  const adds = changes.length > 0 && changes.every((change) => change.kind === 'add');
  return adds ? { tool: 'Write' } : undefined;
}

export function fileChanges(to: Drafts, changes: readonly FileChange[], call_id: string): void {
  for (const { path, kind, to: target, content, diff } of changes) {
    const size = content === null ? null : asciiBytes(content);
    const rest = { call_id, source: 'tool', diff, size } as const;
    const moved = target !== null && target !== path;
    const operation = moved ? 'deleted' : OPERATIONS[kind];
    to.put('file_changed', { path, operation, ...rest });
    if (moved) to.put('file_changed', { path: target, operation: 'created', ...rest });
  }
}

/** Identifies a patch in both channels. Paths are absolute in one and relative in the other. */
export function patchKey(changes: readonly FileChange[]): string {
  const names = changes.map(({ kind, path }) => `${kind} ${path.replace(/^.*[\\/]/, '')}`);
  return names.sort().join('|');
}

export function changesOfInput(input: unknown): FileChange[] {
  const fields = nativeOf(input);
  const patch = textOf(fields?.input);
  const changes = fields?.changes;
  return patch === null ? changesOfItem(changes as Item['changes']) : changesOfPatch(patch);
}
