/** Events → the state of the view of a run; bounded. */
import { RecentMap } from '../lib/bounded.ts';
import { LIMITS } from '../lib/limits.ts';
import { headCopy } from '../lib/utf8.ts';
import type { Event } from '../model/event.ts';
import { OpenCalls, RunFold, SpokenText } from '../model/run-fold.ts';
import { requestRow, takeDiff, takeResult, takeUpdate } from './calls.ts';
import { TUI_LIMITS } from './limits.ts';
import { say, takeMessage, takePrompt } from './messages.ts';
import { PartsStore } from './parts.ts';
import { addNote, type TuiOptions, type TuiState } from './state.ts';

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
    prompt: null,
    repeated: null,
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
    case 'run_started':
      takePrompt(state, event.data.prompt);
      break;
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
      addNote(state, event.data.text, 'dim', { ...event.data, name: 'thinking' });
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
