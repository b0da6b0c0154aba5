/** Changes of files, as a patch's text and as the CLI's items tell them. */
import { own } from '../../lib/own.ts';
import { asciiBytes } from '../../lib/utf8.ts';
import type { Draft } from '../../model/draft.ts';
import type { FileOperation } from '../../model/words.ts';
import { isNative, type Native, nativeOf, textOf } from './native.ts';

export interface FileChange {
  readonly path: string;
  readonly kind: 'add' | 'update' | 'delete';
  /** Where an update moves the file to. */
  readonly to: string | null;
  /** The whole text of an added file, where it is told. */
  readonly content: string | null;
  readonly diff: string | null;
}

const HEADER = /^\*\*\* (Add|Update|Delete) File: (.+?)\r?$/;
const MOVE = /^\*\*\* Move to: (.+?)\r?$/;
const KINDS: Readonly<Record<string, FileChange['kind']>> = {
  Add: 'add',
  Update: 'update',
  Delete: 'delete',
};
const OPERATIONS: Readonly<Record<FileChange['kind'], FileOperation>> = {
  add: 'created',
  update: 'modified',
  delete: 'deleted',
};

/** The changes that a patch asks for. */
export function changesOfPatch(patch: string): FileChange[] {
  const changes: FileChange[] = [];
  let open: { path: string; kind: FileChange['kind']; to: string | null; lines: string[] } | null =
    null;
  const close = () => {
    if (open === null) return;
    const { path, kind, to, lines } = open;
    const content = kind === 'add' ? lines.map((line) => `${line}\n`).join('') : null;
    changes.push({ path, kind, to, content, diff: null });
    open = null;
  };
  for (const line of patch.split('\n')) {
    const header = line.startsWith('*** ') ? HEADER.exec(line) : null;
    if (header !== null) {
      close();
      open = {
        path: header[2] as string,
        kind: own(KINDS, header[1] as string)!,
        to: null,
        lines: [],
      };
    } else if (line.startsWith('*** End Patch')) {
      close();
    } else if (open !== null) {
      const current: { kind: string; to: string | null; lines: string[] } = open;
      const move = line.startsWith('*** ') ? MOVE.exec(line) : null;
      if (move !== null) current.to = move[1] as string;
      else if (current.kind === 'add' && line.startsWith('+')) current.lines.push(line.slice(1));
    }
  }
  close();
  return changes;
}

/** `changes` of an item: a list of `{path, kind}`, or an object of changes by path. */
export function changesOfItem(value: unknown): FileChange[] {
  const changes: FileChange[] = [];
  if (Array.isArray(value)) {
    for (const entry of value) {
      const change = nativeOf(entry);
      const kind = textOf(change?.kind) ?? textOf(nativeOf(change?.kind)?.type);
      add(changes, textOf(change?.path), kind, change);
    }
  } else if (isNative(value)) {
    for (const path of Object.keys(value)) {
      const change = nativeOf(value[path]);
      add(changes, path, textOf(change?.type), change);
    }
  }
  return changes;
}

function add(
  changes: FileChange[],
  path: string | null,
  kind: string | null,
  change: Native | null,
) {
  if (path === null || (kind !== 'add' && kind !== 'update' && kind !== 'delete')) return;
  const told = nativeOf(change?.kind);
  const to = textOf(change?.move_path) ?? textOf(told?.move_path);
  // The app-server calls the whole text of an added or deleted file its diff.
  const said = told === null ? null : textOf(change?.diff);
  const content = kind === 'add' ? (textOf(change?.content) ?? said) : null;
  const diff = textOf(change?.unified_diff) ?? (kind === 'update' ? said : null);
  changes.push({ path, kind, to, content, diff: diff === null ? null : withPaths(path, to, diff) });
}

function withPaths(path: string, to: string | null, hunks: string): string {
  return hunks.startsWith('---') ? hunks : `--- ${path}\n+++ ${to ?? path}\n${hunks}`;
}

/** The canonical fields of a patch: a path where it has only one file, a content where that file is new. */
export function fieldsOf(changes: readonly FileChange[]): { file_path?: string; content?: string } {
  const [change, more] = changes;
  if (change === undefined || more !== undefined) return {};
  if (change.content === null) return { file_path: change.path };
  return { file_path: change.path, content: change.content };
}

export function addsOnly(changes: readonly FileChange[]): boolean {
  return changes.length > 0 && changes.every((change) => change.kind === 'add');
}

/** What a patch that was applied has changed. */
export function fileChanges(
  changes: readonly FileChange[],
  call_id: string,
  at_ms: number | undefined,
  out: Draft[],
): void {
  const push = (path: string, operation: FileOperation, change: FileChange) => {
    const size = change.content === null ? null : asciiBytes(change.content);
    const { diff } = change;
    const data = { path, operation, call_id, source: 'tool' as const, diff, size };
    out.push({ kind: 'file_changed', at_ms, data });
  };
  for (const change of changes) {
    if (change.to === null || change.to === change.path) {
      push(change.path, OPERATIONS[change.kind], change);
    } else {
      push(change.path, 'deleted', change);
      push(change.to, 'created', change);
    }
  }
}

/** What a patch is about, whichever channel tells of it: paths are absolute in one and relative in the other. */
export function patchKey(changes: readonly FileChange[]): string {
  const names = changes.map(({ kind, path }) => `${kind} ${path.replace(/^.*[\\/]/, '')}`);
  return names.sort().join('|');
}

export function changesOfInput(input: unknown): FileChange[] {
  const fields = nativeOf(input);
  const patch = textOf(fields?.input);
  return patch === null ? changesOfItem(fields?.changes) : changesOfPatch(patch);
}
