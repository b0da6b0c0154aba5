/**
 * Metadata-only mode (WA-12): removes texts, inputs, outputs, diffs, commands, paths of files and errors from events. Keeps
 * counts, names, times, statuses, exit codes, token figures, costs and ids, and the folder and project of the session.
 * Contract: pure. It runs after the gate and before the journal, so that a removed text is never stored.
 */
import { isMap, own } from '../../lib/own.ts';
import type { DataOf, Event, EventKind } from '../../model/event.ts';
import { METADATA_ONLY_LABEL } from '../../model/words.ts';

/** A short identifier: it cannot be a sentence, a command or a path. */
const WORD = /^[\w.:-]{1,64}$/;

const isWord = (text: unknown): text is string => typeof text === 'string' && WORD.test(text);
/** For fields that contain words of the agent's vocabulary: anything else is removed. */
const wordOrNull = (text: string | null) => (isWord(text) ? text : null);
const wordOrEmpty = (text: string) => (isWord(text) ? text : '');

/** The name of a tool. A model can call a tool that does not exist, and its name can be any text. */
const NAME = /^[^\s/\\][^\s\\]{0,127}$/;
const NAME_FIELDS: ReadonlySet<string> = new Set(['tool', 'native_tool', 'row']);

/** Replaces a path: the same for the same path, so that changed files can still be counted. */
type Mark = (path: string) => string;

type Keep = { readonly [K in EventKind]: (data: DataOf<K>, mark: Mark) => DataOf<K> };

const unchanged = <T>(data: T): T => data;
const withoutText = <T extends { text: string }>(data: T): T => ({ ...data, text: '' });

/** The name of a used skill is a name. */
function inputOf({ tool, input }: DataOf<'call_requested'>): Record<string, unknown> {
  const skill = tool === 'Skill' && isMap(input) ? own(input, 'skill') : undefined;
  return isWord(skill) ? { skill } : {};
}

function startOf(data: DataOf<'run_started'>): DataOf<'run_started'> {
  const { config } = data;
  const hidden = { args: [], events_path: null, final_output_path: null };
  const labels = { ...config?.labels, [METADATA_ONLY_LABEL]: 'true' };
  const { command: _command, ...kept } = config ?? {};
  return {
    ...data,
    prompt: null,
    config: config === null ? null : ({ ...kept, ...hidden, labels } as typeof config),
  };
}

/** Every kind is listed: a new one does not compile before someone decides what it keeps. */
const KEEP: Keep = {
  run_started: startOf,
  session_started: (data) => ({ ...data, permission_mode: wordOrNull(data.permission_mode) }),
  step_started: (data) => ({ ...data, enforcement_mode: wordOrNull(data.enforcement_mode) }),
  step_finished: (data) => ({ ...data, reason: wordOrNull(data.reason) }),
  message_delta: withoutText,
  message_finished: withoutText,
  thinking_delta: withoutText,
  thinking_finished: withoutText,
  call_requested: (data) => ({ ...data, input: inputOf(data), reads: [] }),
  call_decided: (data) => ({ ...data, reason: null, source: wordOrNull(data.source) }),
  call_started: unchanged,
  call_progress: (data) => ({ ...data, text: null, stream: wordOrNull(data.stream) }),
  call_finished: (data) => ({ ...data, output: null }),
  call_updated: unchanged,
  call_retried: (data) => ({
    ...data,
    failure_class: wordOrNull(data.failure_class),
    action: wordOrNull(data.action),
  }),
  step_blocked: (data) => ({ ...data, reason: wordOrEmpty(data.reason) }),
  permission_asked: (data) => ({ ...data, reason: null }),
  permission_answered: (data) => ({ ...data, source: wordOrNull(data.source) }),
  file_changed: (data, mark) => ({ ...data, path: mark(data.path), diff: null }),
  skill_used: (data) => ({ ...data, skill: wordOrEmpty(data.skill) }),
  usage_reported: unchanged,
  provider_retried: (data) => ({ ...data, ...nativeKind(data) }),
  provider_failed: (data) => ({ ...data, ...nativeKind(data), message: '' }),
  hook_finished: (data) => ({
    ...data,
    name: wordOrEmpty(data.name),
    event: wordOrNull(data.event),
    outcome: wordOrNull(data.outcome),
    output: null,
  }),
  notice: (data) => ({ ...data, code: wordOrEmpty(data.code), text: null }),
  // The hash would confirm a guess of the line.
  problem: (data) => ({ ...data, detail: '', sha256: null, excerpt: null }),
  agent_ended: (data) => ({ ...data, error: null }),
  process_exited: unchanged,
  run_finished: (data) => ({ ...data, final_output: '', error: null }),
};

/** Absent stays absent. */
function nativeKind(data: { kind: string | null; native_kind?: string | null | undefined }) {
  const kind = wordOrNull(data.kind);
  if (data.native_kind === undefined) return { kind };
  return { kind, native_kind: wordOrNull(data.native_kind) };
}

/**
 * The event without its contents. `mark` replaces the paths of changed files. Default: all paths become empty, and changed
 * files are counted as one.
 */
export function metadataOnly(event: Event, mark: Mark = () => ''): Event {
  const keep = KEEP[event.kind] as (data: DataOf<EventKind>, mark: Mark) => DataOf<EventKind>;
  const kept = keep(event.data, mark);
  const wrong = Object.entries(kept).filter(
    ([field, name]) => NAME_FIELDS.has(field) && typeof name === 'string' && !NAME.test(name),
  );
  const data = { ...kept, ...Object.fromEntries(wrong.map(([field]) => [field, 'unknown'])) };
  return { ...event, data } as Event;
}
