/** Messages as rows: the root agent's text line by line, prompts and messages of sub-agents as notes. */
import { headCopy } from '../lib/utf8.ts';
import type { DataOf } from '../model/event.ts';
import { TUI_LIMITS } from './limits.ts';
import { addNote, addRow, type TuiState } from './state.ts';

/** The prompt that started the run. The header shows it; later ones are rows. */
export function takePrompt(state: TuiState, text: string | null): void {
  if (text === null || text.trim() === '') return;
  state.prompt = headCopy(text, TUI_LIMITS.part_chars_max);
  state.repeated = state.prompt;
}

export function takeMessage(state: TuiState, data: DataOf<'message_finished'>): void {
  const { role, text, parent_call_id } = data;
  if (role === 'user') takeUser(state, data);
  if (role !== 'assistant') return;
  if (parent_call_id === null) {
    const rest = state.spoken.whole(data);
    say(state, rest ?? (text.trim() === '' ? '' : text), rest === null);
  } else if (text.trim() !== '') addNote(state, text, 'dim', { parent_call_id });
}

/** A message of the person; the prompt of a sub-agent is in the input of its call. */
function takeUser(state: TuiState, data: DataOf<'message_finished'>): void {
  const { parent_call_id, synthetic } = data;
  const text = data.text.trim();
  if (parent_call_id !== null || synthetic || text === '') return;
  if (state.prompt === null) {
    takePrompt(state, text);
    state.repeated = null;
    return;
  }
  const repeated = state.repeated?.trim() === headCopy(text, TUI_LIMITS.part_chars_max);
  state.repeated = null;
  if (repeated) return;
  if (state.rows.length > 0) addText(state);
  addNote(state, text, 'cyan', { name: 'you' });
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
