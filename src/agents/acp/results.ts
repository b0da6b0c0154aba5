/** Facts from the last update of a call: status, exit code, output, changed files. */
import { own } from '../../lib/own.ts';
import type { CallFinishedDraft } from '../../model/draft.ts';
import type { CallStatus, FileOperation } from '../../model/words.ts';
import { codeOf, nativeOf, type Open, textOf, wordOf } from '../kit/native.ts';
import { firstText, nativesOf, type Update } from './protocol.ts';

export type CallEnd = Omit<CallFinishedDraft, 'call_id'>;

/** Native statuses that end a call. */
const ENDS: Readonly<Record<string, CallStatus>> = {
  completed: 'ok',
  failed: 'error',
  cancelled: 'cancelled',
};
/** Outcomes that some agents report next to the status. */
const OUTCOMES: Readonly<Record<string, CallStatus>> = {
  cancelled: 'cancelled',
  timeout: 'timeout',
  timed_out: 'timeout',
};
/** Marks of a refused call: codes, and beginnings and ends of texts. */
const REFUSAL_CODES = ['denied', 'rejected'];
const REFUSAL_STARTS = [
  'The user rejected permission to use this specific tool call',
  'The user rejected this tool call',
  'Tool execution denied by policy',
  'User refused permission to run tool',
];
const REFUSAL_ENDS = [
  '" denied by policy.',
  '" was canceled by the user.',
  '" was cancelled by the user.',
];
/** Beginnings of the text of a cancelled call with a status of completed. */
const CANCELLED_STARTS = ['Command cancelled by user', 'Command was cancelled'];
/** The beginning of a failed command's output that has its exit code. */
const EXIT_CODE_TEXT = /^Exit code (\d{1,3})(?:\n|$)/;
const OUTPUT_FIELDS = ['output', 'content', 'error', 'message', 'text'];
const EXIT_CODE_FIELDS = ['exitCode', 'exit_code', 'exit'];

/** Null: the update does not end the call. */
export function endOf(update: Update, known: { refused: boolean; shell: boolean }): CallEnd | null {
  const ended = own(ENDS, wordOf(update.status));
  if (ended === undefined) return null;
  const raw = nativeOf(update.rawOutput);
  const output = outputOf(update);
  const exit_code = known.shell ? exitCodeOf(update, ended === 'error') : null;
  const outcome = own(OUTCOMES, wordOf(raw?.outcome));
  const status = (): CallStatus => {
    if (ended === 'error' && (known.refused || isRefusal(raw, output ?? ''))) return 'denied';
    if (outcome !== undefined) return outcome;
    if (CANCELLED_STARTS.some((start) => output?.startsWith(start))) return 'cancelled';
    return ended === 'ok' && exit_code !== null && exit_code !== 0 ? 'error' : ended;
  };
  return { status: status(), exit_code, output };
}

function isRefusal(raw: Open | null, output: string): boolean {
  return (
    REFUSAL_CODES.includes(wordOf(raw?.code)) ||
    REFUSAL_STARTS.some((start) => output.startsWith(start)) ||
    REFUSAL_ENDS.some((end) => output.endsWith(end))
  );
}

/** The tool's output, otherwise the text shown to people. */
function outputOf(update: Update): string | null {
  const raw = update.rawOutput;
  if (typeof raw === 'string' && raw !== '') return raw;
  const given = firstText(nativeOf(raw), OUTPUT_FIELDS);
  if (given !== null) return given;
  const parts = nativesOf(update.content);
  const shown = parts.flatMap((part) => textOf(nativeOf(part.content)?.text) ?? []);
  return shown.length > 0 ? shown.join('\n') : null;
}

function exitCodeOf(update: Update, failed: boolean): number | null {
  const raw = nativeOf(update.rawOutput);
  const terminal = nativeOf(nativeOf(update._meta)?.terminal_exit);
  const places = [raw, nativeOf(raw?.metadata), terminal, ...nativesOf(raw?.contents)];
  for (const place of places) {
    for (const field of EXIT_CODE_FIELDS) {
      const code = codeOf(place?.[field]);
      if (code !== null) return code;
    }
  }
  const match = failed ? EXIT_CODE_TEXT.exec(wordOf(update.rawOutput)) : null;
  return match === null ? null : Number(match[1]);
}

export interface Change {
  readonly path: string;
  /** Null: the agent does not report whether the file existed. */
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

function operationOf(word: unknown): FileOperation | null {
  return own(DIFF_KINDS, wordOf(word)) ?? null;
}

/** The diffs of a call: one per file, or (version 2) a list of changes. */
export function changesOf(content: Update['content']): Change[] {
  const found: Change[] = [];
  const add = (path: string | null, kind: unknown, text: string | null) => {
    if (path !== null) found.push({ path, operation: operationOf(kind), text });
  };
  for (const part of nativesOf(content)) {
    if (part.type !== 'diff') continue;
    if (!Array.isArray(part.changes)) {
      add(textOf(part.path), nativeOf(part._meta)?.kind, textOf(part.newText));
    }
    for (const { path, operation, type } of nativesOf(part.changes)) {
      add(textOf(path), textOf(operation) ?? type, null);
    }
  }
  return found;
}

/** Whether a written file is new, if the result reports it. */
export function writtenAs(update: Update): FileOperation | null {
  const exists = nativeOf(nativeOf(update.rawOutput)?.metadata)?.exists;
  return typeof exists === 'boolean' ? (exists ? 'modified' : 'created') : null;
}

/** `_meta.<vendor>.toolResponse` comes before the last update. */
export function responseOperation(meta: Open): FileOperation | null {
  for (const member of Object.values(meta)) {
    const operation = operationOf(nativeOf(nativeOf(member)?.toolResponse)?.type);
    if (operation !== null) return operation;
  }
  return null;
}
