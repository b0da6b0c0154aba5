/** What the live view knows of a run: a bounded fold over its events. Rows have consecutive ids from `firstId` on. */
import { callText } from '../lib/call-text.ts';
import { LIMITS } from '../lib/limits.ts';
import { headCopy } from '../lib/utf8.ts';
import type { DataOf, Event } from '../model/event.ts';
import { OpenCalls, RunFold, SpokenText } from '../model/run-fold.ts';
import { TUI_LIMITS } from './limits.ts';

export interface CallRow {
  kind: 'call';
  tool: string;
  about: string;
  /** Whether a sub-agent made it. */
  nested: boolean;
  status: string | null;
  exit_code: number | null;
  duration_ms: number | null;
  /** When the view learned of it. */
  since_ms: number;
}
export interface TextRow {
  kind: 'text';
  text: string;
}
interface NoteRow {
  kind: 'note';
  text: string;
  tone: 'dim' | 'yellow' | 'red';
  indent: number;
}
export type Row = CallRow | TextRow | NoteRow;

export interface TuiState {
  agent: string;
  began_ms: number;
  /** Time of the event that came last, by the view's clock. */
  now_ms: number;
  run: RunFold;
  open_calls: OpenCalls<CallRow>;
  rows: Row[];
  firstId: number;
  /** The root agent's messages, and the row where the last text of them ended. */
  spoken: SpokenText;
  text_row: Row | null;
}

const FAILED_LINES_MAX = 3;
/** Rows are dropped many at a time, so that dropping costs nothing per event. */
const DROP_AT_ONCE = 500;

export function createTuiState(agent: string, now_ms: number): TuiState {
  const state: TuiState = {
    agent,
    began_ms: now_ms,
    now_ms,
    run: new RunFold(),
    open_calls: new OpenCalls(({ data }) => requestRow(state, data), LIMITS.open_calls_max),
    rows: [],
    firstId: 0,
    spoken: new SpokenText(LIMITS.line_bytes_max),
    text_row: null,
  };
  return state;
}

export function takeEvent(state: TuiState, event: Event, now_ms: number): void {
  state.now_ms = now_ms;
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
      if (event.data.text.trim() !== '') note(state, `thinking: ${event.data.text}`, 'dim');
      break;
    case 'call_finished':
      if (call !== undefined) takeResult(state, call, event.data);
      break;
    default:
      takeWarning(state, event);
  }
}

function addRow(state: TuiState, row: Row): void {
  state.rows.push(row);
  if (state.rows.length <= TUI_LIMITS.rows_max) return;
  state.rows.splice(0, DROP_AT_ONCE);
  state.firstId += DROP_AT_ONCE;
}

function note(state: TuiState, text: string, tone: NoteRow['tone'], indent = 0): void {
  addRow(state, { kind: 'note', text: headCopy(text, TUI_LIMITS.row_chars_max), tone, indent });
}

function takeMessage(state: TuiState, data: DataOf<'message_finished'>): void {
  if (data.role !== 'assistant') return;
  if (data.parent_call_id === null) {
    const rest = state.spoken.whole(data);
    say(state, rest ?? (data.text.trim() === '' ? '' : data.text), rest === null);
  } else if (data.text.trim() !== '') note(state, data.text, 'dim', 1);
}

/** A text of the root agent; it continues its row unless it begins a message or other rows came between. */
function say(state: TuiState, text: string, begins: boolean): void {
  if (text === '') return;
  if (begins || state.rows.at(-1) !== state.text_row) {
    if (state.rows.length > 0) addRow(state, { kind: 'text', text: '' });
    addRow(state, { kind: 'text', text: '' });
  }
  appendText(state, text);
  state.text_row = state.rows.at(-1) ?? null;
}

/** Every line end begins a row; so does a line that grows too long. */
function appendText(state: TuiState, text: string): void {
  const most = TUI_LIMITS.row_chars_max;
  text.split('\n').forEach((line, index) => {
    if (index > 0) addRow(state, { kind: 'text', text: '' });
    let rest = line;
    while (rest !== '') {
      const row = state.rows.at(-1);
      const room = row?.kind === 'text' ? most - row.text.length : 0;
      const taken = headUnits(rest, room);
      if (row?.kind !== 'text' || taken === '') {
        addRow(state, { kind: 'text', text: '' });
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
    tool: headCopy(data.tool, TUI_LIMITS.row_chars_max),
    about: headCopy(callText(data.input, state.run.names.cwd), TUI_LIMITS.row_chars_max),
    nested: data.parent_call_id !== null,
    status: null,
    exit_code: null,
    duration_ms: null,
    since_ms: state.now_ms,
  };
  addRow(state, row);
  return row;
}

function takeResult(state: TuiState, row: CallRow, data: DataOf<'call_finished'>): void {
  row.status = data.status;
  row.exit_code = data.exit_code;
  row.duration_ms = data.duration_ms;
  if (data.status !== 'error' && data.status !== 'timeout') return;
  const lines = headCopy(data.output ?? '', 16 * 1024).split('\n');
  const full = lines.filter((line) => line.trim() !== '');
  for (const line of full.slice(0, FAILED_LINES_MAX)) note(state, line, 'dim', row.nested ? 2 : 1);
}

function takeWarning(state: TuiState, { kind, data }: Event): void {
  const warn = (text: string) => note(state, text, 'yellow');
  if (kind === 'provider_retried') {
    const facts = [
      data.attempt === null ? null : `attempt ${data.attempt}`,
      data.kind,
      data.status,
    ];
    warn(`provider retry ${facts.filter((fact) => fact !== null).join(', ')}`);
  } else if (kind === 'provider_failed') note(state, `provider error: ${data.message}`, 'red');
  else if (kind === 'problem') warn(`${data.code}: ${data.detail}`);
  else if (kind === 'permission_asked') warn(`permission asked for ${data.tool ?? 'a call'}`);
  else if (kind === 'step_blocked') warn(`blocked: ${data.reason}`);
}
