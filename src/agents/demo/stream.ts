/** Demo records → drafts: one JSON object per line, with its type in `t`. Session files have no deltas. */
import type { SessionPart } from '../../model/agent.ts';
import { DECISIONS, FILE_OPERATIONS } from '../../model/words.ts';
import { decoder, type Table } from '../kit/decoder.ts';
import type { Drafts } from '../kit/drafts.ts';
import {
  codeOf,
  costOf,
  countOf,
  durationOf,
  idOf,
  type Merged,
  momentOf,
  namesOf,
  type Open,
  statusOf,
  textOf,
  tokensOf,
} from '../kit/native.ts';
import { type Spent, spent } from '../kit/usage.ts';
import type { Stdout } from './generated/native.ts';
import { END_REASONS, END_STATUSES } from './words.ts';

export type RecordType = keyof Stdout;
/** Every type has a row, with the fields of all types. */
export type Records = Record<string, Merged<Stdout>>;
type Row = (record: Merged<Stdout>, to: Drafts, id: string) => void;

export const timeOf = ({ at }: Open) => momentOf(at);

/** The value if it is one of these words, otherwise null. */
function oneOf<const W extends string>(words: readonly W[], value: unknown): W | null {
  return words.find((word) => word === value) ?? null;
}

/** The required fields of each record, besides `id`. Without them the record is bad. */
const ROWS: Readonly<Record<RecordType, Row>> = {
  hello: (record, to) =>
    to.session({
      session_id: textOf(record.session),
      model: textOf(record.model),
      agent_version: textOf(record.version),
      cwd: textOf(record.cwd),
      tools: namesOf(record.tools),
      permission_mode: textOf(record.approve),
    }),
  prompt: (record, to) => message(record, to, 'user'),
  turn(record, to) {
    // A sub-agent's turns are not steps of the run.
    if (!to.root) return;
    const [allowed_tools, enforcement_mode] = [namesOf(record.allowed), textOf(record.mode)];
    to.put('step_started', { step_id: idOf(record.id), allowed_tools, enforcement_mode });
  },
  turn_end(record, to) {
    if (!to.root) return;
    to.put('step_finished', { step_id: idOf(record.id), reason: textOf(record.reason) });
  },
  think_delta: ofText('thinking_delta'),
  think: ofText('thinking_finished'),
  text_delta: ofText('message_delta'),
  text: (record, to) => message(record, to, 'assistant'),
  call(record, to) {
    const call = to.callIn(record.id, record.tool, 'call');
    if (call === null) return;
    const { call_id, native_tool: tool } = call;
    const server = idOf(record.server);
    to.requested(call_id, tool, record.input ?? {}, server ? { mcp: { server, tool } } : {});
  },
  permission: (record, to) =>
    to.put('permission_asked', {
      request_id: idOf(record.request),
      call_id: idOf(record.call),
      tool: idOf(record.tool),
      reason: textOf(record.reason),
    }),
  decision: ofCall((record, to, call_id) => {
    const decision = oneOf(DECISIONS, record.decision);
    if (decision === null) return to.bad('decision');
    const source = textOf(record.source);
    // A decision that answers a question carries the question's id.
    const request_id = idOf(record.request);
    const tool = idOf(record.tool);
    if (request_id !== null)
      to.put('permission_answered', { request_id, call_id, tool, decision, source });
    to.decided(call_id, decision, textOf(record.reason), source);
  }),
  call_start: ofCall((_record, to, call_id) => to.put('call_started', { call_id })),
  call_output: ofCall((record, to, call_id) => {
    const [text, stream] = [textOf(record.text), textOf(record.stream)];
    to.put('call_progress', { call_id, text, elapsed_ms: durationOf(record.ms), stream });
  }),
  call_end: ofCall((record, to, call_id) => {
    const status = oneOf(END_STATUSES, record.status);
    if (status === null) return to.bad('call_end');
    const [exit_code, output] = [codeOf(record.exit_code), textOf(record.output)];
    const duration_ms = durationOf(record.ms);
    const measured = duration_ms === null ? {} : { duration_ms };
    to.finished({ call_id, status, exit_code, output, ...measured });
  }),
  call_late: ofCall((record, to, call_id) =>
    to.updated(call_id, oneOf(END_STATUSES, record.status), codeOf(record.exit_code)),
  ),
  call_retry: ofCall((record, to, call_id) => {
    const attempt = countOf(record.attempt);
    if (attempt === null) return to.bad('call_retry');
    const [failure_class, action] = [textOf(record.why), textOf(record.action)];
    const max_retries = countOf(record.max);
    to.put('call_retried', { call_id, attempt, max_retries, failure_class, action });
  }),
  file(record, to) {
    const path = textOf(record.path);
    const operation = oneOf(FILE_OPERATIONS, record.operation);
    if (path === null || operation === null) return to.bad('file');
    const [call_id, diff, size] = [idOf(record.call), textOf(record.diff), countOf(record.size)];
    to.put('file_changed', { path, operation, call_id, source: 'tool', diff, size });
  },
  skill(record, to) {
    const skill = textOf(record.name);
    if (skill === null) return to.bad('skill');
    to.put('skill_used', { skill, call_id: idOf(record.call) });
  },
  blocked(record, to) {
    const reason = textOf(record.reason);
    if (reason === null) return to.bad('blocked');
    to.put('step_blocked', { reason, tool: idOf(record.tool), step_id: idOf(record.turn) });
  },
  usage: (record, to) => to.usage('add', spentOf(record), textOf(record.model)),
  api_retry(record, to) {
    const [attempt, max_attempts] = [countOf(record.attempt), countOf(record.max)];
    const [status, backoff_ms] = [statusOf(record.status), durationOf(record.wait_ms)];
    const native_kind = textOf(record.kind);
    to.retried({ attempt, max_attempts, status, backoff_ms }, { native_kind });
  },
  api_error: (record, to) =>
    to.failed({
      native_kind: textOf(record.kind),
      status: statusOf(record.status),
      message: textOf(record.message) ?? '',
      retryable: typeof record.retryable === 'boolean' ? record.retryable : null,
    }),
  hook(record, to) {
    const name = textOf(record.name);
    if (name === null) return to.bad('hook');
    const [event, outcome] = [textOf(record.event), textOf(record.outcome)];
    const [exit_code, output] = [codeOf(record.exit_code), textOf(record.output)];
    to.put('hook_finished', { name, exit_code, event, outcome, output });
  },
  note(record, to) {
    const code = textOf(record.code);
    if (code === null) return to.bad('note');
    to.notice(code, textOf(record.text));
  },
  end(record, to) {
    const exit_reason = oneOf(END_REASONS, record.reason);
    if (exit_reason === null) return to.bad('end');
    to.ended({ exit_reason, error: textOf(record.error) });
  },
};

export const RECORD_TYPES = Object.keys(ROWS) as RecordType[];

/** A row for records about a call. */
function ofCall(row: Row): Row {
  return (record, to) => {
    const call_id = idOf(record.call);
    if (call_id === null) to.bad(String(record.t));
    else row(record, to, call_id);
  };
}

function ofText(kind: 'thinking_delta' | 'thinking_finished' | 'message_delta'): Row {
  return (record, to) => {
    const text = to.need(textOf(record.text), String(record.t));
    const message_id = idOf(record.id);
    if (text !== null) to.put(kind, { message_id, parent_call_id: to.parent, text });
  };
}

function message(record: Merged<Stdout>, to: Drafts, role: 'assistant' | 'user'): void {
  const text = textOf(record.text);
  const [synthetic, partial] = [record.synthetic === true, record.partial === true];
  if (text === null) to.bad(String(record.t));
  else to.message(role, text, { message_id: idOf(record.id), synthetic, partial });
}

export function spentOf(record: Merged<Stdout>): Spent {
  const usage = {
    input: tokensOf(record.input),
    output: tokensOf(record.output),
    cache_read: tokensOf(record.cache_read),
    cache_write: tokensOf(record.cache_write),
    reasoning: tokensOf(record.reasoning),
  };
  return spent(usage, costOf(record.cost));
}

/** The table for a decoder that writes with `to`. */
export function tableFor(to: Drafts): Table<Records> {
  const records = Object.fromEntries(
    Object.entries(ROWS).map(([type, row]) => [
      type,
      (record: Merged<Stdout>) => row(record, to, ''),
    ]),
  );
  return {
    // A record with another agent's type field is unknown, not broken.
    kindOf: ({ t, type }) => textOf(t) ?? (typeof type === 'string' ? `type ${type}` : null),
    timeOf,
    // A record that names no sub-agent belongs to the agent of its file.
    before: (record: Open, part: SessionPart | undefined) =>
      to.speak(idOf(record.parent) ?? part?.parent_call_id ?? null),
    records,
  };
}

export const stream = () => decoder<Records>(tableFor);
