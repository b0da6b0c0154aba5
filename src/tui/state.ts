/** The state of the view of a run. Rows have consecutive ids starting at `firstId`; fold.ts makes them from events. */
import type { RecentMap } from '../lib/bounded.ts';
import { headCopy } from '../lib/utf8.ts';
import type { OpenCalls, RunFold, SpokenText } from '../model/run-fold.ts';
import { TUI_LIMITS } from './limits.ts';
import { newParts, type PartsStore } from './parts.ts';
import type { CallRow, NoteRow, Row } from './row.ts';

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
  /** The first prompt, as far as the view keeps it. */
  prompt: string | null;
  /** A prompt that the agent may repeat as a message. */
  repeated: string | null;
  rows: Row[];
  firstId: number;
  store: PartsStore;
  /** The root agent's messages, and the row where their last text ended. */
  spoken: SpokenText;
  text_row: Row | null;
}

const DEPTH_MAX = 4;
/** Rows are dropped in bulk, so that the cost per event is negligible. */
const DROP_AT_ONCE = 500;

/** The row with this id; undefined if it was dropped or does not exist yet. */
export const rowAt = ({ rows, firstId }: TuiState, id: number): Row | undefined =>
  rows[id - firstId];

export const lastId = ({ rows, firstId }: TuiState) => firstId + rows.length - 1;

export function addRow(state: TuiState, row: Row): void {
  state.rows.push(row);
  if (row.parent !== null) row.parent.children += 1;
  if (state.rows.length <= TUI_LIMITS.rows_max) return;
  state.rows.splice(0, DROP_AT_ONCE);
  state.firstId += DROP_AT_ONCE;
}

/** Adds a line with a text that can be opened. `name`: what it is. */
export function addNote(
  state: TuiState,
  text: string,
  tone: NoteRow['tone'],
  {
    name = null,
    parent_call_id = null,
  }: { name?: string | null; parent_call_id?: string | null } = {},
): void {
  const at = placeOf(state, parent_call_id);
  const parts = newParts();
  if (text.length > TUI_LIMITS.row_chars_max || text.includes('\n'))
    state.store.set(parts, 'text', text);
  addRow(state, { kind: 'note', name, text: lineOf(text), tone, ...at, parts });
}

/** A text that is one line of the list. */
export const lineOf = (text: string) => headCopy(text, TUI_LIMITS.row_chars_max);

/** The place of a row that a sub-agent may have made. */
export function placeOf(state: TuiState, parent_call_id: string | null) {
  if (parent_call_id === null) return { parent: null, depth: 0 };
  const parent = state.calls.get(parent_call_id) ?? null;
  return { parent, depth: Math.min(DEPTH_MAX, (parent?.depth ?? 0) + 1) };
}
