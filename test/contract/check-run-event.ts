/**
 * An independent reader of `openagent.run_event.v1` that reports every violation in a recorded stdout.
 * Contract: shares no table with the sources, so that a mistake there cannot hide here.
 */

const ENVELOPE = ['schema_version', 'sequence', 'ts', 'run_id', 'step', 'type', 'data'];

const DECLARED: Readonly<Record<string, string>> = {
  run_started: 'agent agent_version model session_id cwd fingerprint',
  step_started: 'step_id step_index allowed_tools enforcement_mode',
  tool_call_detected:
    'tool_call_id tool native_tool parent_tool_call_id input_preview truncated original_bytes',
  tool_decision: 'tool_call_id tool decision reason source',
  tool_exec_started: 'tool_call_id tool',
  tool_exec_finished:
    'tool_call_id tool ok status exit_code duration_ms content_preview truncated original_bytes',
  tool_retry: 'tool_call_id tool attempt max_retries failure_class action',
  step_blocked: 'reason tool step_id',
  provider_retry: 'attempt max_attempts kind status backoff_ms',
  provider_error: 'kind status retryable message_short',
  run_finished:
    'exit_reason ok final_output error session_id model usage cost_usd duration_ms tool_calls terminal_evidence completeness agent_exit_code agent_signal truncated original_bytes',
};
const DELTA = 'text message_id';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/;
const STRING_BYTES_MAX = 4096;

/** The allowed order of a call's records (RE-11). */
const STAGES: Readonly<Record<string, number>> = {
  tool_call_detected: 1,
  tool_decision: 2,
  tool_exec_started: 3,
  tool_exec_finished: 4,
};

interface Line {
  schema_version: unknown;
  sequence: unknown;
  ts: string;
  run_id: string;
  step: number;
  type: string;
  data: Record<string, unknown>;
}
interface Seen {
  lines: number;
  ts: string;
  run_id: string | null;
  step: number;
  finished: boolean;
  /** Per call, the highest stage seen. */
  calls: Map<string, number>;
  started: Set<string>;
}

export interface CheckOptions {
  /** `--stream` was given: `model_delta` records are allowed (RE-17). */
  stream?: boolean;
  /** tacho itself was killed: the end may be missing and the last line torn. */
  cut?: boolean;
}

/** Every violation of the contract in `bytes`, one sentence each; empty when the stream is valid. */
export function checkRunEvents(bytes: Uint8Array, options: CheckOptions = {}): string[] {
  const text = Buffer.from(bytes).toString('utf8');
  const bad: string[] = [];
  if (!Buffer.from(text, 'utf8').equals(bytes)) bad.push('stdout is not valid UTF-8');
  if (CONTROL.test(text)) bad.push('stdout has a control character');
  const lines = text.split('\n');
  const last = lines.pop();
  if (last !== '' && !options.cut) bad.push('stdout does not end with a newline');
  const seen: Seen = {
    lines: 0,
    ts: '',
    run_id: null,
    step: 0,
    finished: false,
    calls: new Map(),
    started: new Set(),
  };
  for (const line of lines) {
    seen.lines += 1;
    for (const breach of checkLine(line, seen, options)) bad.push(`line ${seen.lines}: ${breach}`);
  }
  if (!seen.finished && !options.cut) bad.push('there is no run_finished');
  return bad;
}

function* checkLine(text: string, seen: Seen, options: CheckOptions): Generator<string> {
  let line: Line;
  try {
    line = JSON.parse(text) as Line;
  } catch {
    yield 'is no JSON';
    return;
  }
  if (line === null || typeof line !== 'object' || Array.isArray(line)) {
    yield 'is not an object';
    return;
  }
  if (Object.keys(line).join() !== ENVELOPE.join()) {
    yield `keys are ${Object.keys(line).join()}`;
    return;
  }
  yield* checkEnvelope(line, seen);
  yield* checkData(line, options);
  yield* checkOrder(line, seen);
}

function* checkEnvelope(line: Line, seen: Seen): Generator<string> {
  if (line.schema_version !== 'openagent.run_event.v1') {
    yield `schema_version is ${line.schema_version}`;
  }
  if (line.sequence !== seen.lines) yield `sequence is ${line.sequence}`;
  if (!TIME.test(line.ts)) yield `ts is ${line.ts}`;
  if (line.ts < seen.ts) yield `ts ${line.ts} is before ${seen.ts}`;
  seen.ts = line.ts;
  seen.run_id ??= line.run_id;
  if (line.run_id !== seen.run_id) yield `run_id changes to ${line.run_id}`;
  if (!Number.isInteger(line.step) || line.step < seen.step) yield `step is ${line.step}`;
  seen.step = line.step;
}

function* checkData(line: Line, options: CheckOptions): Generator<string> {
  const delta = line.type === 'model_delta' && options.stream === true;
  const declared = delta ? DELTA : DECLARED[line.type];
  if (declared === undefined) {
    yield `type is ${line.type}`;
    return;
  }
  for (const key of declared.split(' ')) {
    if (!Object.hasOwn(line.data, key)) yield `${line.type} lacks ${key}`;
  }
  for (const bytes of longStrings(line.data)) yield `${line.type} has a string of ${bytes} bytes`;
  if (!declared.includes('truncated')) return;
  const { truncated, original_bytes } = line.data;
  const cut = typeof original_bytes === 'number' && original_bytes > STRING_BYTES_MAX;
  if (truncated !== cut || (!cut && original_bytes !== null)) {
    yield `${line.type}: truncated ${truncated} with original_bytes ${original_bytes}`;
  }
}

function* longStrings(value: unknown): Generator<number> {
  if (typeof value === 'string') {
    const bytes = Buffer.byteLength(value);
    if (bytes > STRING_BYTES_MAX) yield bytes;
  } else if (value !== null && typeof value === 'object') {
    for (const item of Object.values(value)) yield* longStrings(item);
  }
}

function* checkOrder(line: Line, seen: Seen): Generator<string> {
  if (seen.finished) yield `${line.type} after run_finished`;
  const stage = STAGES[line.type];
  if (stage !== undefined) {
    const call = String(line.data.tool_call_id);
    const before = seen.calls.get(call) ?? 0;
    if (stage > 1 && before === 0) yield `call ${call}: ${line.type} before tool_call_detected`;
    if (stage <= before) yield `call ${call}: ${line.type} comes too late or twice`;
    seen.calls.set(call, Math.max(stage, before));
    if (stage === 3) seen.started.add(call);
    if (stage === 4) seen.started.delete(call);
  }
  if (line.type !== 'run_finished') return;
  seen.finished = true;
  for (const call of seen.started) yield `call ${call} is still open`;
  yield* checkEnd(line, seen);
}

function* checkEnd(line: Line, seen: Seen): Generator<string> {
  const { exit_reason, ok, error } = line.data;
  if (ok !== (exit_reason === 'ok')) yield `ok is ${ok} with exit_reason ${exit_reason}`;
  if (line.run_id !== '') return;
  // RE-13: when no run started, this is the only record.
  if (seen.lines !== 1 || line.step !== 0) yield 'a record without a run id is not the only one';
  if (exit_reason !== 'pre_run_error' || typeof error !== 'string') {
    yield `exit_reason ${exit_reason} without a run id`;
  }
}
