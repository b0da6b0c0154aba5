/** Messages as rows: the root agent's text line by line, those of sub-agents as notes. */
import type { DataOf } from '../model/event.ts';
import { TUI_LIMITS } from './limits.ts';
import { addNote, addRow, type TuiState } from './state.ts';

export function takeMessage(state: TuiState, data: DataOf<'message_finished'>): void {
  if (data.role !== 'assistant') return;
  if (data.parent_call_id === null) {
    const rest = state.spoken.whole(data);
    say(state, rest ?? (data.text.trim() === '' ? '' : data.text), rest === null);
  } else if (data.text.trim() !== '') addNote(state, data.text, 'dim', data.parent_call_id);
}

/** Adds text of the root agent. It continues its row unless it begins a message or other rows are in between. */
export function say(state: TuiState, text: string, begins: boolean): void {
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
