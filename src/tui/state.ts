/** The state of the view of a run: a bounded fold over its events. Rows have consecutive ids starting at `firstId`. */
import { RecentMap } from '../lib/bounded.ts';
import { callText } from '../lib/call-text.ts';
import { LIMITS } from '../lib/limits.ts';
import { headCopy } from '../lib/utf8.ts';
import type { DataOf, Event } from '../model/event.ts';
import { OpenCalls, RunFold, SpokenText } from '../model/run-fold.ts';
import type { CallStatus } from '../model/words.ts';
import { TUI_LIMITS } from './limits.ts';
import { inputText, newParts, type PartName, type Parts, PartsStore } from './parts.ts';

export interface CallRow {
  kind: 'call';
  tool: string;
  about: string;
  /** The call of the sub-agent that made it. */
  parent: CallRow | null;
  /** Depth of nested sub-agents. */
  depth: number;
  status: CallStatus | null;
  exit_code: number | null;
  duration_ms: number | null;
  /** Why it was denied. */
  reason: string | null;
  /** When the view received it. */
  since_ms: number;
  step: number;
  /** Short lines below it: a diff, or the beginning of a failure's output. */
  below: readonly string[];
  parts: Parts;
  /** Rows of its sub-agent, and whether they are hidden. */
  children: number;
  folded: boolean;
}
/** A line of the root agent's text. */
export interface TextRow {
  kind: 'text';
  text: string;
  parent: null;
}
export interface NoteRow {
  kind: 'note';
  text: string;
  tone: 'dim' | 'yellow' | 'red';
  parent: CallRow | null;
  depth: number;
  parts: Parts;
}
export type Row = CallRow | TextRow | NoteRow;

export interface TuiOptions {
  agent: string;
  now_ms: number;
  /** The diff of an edit, made from its input; '' if there is none. */
  diffOf: (input: unknown) => string;
}

export interface TuiState extends TuiOptions {
  began_ms: number;
  /** Time of the last event by the view's clock. */
  now_ms: number;
  /** Start of the silence of the model. */
  quiet_ms: number;
  run: RunFold;
  open_calls: OpenCalls<CallRow>;
  /** The latest calls by id, open or not. */
  calls: RecentMap<string, CallRow>;
  failed: number;
  denied: number;
  rows: Row[];
  firstId: number;
  store: PartsStore;
  /** The root agent's messages, and the row where their last text ended. */
  spoken: SpokenText;
  text_row: Row | null;
}

/** Lines below a call in the list; all of them are in its details. */
const BELOW_LINES_MAX = 6;
const FAILED_LINES_MAX = 3;
const BELOW_CHARS_MAX = 300;
const DEPTH_MAX = 4;
/** Rows are dropped in bulk, so that the cost per event is negligible. */
const DROP_AT_ONCE = 500;

export function createTuiState(options: TuiOptions): TuiState {
  const { now_ms } = options;
  const state: TuiState = {
    ...options,
    began_ms: now_ms,
    quiet_ms: now_ms,
    run: new RunFold(),
    open_calls: new OpenCalls(({ data }) => requestRow(state, data), LIMITS.open_calls_max),
    calls: new RecentMap(TUI_LIMITS.calls_known_max),
    failed: 0,
    denied: 0,
    rows: [],
    firstId: 0,
    store: new PartsStore(),
    spoken: new SpokenText(LIMITS.line_bytes_max),
    text_row: null,
  };
  return state;
}

export function takeEvent(state: TuiState, event: Event, now_ms: number): void {
  state.now_ms = now_ms;
  if (event.kind !== 'thinking_delta') state.quiet_ms = now_ms;
  state.run.push(event);
  const call = state.open_calls.push(event);
  switch (event.kind) {
    case 'message_delta': {
      const { parent_call_id, text } = event.data;
      if (parent_call_id === null && text !== '') say(state, text, state.spoken.piece(event.data));
      break;
    }
    case 'message_finished':
      takeMessage(state, event.data);
      break;
    case 'thinking_finished':
      if (event.data.text.trim() === '') break;
      addNote(state, `thinking: ${event.data.text}`, 'dim', event.data.parent_call_id);
      break;
    case 'call_decided':
      if (call !== undefined && event.data.decision === 'deny')
        call.reason = event.data.reason && headCopy(event.data.reason, LIMITS.name_chars_max);
      break;
    case 'call_finished':
      if (call !== undefined) takeResult(state, call, event.data);
      break;
    case 'call_updated':
      takeUpdate(state, event.data);
      break;
    case 'file_changed':
      takeDiff(state, event.data);
      break;
    default:
      takeWarning(state, event);
  }
}

/** The row with this id; undefined if it was dropped or does not exist yet. */
export const rowAt = ({ rows, firstId }: TuiState, id: number): Row | undefined =>
  rows[id - firstId];

export const lastId = ({ rows, firstId }: TuiState) => firstId + rows.length - 1;

/** Whether a row belongs to a folded sub-agent. */
export function isHidden({ parent }: Row): boolean {
  for (let up = parent; up !== null; up = up.parent) if (up.folded) return true;
  return false;
}

function addRow(state: TuiState, row: Row): void {
  state.rows.push(row);
  if (row.parent !== null) row.parent.children += 1;
  if (state.rows.length <= TUI_LIMITS.rows_max) return;
  state.rows.splice(0, DROP_AT_ONCE);
  state.firstId += DROP_AT_ONCE;
}

/** A note is one line in the list; its complete text can be opened. */
export function addNote(
  state: TuiState,
  text: string,
  tone: NoteRow['tone'],
  parent_call_id: string | null = null,
): void {
  const at = placeOf(state, parent_call_id);
  const parts = newParts();
  if (text.length > TUI_LIMITS.row_chars_max || text.includes('\n'))
    state.store.set(parts, 'text', text);
  addRow(state, { kind: 'note', text: lineOf(text), tone, ...at, parts });
}

const lineOf = (text: string) => headCopy(text, TUI_LIMITS.row_chars_max);

function placeOf(state: TuiState, parent_call_id: string | null) {
  if (parent_call_id === null) return { parent: null, depth: 0 };
  const parent = state.calls.get(parent_call_id) ?? null;
  return { parent, depth: Math.min(DEPTH_MAX, (parent?.depth ?? 0) + 1) };
}

function takeMessage(state: TuiState, data: DataOf<'message_finished'>): void {
  if (data.role !== 'assistant') return;
  if (data.parent_call_id === null) {
    const rest = state.spoken.whole(data);
    say(state, rest ?? (data.text.trim() === '' ? '' : data.text), rest === null);
  } else if (data.text.trim() !== '') addNote(state, data.text, 'dim', data.parent_call_id);
}

/** Adds text of the root agent. It continues its row unless it begins a message or other rows are in between. */
function say(state: TuiState, text: string, begins: boolean): void {
  if (text === '') return;
  if (begins || state.rows.at(-1) !== state.text_row) {
    if (state.rows.length > 0) addText(state);
    addText(state);
  }
  appendText(state, text);
  state.text_row = state.rows.at(-1) ?? null;
}

const addText = (state: TuiState) => addRow(state, { kind: 'text', text: '', parent: null });

/** Starts a row at every line end, and when a line becomes too long. */
function appendText(state: TuiState, text: string): void {
  const most = TUI_LIMITS.row_chars_max;
  text.split('\n').forEach((line, index) => {
    if (index > 0) addText(state);
    let rest = line;
    while (rest !== '') {
      const row = state.rows.at(-1);
      const room = row?.kind === 'text' ? most - row.text.length : 0;
      const taken = headUnits(rest, room);
      if (row?.kind !== 'text' || taken === '') {
        addText(state);
        continue;
      }
      row.text += taken;
      rest = rest.slice(taken.length);
    }
  });
}

/** At most `most` units, without half a surrogate pair at the end. */
function headUnits(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = text.slice(0, Math.max(0, most));
  return /[\ud800-\udbff]$/.test(head) ? head.slice(0, -1) : head;
}

function requestRow(state: TuiState, data: DataOf<'call_requested'>): CallRow {
  const row: CallRow = {
    kind: 'call',
    tool: lineOf(data.tool),
    about: lineOf(callText(data.input, state.run.names.cwd)),
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

function takeResult(state: TuiState, row: CallRow, data: DataOf<'call_finished'>): void {
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

function takeUpdate(state: TuiState, data: DataOf<'call_updated'>): void {
  const row = state.calls.get(data.call_id);
  // An open call gets its status when it ends.
  if (row === undefined || row.status === null) return;
  if (data.status !== null) setStatus(state, row, data.status);
  row.exit_code = data.exit_code ?? row.exit_code;
  row.below = belowOf(row);
}

/** The agent's own diff replaces the one made from the input. */
function takeDiff(state: TuiState, { call_id, diff, source }: DataOf<'file_changed'>): void {
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

function takeWarning(state: TuiState, { kind, data }: Event): void {
  const warn = (text: string) => addNote(state, text, 'yellow');
  if (kind === 'provider_retried') {
    const facts = [
      data.attempt === null ? null : `attempt ${data.attempt}`,
      data.kind,
      data.status,
    ];
    warn(`provider retry ${facts.filter((fact) => fact !== null).join(', ')}`);
  } else if (kind === 'provider_failed') addNote(state, `provider error: ${data.message}`, 'red');
  else if (kind === 'problem') warn(`${data.code}: ${data.detail}`);
  else if (kind === 'permission_asked') warn(`permission asked for ${data.tool ?? 'a call'}`);
  else if (kind === 'step_blocked') warn(`blocked: ${data.reason}`);
}
