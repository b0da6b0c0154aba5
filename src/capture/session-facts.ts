/** The agent's facts about itself, which later events repeat: bounded on entry and where they are repeated. */
import { charsIn } from '../lib/chars-of.ts';
import { keptName, shortenedNames } from '../lib/foreign.ts';
import type { DraftOf } from '../model/draft.ts';
import type { DataOf } from '../model/event.ts';
import { problem } from './decode.ts';
import { CAPTURE_LIMITS } from './limits.ts';
import type { RunState } from './run-state.ts';

type Session = DraftOf<'session_started'>;

const NAMES = ['session_id', 'model', 'agent_version', 'permission_mode'] as const;

/** The draft with bounded names, preceded by a problem if one was too long. */
export function keptSession(draft: Session): [Session] | [DraftOf<'problem'>, Session] {
  const data = { ...draft.data };
  shortenedNames();
  for (const name of NAMES) {
    const text = data[name];
    if (text !== null) data[name] = keptName(text);
  }
  data.tools = data.tools && keptTools(data.tools);
  const kept = { ...draft, data };
  const shortened = shortenedNames();
  if (shortened !== null) return [shortened, kept];
  if (data.tools?.length === draft.data.tools?.length) return [kept];
  const detail = `the agent has ${draft.data.tools?.length} tools: ${data.tools?.length} were kept`;
  return [problem('correlate', 'truncated_value', detail), kept];
}

function keptTools(tools: string[]): string[] {
  let room = CAPTURE_LIMITS.tools_chars_max;
  const kept = tools.slice(0, CAPTURE_LIMITS.tools_max).map(keptName);
  const end = kept.findIndex((tool) => {
    room -= charsIn([tool]);
    return room < 0;
  });
  return end < 0 ? kept : kept.slice(0, end);
}

interface StepContext {
  state: RunState;
  emit(kind: 'problem' | 'step_started', data: DataOf<'problem'> | DataOf<'step_started'>): void;
  /** Bytes of the input before the record that is being handled. */
  offset(): number;
}

/**
 * A step repeats the session's tools only up to a share of the input: a long list and many short steps would multiply
 * it.
 */
export function startStep(context: StepContext, data: DraftOf<'step_started'>['data']): void {
  const { state, emit, offset } = context;
  const most =
    CAPTURE_LIMITS.step_tools_chars_free + CAPTURE_LIMITS.step_tools_input_share * offset();
  const fits = state.step_tools_chars + charsIn(state.tools) <= most;
  if (!fits && data.allowed_tools === null && !state.tools_left_out) {
    const detail = 'the list of tools is long: later steps do not repeat it';
    emit('problem', problem('correlate', 'truncated_value', detail).data);
  }
  emit('step_started', {
    step_id: data.step_id,
    step_index: state.step + 1,
    allowed_tools: data.allowed_tools ?? (fits ? state.tools : null),
    enforcement_mode: data.enforcement_mode ?? state.permission_mode,
  });
}
