/** The locked contract in full: a change here changes `openagent.run_event.v1`, which may only gain data keys. */
import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { RunEventData, RunEventSchema } from '../../src/model/run-event.ts';
import {
  CALL_STATUSES,
  COMPLETENESS_GRADES,
  CONTENT_PREVIEW_MAX_BYTES,
  DECISIONS,
  EXIT_REASONS,
  RUN_EVENT_SCHEMA,
  RUN_EVENT_TYPES,
  TERMINAL_EVIDENCES,
} from '../../src/model/words.ts';
import { createRunEventProjection, serialiseRunEvent } from '../../src/projections/run-event.ts';
import { createMaker, EVENT_KINDS } from '../build-events.ts';
import { verifies } from '../e2e/verifies.ts';

const ENVELOPE = ['schema_version', 'sequence', 'ts', 'run_id', 'step', 'type', 'data'];

const KEYS = {
  run_started: ['agent', 'agent_version', 'model', 'session_id', 'cwd', 'fingerprint'],
  step_started: ['step_id', 'step_index', 'allowed_tools', 'enforcement_mode'],
  tool_call_detected: [
    'tool_call_id',
    'tool',
    'native_tool',
    'parent_tool_call_id',
    'input_preview',
    'truncated',
    'original_bytes',
  ],
  tool_decision: ['tool_call_id', 'tool', 'decision', 'reason', 'source'],
  tool_exec_started: ['tool_call_id', 'tool'],
  tool_exec_finished: [
    'tool_call_id',
    'tool',
    'ok',
    'status',
    'exit_code',
    'duration_ms',
    'content_preview',
    'truncated',
    'original_bytes',
  ],
  tool_retry: ['tool_call_id', 'tool', 'attempt', 'max_retries', 'failure_class', 'action'],
  step_blocked: ['reason', 'tool', 'step_id'],
  provider_retry: ['attempt', 'max_attempts', 'kind', 'status', 'backoff_ms'],
  provider_error: ['kind', 'status', 'retryable', 'message_short'],
  run_finished: [
    'exit_reason',
    'ok',
    'final_output',
    'error',
    'session_id',
    'model',
    'usage',
    'cost_usd',
    'duration_ms',
    'tool_calls',
    'terminal_evidence',
    'completeness',
    'agent_exit_code',
    'agent_signal',
    'truncated',
    'original_bytes',
  ],
  model_delta: ['text', 'message_id', 'truncated', 'original_bytes'],
};

describe('openagent.run_event.v1', () => {
  verifies('RE-9', 'every type declares exactly its keys, all of them required', () => {
    const declared = Object.entries(RunEventData).map(([type, schema]) => [
      type,
      Object.keys(schema.properties),
      schema.required,
    ]);
    expect(declared).toEqual(Object.entries(KEYS).map(([type, keys]) => [type, keys, keys]));
  });

  verifies(
    ['RE-8', 'RE-9'],
    'every projected type has its seven envelope keys and its data keys',
    () => {
      const make = createMaker();
      const { project } = createRunEventProjection({ stream: true });
      const lines = EVENT_KINDS.map((kind) => project(make(kind))).filter(
        (record) => record !== null,
      );
      const schema = Compile(RunEventSchema);
      expect(lines.flatMap((record) => [...schema.Errors(record)])).toEqual([]);
      const seen = lines.map((record) => JSON.parse(serialiseRunEvent(record)));
      expect(seen.map((record) => Object.keys(record))).toEqual(seen.map(() => ENVELOPE));
      expect(
        Object.fromEntries(seen.map((record) => [record.type, Object.keys(record.data)])),
      ).toEqual(KEYS);
    },
  );

  test('the envelope accepts no other key', () => {
    const members = (RunEventSchema as unknown as { anyOf: Record<string, unknown>[] }).anyOf;
    expect(members.map((member) => [member.required, member.additionalProperties])).toEqual(
      members.map(() => [ENVELOPE, false]),
    );
    expect(members.length).toBe(12);
  });

  test('usage and completeness have the members of the contract', () => {
    const { usage, completeness } = RunEventData.run_finished.properties;
    expect(Object.keys(usage.anyOf[0].properties)).toEqual([
      'input',
      'output',
      'cache_read',
      'cache_write',
      'reasoning',
    ]);
    expect(Object.keys(completeness.properties)).toEqual(['grade', 'gaps']);
  });

  test('enumerations have the words of the contract', () => {
    expect({
      RUN_EVENT_SCHEMA,
      CONTENT_PREVIEW_MAX_BYTES,
      RUN_EVENT_TYPES,
      EXIT_REASONS,
      CALL_STATUSES,
      DECISIONS,
      TERMINAL_EVIDENCES,
      COMPLETENESS_GRADES,
    }).toEqual({
      RUN_EVENT_SCHEMA: 'openagent.run_event.v1',
      CONTENT_PREVIEW_MAX_BYTES: 4096,
      RUN_EVENT_TYPES: [
        'run_started',
        'step_started',
        'tool_call_detected',
        'tool_decision',
        'tool_exec_started',
        'tool_exec_finished',
        'tool_retry',
        'step_blocked',
        'provider_retry',
        'provider_error',
        'run_finished',
      ],
      EXIT_REASONS: [
        'ok',
        'agent_error',
        'incomplete',
        'provider_error',
        'denied',
        'approval_required',
        'max_steps',
        'budget_exceeded',
        'pre_run_error',
        'capture_error',
        'timeout',
        'cancelled',
      ],
      CALL_STATUSES: ['ok', 'error', 'denied', 'timeout', 'cancelled', 'unknown'],
      DECISIONS: ['allow', 'deny', 'require_approval'],
      TERMINAL_EVIDENCES: ['native_result', 'inferred', 'process_exit', 'none'],
      COMPLETENESS_GRADES: ['complete', 'partial', 'unavailable'],
    });
  });
});
