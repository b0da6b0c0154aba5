/** What the live view knows of a run: a bounded fold over its events. Rows have consecutive ids from `firstId` on. */
import { callText } from '../lib/call-text.ts';
import { LIMITS } from '../lib/limits.ts';
import { headCopy } from '../lib/utf8.ts';
import type { DataOf, Event } from '../model/event.ts';

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
export interface NoteRow {
  kind: 'note';
  text: string;
  tone: 'dim' | 'yellow' | 'red';
  indent: number;
}
export type Row = CallRow | TextRow | NoteRow;

export interface TuiState {
  agent: string;
  agent_version: string | null;
  model: string | null;
  cwd: string | null;
  step: number;
  began_ms: number;
  tokens: number | null;
  cost_usd: number | null;
  finished: DataOf<'run_finished'> | null;
  rows: Row[];
  firstId: number;
  /** Calls without an end. */
  open: Map<string, CallRow>;
  /** The message whose text comes now, with all of it so far. */
  streaming: { message_id: string | null; text: string } | null;
}

const FAILED_LINES_MAX = 3;
/** Rows are dropped many at a time, so that dropping costs nothing per event. */
const DROP_AT_ONCE = 500;

export function createTuiState(agent: string, now_ms: number): TuiState {
  return {
    agent,
    agent_version: null,
    model: null,
    cwd: null,
    step: 0,
    began_ms: now_ms,
    tokens: null,
    cost_usd: null,
    finished: null,
    rows: [],
    firstId: 0,
    open: new Map(),
    streaming: null,
  };
}

export function takeEvent(state: TuiState, event: Event, now_ms: number): void {
  state.step = Math.max(state.step, event.step);
  switch (event.kind) {
    case 'run_started':
    case 'session_started':
      state.agent_version = event.data.agent_version ?? state.agent_version;
      state.model = event.data.model ?? state.model;
      state.cwd = event.data.cwd ?? state.cwd;
      break;
    case 'message_delta':
      if (event.data.parent_call_id === null) takeDelta(state, event.data);
      break;
    case 'message_finished':
      takeMessage(state, event.data);
      break;
    case 'thinking_finished':
      if (event.data.text.trim() !== '') note(state, `thinking: ${event.data.text}`, 'dim');
      break;
    case 'call_requested':
      takeRequest(state, event.data, now_ms);
      break;
    case 'call_finished':
      takeResult(state, event.data);
      break;
    case 'usage_reported':
      takeUsage(state, event.data);
      break;
    case 'run_finished':
      state.finished = event.data;
      state.model = event.data.model ?? state.model;
      break;
    default:
      takeWarning(state, event);
  }
}

function addRow(state: TuiState, row: Row): void {
  state.rows.push(row);
  if (state.rows.length <= LIMITS.tui_rows_max) return;
  state.rows.splice(0, DROP_AT_ONCE);
  state.firstId += DROP_AT_ONCE;
}

function note(state: TuiState, text: string, tone: NoteRow['tone'], indent = 0): void {
  state.streaming = null;
  addRow(state, { kind: 'note', text: headCopy(text, LIMITS.tui_row_chars_max), tone, indent });
}

function takeDelta(state: TuiState, { text, message_id }: DataOf<'message_delta'>): void {
  if (text === '') return;
  const earlier = state.streaming?.message_id === message_id ? state.streaming.text : null;
  if (earlier === null) beginText(state);
  // Beyond the limit the text is no beginning of the message any more, and nothing is added at its end.
  const room = (earlier ?? '').length + text.length <= LIMITS.line_bytes_max;
  state.streaming = { message_id, text: room ? (earlier ?? '') + text : '\0' };
  appendText(state, text);
}

function takeMessage(state: TuiState, data: DataOf<'message_finished'>): void {
  if (data.role !== 'assistant') return;
  if (data.parent_call_id !== null) {
    if (data.text.trim() !== '') note(state, data.text, 'dim', 1);
    return;
  }
  const known = state.streaming?.message_id != null && data.message_id !== null;
  const streaming =
    known && state.streaming?.message_id !== data.message_id ? null : state.streaming;
  if (streaming === null && data.text.trim() !== '') {
    beginText(state);
    appendText(state, data.text);
  } else if (streaming !== null && data.text.startsWith(streaming.text)) {
    appendText(state, data.text.slice(streaming.text.length));
  }
  state.streaming = null;
}

function beginText(state: TuiState): void {
  if (state.rows.length > 0) addRow(state, { kind: 'text', text: '' });
  addRow(state, { kind: 'text', text: '' });
}

/** Every line end begins a row; so does a line that grows too long. */
function appendText(state: TuiState, text: string): void {
  const most = LIMITS.tui_row_chars_max;
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

function takeRequest(state: TuiState, data: DataOf<'call_requested'>, now_ms: number): void {
  const row: CallRow = {
    kind: 'call',
    tool: headCopy(data.tool, LIMITS.tui_row_chars_max),
    about: headCopy(callText(data.input, state.cwd), LIMITS.tui_row_chars_max),
    nested: data.parent_call_id !== null,
    status: null,
    exit_code: null,
    duration_ms: null,
    since_ms: now_ms,
  };
  state.streaming = null;
  if (state.open.size < LIMITS.open_calls_max) state.open.set(data.call_id, row);
  addRow(state, row);
}

function takeResult(state: TuiState, data: DataOf<'call_finished'>): void {
  const row = state.open.get(data.call_id);
  state.open.delete(data.call_id);
  if (row === undefined) return;
  row.status = data.status;
  row.exit_code = data.exit_code;
  row.duration_ms = data.duration_ms;
  if (data.status !== 'error' && data.status !== 'timeout') return;
  const lines = headCopy(data.output ?? '', 16 * 1024).split('\n');
  const full = lines.filter((line) => line.trim() !== '');
  for (const line of full.slice(0, FAILED_LINES_MAX)) note(state, line, 'dim', row.nested ? 2 : 1);
}

function takeUsage(
  state: TuiState,
  { mode, usage, cost_usd, model }: DataOf<'usage_reported'>,
): void {
  const { input, output, cache_read, cache_write } = usage;
  const known = [input, output, cache_read, cache_write].filter((figure) => figure !== null);
  const tokens = known.length === 0 ? null : known.reduce((sum, figure) => sum + figure, 0);
  const sum = (before: number | null, figure: number | null) =>
    mode === 'total' || before === null || figure === null ? (figure ?? before) : before + figure;
  state.tokens = sum(state.tokens, tokens);
  state.cost_usd = sum(state.cost_usd, cost_usd);
  state.model = model ?? state.model;
}

function takeWarning(state: TuiState, event: Event): void {
  if (event.kind === 'provider_retried') {
    const { kind, status, attempt } = event.data;
    const facts = [attempt === null ? null : `attempt ${attempt}`, kind, status];
    note(state, `provider retry ${facts.filter((fact) => fact !== null).join(', ')}`, 'yellow');
  } else if (event.kind === 'provider_failed') {
    note(state, `provider error: ${event.data.message}`, 'red');
  } else if (event.kind === 'problem') {
    note(state, `${event.data.code}: ${event.data.detail}`, 'yellow');
  } else if (event.kind === 'permission_asked') {
    note(state, `permission asked for ${event.data.tool ?? 'a call'}`, 'yellow');
  } else if (event.kind === 'step_blocked') {
    note(state, `blocked: ${event.data.reason}`, 'yellow');
  }
}
