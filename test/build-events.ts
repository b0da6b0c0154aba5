/** Canonical events for tests, with defaults for all other fields: run r_1, times from 1,000,000 ms, 1 ms apart. */
import {
  type DataOf,
  type Event,
  EventData,
  type EventKind,
  type EventOf,
} from '../src/model/event.ts';
import type { RunConfig, Usage } from '../src/model/parts.ts';

export const EVENT_KINDS = Object.keys(EventData) as EventKind[];

export type MakeEvent = <K extends EventKind>(
  kind: K,
  data?: Partial<DataOf<K>>,
  envelope?: Partial<Omit<Event, 'kind' | 'data'>>,
) => { [P in K]: EventOf<P> }[K];

export const USAGE: Usage = {
  input: 100,
  output: 20,
  cache_read: 5,
  cache_write: null,
  reasoning: null,
};

export const CONFIG: RunConfig = {
  agent: 'demo',
  target: null,
  model: null,
  approve: 'default',
  args: [],
  env_names: [],
  resume: null,
  timeout_ms: null,
  output_mode: 'human',
  stream: false,
  tui: false,
  events_path: null,
  final_output_path: null,
  labels: {},
};

const CALL = { call_id: 'c1', tool: 'Bash' };
const TEXT = { message_id: 'm1', parent_call_id: null, text: 'Hello.' };

const DEFAULTS: { [K in EventKind]: DataOf<K> } = {
  run_started: {
    agent: 'demo',
    agent_version: '1.0',
    model: 'toy',
    session_id: 's1',
    cwd: '/home/user/project',
    fingerprint: 'f1',
    prompt: 'Say hello',
    config: CONFIG,
  },
  session_started: {
    session_id: 's1',
    model: 'toy',
    agent_version: '1.0',
    cwd: '/home/user/project',
    tools: null,
    permission_mode: null,
  },
  step_started: { step_id: null, step_index: 1, allowed_tools: null, enforcement_mode: null },
  step_finished: { step_id: null, reason: null },
  message_delta: TEXT,
  message_finished: { ...TEXT, role: 'assistant', synthetic: false, partial: false },
  thinking_delta: TEXT,
  thinking_finished: TEXT,
  call_requested: {
    ...CALL,
    native_call_id: 'c1',
    native_tool: 'bash',
    row: 'demo:bash',
    input: { command: 'npm test' },
    reads: [],
    parent_call_id: null,
  },
  call_decided: { ...CALL, decision: 'allow', reason: null, source: null },
  call_started: CALL,
  call_progress: { ...CALL, text: null, elapsed_ms: null, stream: null },
  call_finished: {
    ...CALL,
    ok: true,
    status: 'ok',
    exit_code: 0,
    duration_ms: 12,
    output: 'done',
  },
  call_updated: { ...CALL, status: null, exit_code: null },
  call_retried: { ...CALL, attempt: 2, max_retries: 3, failure_class: 'network', action: 'retry' },
  step_blocked: { reason: 'no permission', tool: 'Bash', step_id: null },
  permission_asked: { request_id: null, call_id: 'c1', tool: 'Bash', reason: null },
  permission_answered: {
    request_id: null,
    call_id: 'c1',
    tool: 'Bash',
    decision: 'deny',
    source: null,
  },
  file_changed: {
    path: 'a.txt',
    operation: 'created',
    call_id: null,
    source: 'tool',
    diff: null,
    size: null,
  },
  skill_used: { skill: 'greeting', call_id: null },
  usage_reported: { mode: 'add', usage: USAGE, cost_usd: null, model: null },
  provider_retried: {
    attempt: 1,
    max_attempts: 3,
    kind: 'rate_limit',
    status: 429,
    backoff_ms: 500,
  },
  provider_failed: { kind: 'overloaded', status: 529, retryable: true, message: 'Overloaded' },
  hook_finished: { name: 'h', event: null, exit_code: 0, outcome: null, output: null },
  notice: { code: 'n', text: 'a notice' },
  problem: {
    stage: 'decode',
    code: 'not_json',
    detail: 'no JSON',
    bytes: null,
    sha256: null,
    excerpt: null,
  },
  agent_ended: { exit_reason: 'ok', error: null, evidence: 'native_result' },
  process_exited: { exit_code: 0, signal: null, cause: null },
  run_finished: {
    exit_reason: 'ok',
    ok: true,
    final_output: 'Hello.',
    error: null,
    session_id: 's1',
    model: 'toy',
    usage: USAGE,
    cost_usd: 0.0123,
    cost_source: 'agent',
    duration_ms: 1234,
    tool_calls: 1,
    steps: 1,
    provider_retries: 0,
    provider_errors: 0,
    terminal_evidence: 'native_result',
    completeness: { grade: 'complete', gaps: [], filled: [] },
    agent_exit_code: 0,
    agent_signal: null,
    redactions: {},
    digest: null,
  },
};

export function createMaker(): MakeEvent {
  let seq = 0;
  let step = 0;
  return (kind, data, envelope) => {
    seq += 1;
    if (kind === 'step_started') step += 1;
    return {
      v: 1,
      run_id: 'r_1',
      seq,
      at_ms: 999_999 + seq,
      at_source: 'observed',
      step,
      raw: null,
      ...envelope,
      kind,
      data: { ...DEFAULTS[kind], ...data },
    } as never;
  };
}
