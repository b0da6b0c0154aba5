/** Calls as rows: their inputs, results and diffs. */
import { callText } from '../lib/call-text.ts';
import { headCopy } from '../lib/utf8.ts';
import type { DataOf } from '../model/event.ts';
import type { CallStatus } from '../model/words.ts';
import { inputText, newParts, type PartName } from './parts.ts';
import type { CallRow } from './row.ts';
import { addRow, lineOf, placeOf, type TuiState } from './state.ts';

/** Lines below a call in the list; all of them are in its details. */
const BELOW_LINES_MAX = 6;
const FAILED_LINES_MAX = 3;
const BELOW_CHARS_MAX = 300;

export function requestRow(state: TuiState, data: DataOf<'call_requested'>): CallRow {
  const row: CallRow = {
    kind: 'call',
    tool: lineOf(data.tool),
    about: lineOf(callText(data.input, state.run.names.cwd, data.tool)),
    ...placeOf(state, data.parent_call_id),
    status: null,
    exit_code: null,
    duration_ms: null,
    reason: null,
    since_ms: state.now_ms,
    step: state.run.step,
    below: [],
    parts: newParts(),
    children: 0,
    folded: false,
  };
  addRow(state, row);
  state.calls.set(data.call_id, row);
  setPart(state, row, 'input', inputText(data.input));
  if (data.tool === 'Edit') setPart(state, row, 'diff', state.diffOf(data.input));
  return row;
}

function setPart(state: TuiState, row: CallRow, name: PartName, text: string): void {
  if (text !== '') state.store.set(row.parts, name, text);
}

export function takeResult(state: TuiState, row: CallRow, data: DataOf<'call_finished'>): void {
  setStatus(state, row, data.status);
  row.exit_code = data.exit_code;
  row.duration_ms = data.duration_ms;
  setPart(state, row, 'output', data.output ?? '');
  row.below = belowOf(row);
}

function setStatus(state: TuiState, row: CallRow, status: CallStatus): void {
  for (const [was, by] of [
    [row.status, -1],
    [status, 1],
  ] as const) {
    if (was === 'error' || was === 'timeout') state.failed += by;
    if (was === 'denied') state.denied += by;
  }
  row.status = status;
}

export function takeUpdate(state: TuiState, data: DataOf<'call_updated'>): void {
  const row = state.calls.get(data.call_id);
  // An open call gets its status when it ends.
  if (row === undefined || row.status === null) return;
  if (data.status !== null) setStatus(state, row, data.status);
  row.exit_code = data.exit_code ?? row.exit_code;
  row.below = belowOf(row);
}

/** The agent's own diff replaces the one made from the input. */
export function takeDiff(state: TuiState, { call_id, diff, source }: DataOf<'file_changed'>): void {
  const row = call_id === null ? undefined : state.calls.get(call_id);
  if (row === undefined || diff === null || source === 'git') return;
  setPart(state, row, 'diff', diff);
  row.below = belowOf(row);
}

function belowOf({ status, parts }: CallRow): string[] {
  if (status === 'ok') return headLines(diffBody(parts.diff ?? ''), BELOW_LINES_MAX);
  if (status !== 'error' && status !== 'timeout') return [];
  const lines = (parts.output ?? '').split('\n').filter((line) => line.trim() !== '');
  return headLines(lines, FAILED_LINES_MAX);
}

/** A diff without the lines that name files. */
const diffBody = (diff: string) =>
  diff.split('\n').filter((line) => /^[-+ @]/.test(line) && !/^(?:---|\+\+\+) /.test(line));

function headLines(lines: readonly string[], most: number): string[] {
  const shown = lines.slice(0, most).map((line) => headCopy(line, BELOW_CHARS_MAX));
  const more = lines.length - shown.length;
  return more > 0 ? [...shown, '(Enter shows all)'] : shown;
}
