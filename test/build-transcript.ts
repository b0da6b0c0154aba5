/** Hand-made transcripts for tests, with defaults for all other fields. */
import type { Transcript, TranscriptCall } from '../src/model/transcript.ts';

export function call(name: string, input: unknown = {}, more: Partial<TranscriptCall> = {}) {
  return {
    id: 'c1',
    name,
    native_name: name,
    input,
    output: null,
    status: 'ok',
    exit_code: null,
    reads: [],
    start_time_ms: null,
    end_time_ms: null,
    duration_ms: null,
    ...more,
  } satisfies TranscriptCall;
}

/** Calls get the ids c1, c2, … unless they have one. */
export function transcript(
  calls: readonly TranscriptCall[] = [],
  more: Partial<Transcript> = {},
): Transcript {
  const tool_calls = calls.map((one, i) => ({
    ...one,
    id: one.id === 'c1' ? `c${i + 1}` : one.id,
  }));
  const message = {
    index: 0,
    role: 'assistant' as const,
    content: 'Done.',
    thinking: null,
    tool_calls,
    step: 1,
    time_ms: null,
    parent_tool_call_id: null,
  };
  return {
    schema_version: 'tacho.transcript.v1',
    test_id: null,
    run_id: 'r_1',
    session_id: null,
    agent: 'demo',
    agent_version: null,
    target: null,
    model: null,
    success: true,
    exit_reason: 'ok',
    terminal_evidence: 'native_result',
    final_output: 'Done.',
    skills_used: [],
    messages: [message],
    start_time_ms: 1_000_000,
    end_time_ms: 1_002_000,
    duration_ms: 2_000,
    steps: 2,
    tool_calls_count: calls.length,
    token_usage: { input: 100, output: 20, cache_read: 5, cache_write: null, reasoning: null },
    cost_usd: 0.02,
    cost_source: 'agent',
    completeness: { grade: 'complete', gaps: [], filled: [] },
    source: { kind: 'run', path: null, cwd: null },
    ...more,
  };
}
