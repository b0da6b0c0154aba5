/** Demo records → drafts. Session files hold the same records as stdout: session.ts reads them with this. */
import { codeOf, costOf, countOf, durationOf, statusOf, tokensOf } from '../../lib/foreign.ts';
import type { Decoder, SessionPart } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import { DECISIONS, FILE_OPERATIONS } from '../../model/words.ts';
import {
  asRecord,
  END_REASONS,
  END_STATUSES,
  flagOf,
  idOf,
  type Native,
  namesOf,
  type RecordType,
  textOf,
  timeOf,
  wordOf,
} from './native.ts';

/** `parent`: the call whose sub-agent wrote the record. Null: the record's shape is impossible. */
type Read = (record: Native, parent: string | null) => readonly Draft[] | null;

const NOTHING: readonly Draft[] = [];

const readers: Readonly<Record<RecordType, Read>> = {
  hello: (record) => [
    {
      kind: 'session_started',
      data: {
        session_id: textOf(record, 'session'),
        model: textOf(record, 'model'),
        agent_version: textOf(record, 'version'),
        cwd: textOf(record, 'cwd'),
        tools: namesOf(record, 'tools'),
        permission_mode: textOf(record, 'approve'),
      },
    },
  ],
  prompt: (record, parent) => message(record, parent, 'user'),
  // A sub-agent's turns are not the run's steps.
  turn: (record, parent) =>
    parent !== null
      ? NOTHING
      : [
          {
            kind: 'step_started',
            data: {
              step_id: idOf(record, 'id'),
              allowed_tools: namesOf(record, 'allowed'),
              enforcement_mode: textOf(record, 'mode'),
            },
          },
        ],
  turn_end: (record, parent) =>
    parent !== null
      ? NOTHING
      : [
          {
            kind: 'step_finished',
            data: { step_id: idOf(record, 'id'), reason: textOf(record, 'reason') },
          },
        ],
  think_delta: (record, parent) => words('thinking_delta', record, parent),
  think: (record, parent) => words('thinking_finished', record, parent),
  text_delta: (record, parent) => words('message_delta', record, parent),
  text: (record, parent) => message(record, parent, 'assistant'),
  call: readCall,
  permission: (record) => [
    {
      kind: 'permission_asked',
      data: {
        request_id: idOf(record, 'request'),
        call_id: idOf(record, 'call'),
        tool: idOf(record, 'tool'),
        reason: textOf(record, 'reason'),
      },
    },
  ],
  decision: readDecision,
  call_start: (record) => {
    const call_id = idOf(record, 'call');
    return call_id === null ? null : [{ kind: 'call_started', data: { call_id } }];
  },
  call_output: (record) => {
    const call_id = idOf(record, 'call');
    if (call_id === null) return null;
    return [
      {
        kind: 'call_progress',
        data: {
          call_id,
          text: textOf(record, 'text'),
          elapsed_ms: durationOf(record.ms),
          stream: textOf(record, 'stream'),
        },
      },
    ];
  },
  call_end: readCallEnd,
  call_late: (record) => {
    const call_id = idOf(record, 'call');
    if (call_id === null) return null;
    return [
      {
        kind: 'call_updated',
        data: {
          call_id,
          status: wordOf(record, 'status', END_STATUSES),
          exit_code: codeOf(record.exit_code),
        },
      },
    ];
  },
  call_retry: (record) => {
    const call_id = idOf(record, 'call');
    const attempt = countOf(record.attempt);
    if (call_id === null || attempt === null) return null;
    return [
      {
        kind: 'call_retried',
        data: {
          call_id,
          attempt,
          max_retries: countOf(record.max),
          failure_class: textOf(record, 'why'),
          action: textOf(record, 'action'),
        },
      },
    ];
  },
  file: (record) => {
    const path = textOf(record, 'path');
    const operation = wordOf(record, 'operation', FILE_OPERATIONS);
    if (path === null || operation === null) return null;
    return [
      {
        kind: 'file_changed',
        data: {
          path,
          operation,
          call_id: idOf(record, 'call'),
          source: 'tool',
          diff: textOf(record, 'diff'),
          size: countOf(record.size),
        },
      },
    ];
  },
  skill: (record) => {
    const skill = textOf(record, 'name');
    if (skill === null) return null;
    return [{ kind: 'skill_used', data: { skill, call_id: idOf(record, 'call') } }];
  },
  blocked: (record) => {
    const reason = textOf(record, 'reason');
    if (reason === null) return null;
    const data = { reason, tool: idOf(record, 'tool'), step_id: idOf(record, 'turn') };
    return [{ kind: 'step_blocked', data }];
  },
  usage: (record) => [
    {
      kind: 'usage_reported',
      data: {
        mode: 'add',
        usage: {
          input: tokensOf(record.input),
          output: tokensOf(record.output),
          cache_read: tokensOf(record.cache_read),
          cache_write: tokensOf(record.cache_write),
          reasoning: tokensOf(record.reasoning),
        },
        cost_usd: costOf(record.cost),
        model: textOf(record, 'model'),
      },
    },
  ],
  api_retry: (record) => [
    {
      kind: 'provider_retried',
      data: {
        attempt: countOf(record.attempt),
        max_attempts: countOf(record.max),
        kind: textOf(record, 'kind'),
        status: statusOf(record.status),
        backoff_ms: durationOf(record.wait_ms),
      },
    },
  ],
  api_error: (record) => [
    {
      kind: 'provider_failed',
      data: {
        kind: textOf(record, 'kind'),
        status: statusOf(record.status),
        retryable: flagOf(record, 'retryable'),
        message: textOf(record, 'message') ?? '',
      },
    },
  ],
  hook: (record) => {
    const name = textOf(record, 'name');
    if (name === null) return null;
    return [
      {
        kind: 'hook_finished',
        data: {
          name,
          event: textOf(record, 'event'),
          exit_code: codeOf(record.exit_code),
          outcome: textOf(record, 'outcome'),
          output: textOf(record, 'output'),
        },
      },
    ];
  },
  note: (record) => {
    const code = textOf(record, 'code');
    return code === null
      ? null
      : [{ kind: 'notice', data: { code, text: textOf(record, 'text') } }];
  },
  end: readEnd,
};

function words(
  kind: 'thinking_delta' | 'thinking_finished' | 'message_delta',
  record: Native,
  parent: string | null,
): readonly Draft[] | null {
  const text = textOf(record, 'text');
  if (text === null) return null;
  return [{ kind, data: { message_id: idOf(record, 'id'), parent_call_id: parent, text } }];
}

function message(
  record: Native,
  parent: string | null,
  role: 'assistant' | 'user',
): Draft[] | null {
  const text = textOf(record, 'text');
  if (text === null) return null;
  return [
    {
      kind: 'message_finished',
      data: {
        message_id: idOf(record, 'id'),
        parent_call_id: parent,
        role,
        text,
        synthetic: flagOf(record, 'synthetic') ?? false,
        partial: flagOf(record, 'partial') ?? false,
      },
    },
  ];
}

function readCall(record: Native, parent: string | null): readonly Draft[] | null {
  const call_id = idOf(record, 'id');
  const native_tool = idOf(record, 'tool');
  if (call_id === null || native_tool === null) return null;
  const server = idOf(record, 'server');
  return [
    {
      kind: 'call_requested',
      data: {
        call_id,
        native_tool,
        input: record.input ?? {},
        parent_call_id: parent,
        ...(server === null ? {} : { mcp: { server, tool: native_tool } }),
      },
    },
  ];
}

/** A decision that answers a question carries the question's id. */
function readDecision(record: Native): readonly Draft[] | null {
  const call_id = idOf(record, 'call');
  const decision = wordOf(record, 'decision', DECISIONS);
  if (call_id === null || decision === null) return null;
  const source = textOf(record, 'source');
  const request_id = idOf(record, 'request');
  const decided: Draft = {
    kind: 'call_decided',
    data: { call_id, decision, reason: textOf(record, 'reason'), source },
  };
  if (request_id === null) return [decided];
  return [
    {
      kind: 'permission_answered',
      data: { request_id, call_id, tool: idOf(record, 'tool'), decision, source },
    },
    decided,
  ];
}

function readCallEnd(record: Native): readonly Draft[] | null {
  const call_id = idOf(record, 'call');
  const status = wordOf(record, 'status', END_STATUSES);
  if (call_id === null || status === null) return null;
  const duration_ms = durationOf(record.ms);
  return [
    {
      kind: 'call_finished',
      data: {
        call_id,
        status,
        exit_code: codeOf(record.exit_code),
        output: textOf(record, 'output'),
        ...(duration_ms === null ? {} : { duration_ms }),
      },
    },
  ];
}

function readEnd(record: Native): readonly Draft[] | null {
  const exit_reason = wordOf(record, 'reason', END_REASONS);
  if (exit_reason === null) return null;
  const error = textOf(record, 'error');
  return [{ kind: 'agent_ended', data: { exit_reason, error, evidence: 'native_result' } }];
}

function problem(code: 'unknown_record' | 'bad_record', detail: string): Draft {
  const data = { stage: 'decode', code, detail, bytes: null, sha256: null, excerpt: null } as const;
  return { kind: 'problem', data };
}

function read(value: unknown, parent: string | null): readonly Draft[] {
  const record = asRecord(value);
  if (record === null) return [problem('unknown_record', 'not an object')];
  const type = textOf(record, 't');
  if (type === null) return [problem('unknown_record', 'no type')];
  if (!Object.hasOwn(readers, type)) return [problem('unknown_record', type)];
  return readers[type as RecordType](record, parent) ?? [problem('bad_record', type)];
}

/** A decoder of stdout: what each turn used adds up. */
export function createDecoder(): Decoder {
  return {
    record: (value, out, part) => decode(value, timeOf(value), out, part),
    end() {},
  };
}

/** Reads one record. A record that does not say whose it is belongs to its file's sub-agent. */
export function decode(
  value: unknown,
  at_ms: number | null,
  out: Draft[],
  part?: SessionPart,
): void {
  const own = asRecord(value);
  const parent = (own && idOf(own, 'parent')) ?? part?.parent_call_id ?? null;
  for (const draft of read(value, parent)) {
    if (at_ms !== null) draft.at_ms = at_ms;
    out.push(draft);
  }
}
