/** What the last update of a call says: how it ended, its exit code, its output, the files it changed. */
import { own } from '../../lib/own.ts';
import { asciiBytes } from '../../lib/utf8.ts';
import type { DataOf } from '../../model/event.ts';
import type { CallStatus, FileOperation } from '../../model/words.ts';
import { codeOf, firstText, type Native, nativeOf, nativesOf, textOf } from './native.ts';
import {
  CANCELLED_STARTS,
  EXIT_CODE_TEXT,
  REFUSAL_CODES,
  REFUSAL_ENDS,
  REFUSAL_STARTS,
} from './records.ts';

export interface CallEnd {
  readonly status: CallStatus;
  readonly exit_code: number | null;
  readonly output: string | null;
}

/** Native statuses that end a call. */
const ENDS: Readonly<Record<string, CallStatus>> = {
  completed: 'ok',
  failed: 'error',
  cancelled: 'cancelled',
};
/** Outcomes that a speaker tells beside the status. */
const OUTCOMES: Readonly<Record<string, CallStatus>> = {
  cancelled: 'cancelled',
  timeout: 'timeout',
  timed_out: 'timeout',
};
const OUTPUT_FIELDS = ['output', 'content', 'error', 'message', 'text'];
const EXIT_CODE_FIELDS = ['exitCode', 'exit_code', 'exit'];

/** Null: the update does not end the call. */
export function endOf(update: Native, told: { refused: boolean; shell: boolean }): CallEnd | null {
  const ended = own(ENDS, textOf(update.status) ?? '');
  if (ended === undefined) return null;
  const raw = nativeOf(update.rawOutput);
  const output = outputOf(update);
  const exit_code = told.shell ? exitCodeOf(update, ended === 'error') : null;
  const outcome = own(OUTCOMES, textOf(raw?.outcome) ?? '');
  const status = (): CallStatus => {
    if (ended === 'error' && (told.refused || isRefusal(raw, output))) return 'denied';
    if (outcome !== undefined) return outcome;
    if (CANCELLED_STARTS.some((start) => output?.startsWith(start))) return 'cancelled';
    return ended === 'ok' && exit_code !== null && exit_code !== 0 ? 'error' : ended;
  };
  return { status: status(), exit_code, output };
}

function isRefusal(raw: Native | null, output: string | null): boolean {
  if (REFUSAL_CODES.has(textOf(raw?.code) ?? '')) return true;
  if (output === null) return false;
  if (REFUSAL_STARTS.some((start) => output.startsWith(start))) return true;
  return REFUSAL_ENDS.some((end) => output.endsWith(end));
}

/** What the tool gave; where that is not said, what people are shown. */
function outputOf(update: Native): string | null {
  const raw = update.rawOutput;
  if (typeof raw === 'string' && raw !== '') return raw;
  const told = firstText(nativeOf(raw), OUTPUT_FIELDS);
  if (told !== null) return told;
  const shown = nativesOf(update.content).flatMap(
    (part) => textOf(nativeOf(part.content)?.text) ?? [],
  );
  return shown.length > 0 ? shown.join('\n') : null;
}

function exitCodeOf(update: Native, failed: boolean): number | null {
  const raw = nativeOf(update.rawOutput);
  const terminal = nativeOf(nativeOf(update._meta)?.terminal_exit);
  const places = [raw, nativeOf(raw?.metadata), terminal, ...nativesOf(raw?.contents)];
  for (const place of places) {
    for (const field of EXIT_CODE_FIELDS) {
      const code = codeOf(place?.[field]);
      if (code !== null) return code;
    }
  }
  const match = failed ? EXIT_CODE_TEXT.exec(textOf(update.rawOutput) ?? '') : null;
  return match === null ? null : Number(match[1]);
}

export interface Change {
  readonly path: string;
  /** Null: the agent does not say whether the file was there before. */
  readonly operation: FileOperation | null;
  readonly text: string | null;
}

const DIFF_KINDS: Readonly<Record<string, FileOperation>> = {
  add: 'created',
  create: 'created',
  delete: 'deleted',
  modify: 'modified',
  update: 'modified',
};

/** The diffs of a call: one file each, or (version 2) a list of changes. */
export function changesOf(content: unknown): Change[] {
  return nativesOf(content)
    .filter((part) => part.type === 'diff')
    .flatMap((part) => {
      if (Array.isArray(part.changes)) return nativesOf(part.changes).flatMap(listedChange);
      const path = textOf(part.path);
      if (path === null) return [];
      const kind = own(DIFF_KINDS, textOf(nativeOf(part._meta)?.kind) ?? '') ?? null;
      return [{ path, operation: kind, text: textOf(part.newText) }];
    });
}

function listedChange(change: Native): Change[] {
  const path = textOf(change.path);
  const operation = own(DIFF_KINDS, textOf(change.operation) ?? textOf(change.type) ?? '') ?? null;
  return path === null ? [] : [{ path, operation, text: null }];
}

/** Whether a written file is new, where the result says so. */
export function toldOperation(update: Native): FileOperation | null {
  const raw = nativeOf(update.rawOutput);
  const exists = nativeOf(raw?.metadata)?.exists;
  return typeof exists === 'boolean' ? (exists ? 'modified' : 'created') : null;
}

/** `_meta.<vendor>.toolResponse` comes before the last update. */
export function responseOperation(meta: unknown): FileOperation | null {
  for (const member of Object.values(nativeOf(meta) ?? {})) {
    const type = nativeOf(nativeOf(member)?.toolResponse)?.type;
    const operation = typeof type === 'string' ? own(DIFF_KINDS, type) : undefined;
    if (operation !== undefined) return operation;
  }
  return null;
}

export function fileChanged(
  change: { path: string; operation: FileOperation; text: string | null },
  call_id: string,
  update: Native,
): DataOf<'file_changed'> {
  const { path, operation, text } = change;
  const diff = textOf(nativeOf(update.rawOutput)?.fileDiff);
  const size = text === null ? null : asciiBytes(text);
  return { path, operation, call_id, source: 'tool', diff, size };
}
