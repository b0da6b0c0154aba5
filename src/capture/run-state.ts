/**
 * The state of a run: a pure fold over its events, so that capture can continue from the journal after a recorder was
 * killed.
 */
import { BoundedSet } from '../lib/bounded.ts';
import { charsIn } from '../lib/chars-of.ts';
import { LIMITS } from '../lib/limits.ts';
import { own } from '../lib/own.ts';
import type { DataOf, Event, Raw } from '../model/event.ts';
import { copyOf, FinalText, RunFold } from '../model/run-fold.ts';
import type { Channel, ProblemCode } from '../model/words.ts';
import { CallStates, type KeyOf } from './call-states.ts';
import { CAPTURE_LIMITS } from './limits.ts';

export class RunState extends RunFold {
  seq = 0;
  /** Time of the last event. No event may be earlier. */
  at_ms = 0;
  step_id: string | null = null;
  tools: string[] | null = null;
  permission_mode: string | null = null;
  /** Characters of the tools that steps repeated, and whether a step omitted them. */
  step_tools_chars = 0;
  tools_left_out = false;
  readonly calls: CallStates;
  readonly text: FinalText;
  ended: DataOf<'agent_ended'> | null = null;
  exited: DataOf<'process_exited'> | null = null;
  readonly problems = new Map<ProblemCode, number>();
  /** Whether the run's own stream ended in the middle of a line. */
  torn = false;
  /** Used to recognise them in the session file. The outcome counts those beyond the limits. */
  readonly skills = new BoundedSet(LIMITS.skill_uses_max, LIMITS.skill_uses_chars_max);
  readonly files = new BoundedSet(LIMITS.artifacts_max, LIMITS.artifacts_chars_max);
  had_thinking = false;
  /** The cost by the list of prices, if the run has a limit for it. Null: unknown, or reported by the agent. */
  computed_usd: number | null = null;
  /** A model without a known price. */
  unpriced: string | null = null;
  /** Names of the values that the session file added to a live run (AG-16). */
  readonly filled = new Set<string>();
  /** The last lines of stderr, for runs without any other output. */
  readonly stderr_tail: string[] = [];
  /** Offset of the last line of each file that produced an event, by `fileOf`. */
  readonly read = new Map<string, number>();
  /** Number of drafts that were not recorded because the run had reached its limit of events. */
  over_limit = 0;

  /** `trim`: as for `FinalText`. */
  constructor(keyOf: KeyOf | null = null, trim?: (text: string) => string) {
    super();
    this.text = new FinalText(LIMITS.final_output_chars_max, trim);
    this.calls = new CallStates(keyOf);
  }

  /** A copy that continues separately. */
  override fork(): this {
    return copyOf(super.fork(), {
      calls: this.calls.fork(),
      text: this.text.fork(),
      problems: new Map(this.problems),
      skills: this.skills.fork(),
      files: this.files.fork(),
      filled: new Set(this.filled),
      stderr_tail: [...this.stderr_tail],
      read: new Map(this.read),
    } as Partial<this>);
  }
}

/** The names of filled values in `completeness.filled`. */
const FILLED_NAMES: Partial<Record<Event['kind'], string>> = {
  session_started: 'model',
  call_requested: 'calls',
  call_finished: 'call_results',
  call_updated: 'call_results',
  usage_reported: 'usage',
  skill_used: 'skills',
  file_changed: 'files',
  message_finished: 'text',
  thinking_finished: 'thinking',
  agent_ended: 'end',
  provider_retried: 'provider_retries',
};

/** The file of a line: the only file of its channel, or one of several. */
export function fileOf({ channel, file }: Raw): string {
  return file === undefined ? channel : `${channel} ${file}`;
}

export function applyEvent(state: RunState, event: Event, primary: Channel): void {
  state.seq = event.seq;
  state.at_ms = event.at_ms;
  state.push(event);
  state.text.push(event);
  if (event.raw !== null) {
    // Lines after the limit were not recorded: a recovery reads them again to count them.
    if (event.seq <= CAPTURE_LIMITS.run_events_max)
      state.read.set(fileOf(event.raw), event.raw.offset);
    if (event.raw.channel === 'session' && primary !== 'session') {
      const name = own(FILLED_NAMES, event.kind);
      if (name !== undefined) state.filled.add(name);
    }
  }
  if (event.kind === 'problem' && event.data.code === 'torn_line')
    state.torn ||= event.raw?.channel === primary;
  applyKind(state, event);
}

function applyKind(state: RunState, event: Event): void {
  switch (event.kind) {
    case 'session_started':
      state.tools ??= event.data.tools;
      state.permission_mode ??= event.data.permission_mode;
      break;
    case 'step_started':
      state.step_tools_chars += charsIn(event.data.allowed_tools);
      state.tools_left_out ||= event.data.allowed_tools === null && state.tools !== null;
      state.step_id = event.data.step_id;
      break;
    case 'thinking_finished':
      state.had_thinking = true;
      break;
    case 'skill_used':
      state.skills.add(event.data.skill);
      break;
    case 'file_changed':
      state.files.add(event.data.path);
      break;
    case 'problem':
      countProblem(state, event.data);
      break;
    case 'notice':
      if (event.data.code === 'stderr') keepStderr(state, event.data.text);
      break;
    case 'agent_ended':
      state.ended = event.data;
      break;
    case 'process_exited':
      state.exited = event.data;
      break;
    case 'call_requested':
    case 'call_decided':
    case 'call_started':
    case 'call_finished':
    case 'call_updated':
      state.calls.push(event);
      break;
  }
}

function countProblem({ problems }: RunState, { code, count = 1 }: DataOf<'problem'>): void {
  problems.set(code, (problems.get(code) ?? 0) + count);
}

function keepStderr(state: RunState, text: string | null): void {
  if (text === null) return;
  for (const line of text.split('\n').slice(-5)) {
    if (line.trim() === '') continue;
    state.stderr_tail.push(line.slice(0, 300));
    if (state.stderr_tail.length > 5) state.stderr_tail.shift();
  }
}
