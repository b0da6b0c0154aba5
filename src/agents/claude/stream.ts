/** stdout: `--output-format stream-json` (also `json`, one record, and `json --verbose`, one array of records). */
import type { ExitReason } from '../../model/words.ts';
import { putDelta } from '../kit/blocks.ts';
import { decoder } from '../kit/decoder.ts';
import { type Drafts, type End, endFor } from '../kit/drafts.ts';
import {
  codeOf,
  countOf,
  durationOf,
  type Inside,
  idOf,
  isNative,
  listOf,
  type Merged,
  namesOf,
  nativeOf,
  statusOf,
  textOf,
} from '../kit/native.ts';
import { isEmpty } from '../kit/usage.ts';
import { Control } from './control.ts';
import type { Stdout } from './generated/native.ts';
import { Conversation, type FactsOf, noticeText } from './messages.ts';
import type { Assistant, Result, User } from './records.ts';
import { onlyModel, Spending } from './usage.ts';

type StreamEvent = Merged<Stdout, `stream_event${string}`>;
type Records = Stdout & { result: Result; stream_event: StreamEvent };

/** Stream events beside message_start and the deltas. After an error a record of the retry or failure follows. */
const EVENTS_IGNORED: ReadonlySet<string> = new Set([
  'content_block_start',
  'content_block_stop',
  'error',
  'message_delta',
  'message_stop',
  'ping',
]);
const DELTAS_IGNORED: ReadonlySet<unknown> = new Set([
  'citations_delta',
  'input_json_delta',
  'signature_delta',
]);

/** Their facts are in other records too, or mean nothing for a recording. */
const IGNORED = [
  'command_lifecycle',
  'control_cancel_request',
  'keep_alive',
  'prompt_suggestion',
  'system/background_tasks_changed',
  'system/hook_progress',
  'system/hook_started',
  'system/session_state_changed',
  'system/status',
  'system/task_started',
  'system/task_updated',
  'system/thinking_tokens',
  'system/ui_invalidate',
];
/** Records for people. */
const NOTICES = [
  'auth_status',
  'rate_limit',
  'rate_limit_event',
  'tool_use_summary',
  'system/compact_boundary',
  'system/elicitation_complete',
  'system/files_persisted',
  'system/informational',
  'system/local_command_output',
  'system/memory_recall',
  'system/microcompact_boundary',
  'system/notification',
  'system/plugin_install',
  'system/session_writes_lost',
];

export const stream = () =>
  decoder<Records>((to) => {
    const talk = new Conversation(to);
    const control = new Control(to, talk.calls);
    const turns = new Turns(to, talk);
    return {
      inside,
      records: {
        assistant(record) {
          to.speak(idOf(record.parent_tool_use_id));
          talk.assistant(record as Assistant, null);
        },
        user(record) {
          to.speak(idOf(record.parent_tool_use_id));
          // The CLI repeats a text of its host with the time when it came, not when it was taken up.
          if (record.isReplay === true) to.at_ms = undefined;
          talk.user(record as User, factsOf(record as User));
        },
        stream_event: (record) => turns.streamEvent(record),
        result: (record) => turns.result(record),
        tool_progress(record) {
          // A heartbeat's own id is no call: its call is the parent.
          const own = record.heartbeat === true ? record.parent_tool_use_id : record.tool_use_id;
          to.progress(idOf(own), null, durationOf(record.elapsed_time_seconds, 1000));
        },
        control_request: (record) => control.request(record),
        control_response: (record) => control.response(record),
        'system/init': (record) =>
          to.session({
            session_id: textOf(record.session_id),
            model: textOf(record.model),
            agent_version: textOf(record.claude_code_version),
            cwd: textOf(record.cwd),
            tools: namesOf(record.tools),
            permission_mode: textOf(record.permissionMode),
          }),
        'system/api_retry'(record) {
          const attempt = countOf(record.attempt);
          const max_attempts = countOf(record.max_retries);
          const status = statusOf(record.error_status);
          const backoff_ms = durationOf(record.retry_delay_ms);
          const native_kind = textOf(record.error);
          to.retried({ attempt, max_attempts, status, backoff_ms }, { native_kind });
        },
        'system/permission_denied'(record) {
          const call_id = idOf(record.tool_use_id);
          const source = textOf(record.decision_reason_type);
          if (call_id === null) to.bad('system/permission_denied without tool_use_id');
          else talk.calls.decide(call_id, 'deny', textOf(record.message), source);
        },
        'system/task_progress'(record) {
          const elapsed_ms = durationOf(nativeOf(record.usage)?.duration_ms);
          to.progress(idOf(record.tool_use_id), textOf(record.description), elapsed_ms);
        },
        'system/task_notification'(record) {
          const summary = textOf(record.summary) ?? '';
          const status = textOf(record.status);
          talk.calls.notify({ call_id: idOf(record.tool_use_id), status, summary });
        },
        'system/hook_response': (record) =>
          to.put('hook_finished', {
            name: textOf(record.hook_name) ?? '',
            event: textOf(record.hook_event),
            exit_code: codeOf(record.exit_code),
            outcome: textOf(record.outcome),
            output: textOf(record.output) ?? textOf(record.stdout),
          }),
      },
      ignored: IGNORED,
      notices: NOTICES,
      noticeText,
    };
  });

/** A list of records, or a host's log of both directions, which wraps each record. */
function inside(value: unknown): readonly unknown[] | null {
  if (Array.isArray(value)) return value;
  if (!isNative(value) || value.type !== undefined || typeof value.dir !== 'string') return null;
  if (!isNative(value.msg)) return null;
  const wrapped = value.msg.type === undefined && value.msg.dir !== undefined;
  return value.dir === 'exit' || wrapped ? [] : [value.msg];
}

function factsOf(record: User): FactsOf {
  return (alone) => {
    const metas = new Map<unknown, Inside<User['tool_result_meta']>>();
    for (const item of listOf(record.tool_result_meta)) {
      const meta = nativeOf(item);
      if (meta) metas.set(meta.id, meta);
    }
    return (call_id) => {
      const meta = metas.get(call_id);
      return {
        detail: alone ? nativeOf(record.tool_use_result) : null,
        kind: textOf(meta?.non_execution_kind),
        decision: nativeOf(meta?.permission_decision),
      };
    };
  };
}

/** The model's turns: pieces of its messages, and the end record. */
class Turns {
  readonly #to: Drafts;
  readonly #talk: Conversation;
  readonly #spending = new Spending();
  /** The message of stream events that do not name it. */
  #streaming: string | null = null;

  constructor(to: Drafts, talk: Conversation) {
    this.#to = to;
    this.#talk = talk;
  }

  streamEvent(record: StreamEvent): void {
    const event = nativeOf(record.event);
    const type = textOf(event?.type);
    this.#to.speak(idOf(record.parent_tool_use_id));
    if (!event || type === null) {
      this.#to.bad('stream_event without event');
    } else if (type === 'message_start') {
      this.#streaming = idOf(nativeOf(event.message)?.id) ?? idOf(record.api_message_id);
      if (this.#to.root && this.#streaming !== null) {
        this.#talk.startStep(this.#streaming, this.#streaming);
      }
    } else if (type === 'content_block_delta') {
      const message_id = idOf(record.api_message_id) ?? this.#streaming;
      putDelta(this.#to, nativeOf(event.delta), message_id, DELTAS_IGNORED);
    } else if (!EVENTS_IGNORED.has(type)) {
      this.#to.problem('unknown_record', `stream_event/${type}`);
    }
  }

  result(record: Result): void {
    const [to, talk] = [this.#to, this.#talk];
    if (typeof record.is_error !== 'boolean' && textOf(record.subtype) === null) {
      to.bad('result without is_error and subtype: the outcome is unknown');
      return;
    }
    const text = textOf(record.result);
    const end = endOf(record, talk.failed);
    to.introduce({ session_id: textOf(record.session_id), model: onlyModel(record) });
    talk.calls.settle(isAborted(record));
    talk.calls.refused(record.permission_denials);
    // In `--output-format json` the result is the only record, and its text the only text.
    if (!talk.spoken && text !== null && end.exit_reason === 'ok') to.message('assistant', text);
    const spent = this.#spending.of(record);
    if (!isEmpty(spent)) to.usage('add', spent, onlyModel(record));
    if (end.exit_reason === 'provider_error' && !talk.failed) {
      to.failed({ status: statusOf(record.api_error_status), message: end.error ?? '' });
    }
    to.ended(end);
    talk.failed = false;
    talk.closeTurn();
  }
}

function isAborted(result: Result): boolean {
  return textOf(result.terminal_reason)?.startsWith('aborted') ?? false;
}

/** `subtype` is "success" for API errors, and the exit code is 0 after an interruption: neither decides alone. */
function reasonOf(result: Result, provider_failed: boolean): ExitReason {
  const terminal = textOf(result.terminal_reason) ?? '';
  const subtype = textOf(result.subtype) ?? '';
  const failed = result.is_error === true || subtype.startsWith('error');
  if (isAborted(result)) return 'cancelled';
  if (subtype === 'error_max_turns' || terminal === 'max_turns') return 'max_steps';
  if (subtype.startsWith('error_max_budget') || terminal.includes('budget')) {
    return 'budget_exceeded';
  }
  if (terminal === 'api_error') return 'provider_error';
  if (failed && (provider_failed || statusOf(result.api_error_status) !== null)) {
    return 'provider_error';
  }
  return failed ? 'agent_error' : 'ok';
}

/** `provider_failed`: a failure of the API came last; earlier versions' end records do not name it. */
function endOf(result: Result, provider_failed: boolean): End {
  const errors = namesOf(result.errors) ?? [];
  const error = errors.length > 0 ? errors.join('\n') : textOf(result.result);
  return endFor(reasonOf(result, provider_failed), error);
}
