/** stdout: `--output-format stream-json` (also `json`, one record, and `json --verbose`, one array of records). */
import type { Decoder } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import type { ResultFacts } from './calls.ts';
import { Control } from './control.ts';
import { Conversation, notice, retryable, type Speaker } from './messages.ts';
import {
  codeOf,
  countOf,
  durationOf,
  idOf,
  isNative,
  listOf,
  type Native,
  nameOf,
  namesOf,
  nativeOf,
  problem,
  statusOf,
  textOf,
  timeOf,
} from './native.ts';
import {
  DELTAS_IGNORED,
  STDOUT_IGNORED,
  STDOUT_NOTICES,
  STREAM_EVENTS_IGNORED,
} from './records.ts';
import { endOf, isAborted, onlyModel, Spending } from './results.ts';
import { isEmpty } from './usage.ts';

export function stream(): Decoder {
  return new Stream();
}

class Stream implements Decoder {
  readonly #talk = new Conversation();
  readonly #control = new Control(this.#talk.calls);
  readonly #spending = new Spending();
  /** The message that stream events belong to, where they do not name it. */
  #streaming: string | null = null;
  #introduced = false;

  record(value: unknown, out: Draft[]): void {
    if (Array.isArray(value)) {
      for (const item of value) this.#one(item, out);
    } else this.#one(value, out);
  }

  end(): void {}

  #one(value: unknown, out: Draft[]): void {
    if (!isNative(value)) {
      out.push(problem('bad_record', 'record is no object'));
      return;
    }
    switch (value.type) {
      case 'assistant':
        this.#talk.assistant(value, null, speakerOf(value), out);
        break;
      case 'user':
        this.#talk.user(value, speakerOf(value), factsOf, out);
        break;
      case 'stream_event':
        this.#streamEvent(value, out);
        break;
      case 'system':
        this.#system(value, out);
        break;
      case 'result':
        this.#result(value, out);
        break;
      case 'tool_progress':
        progress(heartbeatOf(value), null, durationOf(value.elapsed_time_seconds, 1000), out);
        break;
      case 'control_request':
        this.#control.request(value, out);
        break;
      case 'control_response':
        this.#control.response(value, out);
        break;
      default:
        this.#other(value, out);
    }
  }

  #other(record: Native, out: Draft[]): void {
    // A host's log of both directions wraps each record.
    if (record.type === undefined && typeof record.dir === 'string' && isNative(record.msg)) {
      if (record.dir !== 'exit' && !isWrapper(record.msg)) this.#one(record.msg, out);
      return;
    }
    const name = nameOf(record);
    if (STDOUT_IGNORED.has(name)) return;
    if (STDOUT_NOTICES.has(name)) notice(record, out);
    else out.push(problem(record.type === undefined ? 'bad_record' : 'unknown_record', name));
  }

  #system(record: Native, out: Draft[]): void {
    switch (record.subtype) {
      case 'init':
        this.#init(record, out);
        break;
      case 'api_retry':
        out.push({
          kind: 'provider_retried',
          data: {
            attempt: countOf(record.attempt),
            max_attempts: countOf(record.max_retries),
            kind: textOf(record.error),
            status: statusOf(record.error_status),
            backoff_ms: durationOf(record.retry_delay_ms),
          },
        });
        break;
      case 'permission_denied':
        this.#denied(record, out);
        break;
      case 'task_progress': {
        const elapsed_ms = durationOf(nativeOf(record.usage)?.duration_ms);
        progress(idOf(record.tool_use_id), textOf(record.description), elapsed_ms, out);
        break;
      }
      case 'task_notification': {
        const summary = textOf(record.summary) ?? '';
        const call_id = idOf(record.tool_use_id);
        const task = { call_id, status: textOf(record.status), summary };
        this.#talk.calls.notify(task, undefined, out);
        break;
      }
      case 'hook_response':
        hook(record, out);
        break;
      default:
        this.#other(record, out);
    }
  }

  #init(record: Native, out: Draft[]): void {
    this.#introduced = true;
    out.push({
      kind: 'session_started',
      data: {
        session_id: textOf(record.session_id),
        model: textOf(record.model),
        agent_version: textOf(record.claude_code_version),
        cwd: textOf(record.cwd),
        tools: namesOf(record.tools),
        permission_mode: textOf(record.permissionMode),
      },
    });
  }

  #denied(record: Native, out: Draft[]): void {
    const call_id = idOf(record.tool_use_id);
    if (call_id === null) {
      out.push(problem('bad_record', `${nameOf(record)} without tool_use_id`));
      return;
    }
    const why = { reason: textOf(record.message), source: textOf(record.decision_reason_type) };
    this.#talk.calls.decide(call_id, 'deny', why, out);
  }

  #streamEvent(record: Native, out: Draft[]): void {
    const event = nativeOf(record.event);
    const type = textOf(event?.type);
    if (!event || type === null) {
      out.push(problem('bad_record', 'stream_event without event'));
      return;
    }
    const parent_call_id = idOf(record.parent_tool_use_id);
    if (type === 'message_start') {
      const message_id = idOf(nativeOf(event.message)?.id) ?? idOf(record.api_message_id);
      this.#streaming = message_id;
      if (parent_call_id === null && message_id !== null) {
        this.#talk.startStep(message_id, message_id, undefined, out);
      }
    } else if (type === 'content_block_delta') {
      const message_id = idOf(record.api_message_id) ?? this.#streaming;
      delta(nativeOf(event.delta), { message_id, parent_call_id }, out);
    } else if (!STREAM_EVENTS_IGNORED.has(type)) {
      out.push(problem('unknown_record', `stream_event/${type}`));
    }
  }

  #result(record: Native, out: Draft[]): void {
    if (typeof record.is_error !== 'boolean' && textOf(record.subtype) === null) {
      out.push(problem('bad_record', 'result without is_error and subtype: it says of no end'));
      return;
    }
    const talk = this.#talk;
    const said = textOf(record.result);
    const end = endOf(record, talk.failed);
    if (!this.#introduced) this.#introduce(record, out);
    talk.calls.settle(isAborted(record), out);
    talk.calls.refused(listOf(record.permission_denials), out);
    // In `--output-format json` the result is the only record, and its text the only text.
    if (!talk.spoken && said !== null && end.exit_reason === 'ok') {
      const data = { message_id: null, parent_call_id: null, text: said, partial: false };
      const role = 'assistant';
      out.push({ kind: 'message_finished', data: { ...data, role, synthetic: false } });
    }
    const spent = this.#spending.of(record);
    if (!isEmpty(spent)) {
      out.push({
        kind: 'usage_reported',
        data: { mode: 'add', ...spent, model: onlyModel(record) },
      });
    }
    if (end.exit_reason === 'provider_error' && !talk.failed) {
      const status = statusOf(record.api_error_status);
      const data = { kind: null, status, retryable: retryable(status), message: end.error ?? '' };
      out.push({ kind: 'provider_failed', data });
    }
    out.push({ kind: 'agent_ended', data: end });
    talk.failed = false;
    talk.closeTurn();
  }

  #introduce(record: Native, out: Draft[]): void {
    this.#introduced = true;
    const session_id = textOf(record.session_id);
    const model = onlyModel(record);
    const rest = { agent_version: null, cwd: null, tools: null, permission_mode: null };
    out.push({ kind: 'session_started', data: { session_id, model, ...rest } });
  }
}

function speakerOf(record: Native): Speaker {
  const parent = idOf(record.parent_tool_use_id);
  // What the host said is repeated when it is taken up, with the time when it came.
  const at_ms = record.isReplay === true ? undefined : timeOf(record);
  return { at_ms, parent, root: parent === null };
}

function factsOf(record: Native, alone: boolean): (call_id: unknown) => ResultFacts {
  const metas = new Map<unknown, Native>();
  for (const item of listOf(record.tool_result_meta)) if (isNative(item)) metas.set(item.id, item);
  return (call_id) => {
    const meta = metas.get(call_id);
    return {
      at_ms: timeOf(record),
      detail: alone ? record.tool_use_result : null,
      kind: textOf(meta?.non_execution_kind),
      decision: nativeOf(meta?.permission_decision),
    };
  };
}

/** A heartbeat's own id is no call: its call is the parent. */
function heartbeatOf(record: Native): string | null {
  return idOf(record.heartbeat === true ? record.parent_tool_use_id : record.tool_use_id);
}

function isWrapper(record: Native): boolean {
  return record.type === undefined && record.dir !== undefined;
}

function progress(
  call_id: string | null,
  text: string | null,
  elapsed_ms: number | null,
  out: Draft[],
) {
  if (call_id === null) return;
  out.push({ kind: 'call_progress', data: { call_id, text, elapsed_ms, stream: null } });
}

function delta(
  part: Native | null,
  of: { message_id: string | null; parent_call_id: string | null },
  out: Draft[],
): void {
  const type = textOf(part?.type);
  if (type === 'text_delta' && typeof part?.text === 'string') {
    out.push({ kind: 'message_delta', data: { ...of, text: part.text } });
  } else if (type === 'thinking_delta' && typeof part?.thinking === 'string') {
    out.push({ kind: 'thinking_delta', data: { ...of, text: part.thinking } });
  } else if (type === null || !DELTAS_IGNORED.has(type)) {
    const known = type === null || type === 'text_delta' || type === 'thinking_delta';
    const detail = `stream_event/content_block_delta/${type ?? 'no type'}`;
    out.push(problem(known ? 'bad_record' : 'unknown_record', detail));
  }
}

function hook(record: Native, out: Draft[]): void {
  out.push({
    kind: 'hook_finished',
    data: {
      name: textOf(record.hook_name) ?? '',
      event: textOf(record.hook_event),
      exit_code: codeOf(record.exit_code),
      outcome: textOf(record.outcome),
      output: textOf(record.output) ?? textOf(record.stdout),
    },
  });
}
