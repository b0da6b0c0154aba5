/** stdout: `--output-format stream-json` (also `json`, one record, and `json --verbose`, one array of records). */
import type { ExitReason } from '../../model/words.ts';
import { kindOfEvent, putDelta } from '../kit/blocks.ts';
import { decoder } from '../kit/decoder.ts';
import { type End, endFor, Writer } from '../kit/drafts.ts';
import { retryOf } from '../kit/failures.ts';
import {
  codeOf,
  durationOf,
  idOf,
  isNative,
  listOf,
  type Merged,
  namesOf,
  nativeOf,
  statusOf,
  textOf,
} from '../kit/native.ts';
import { wordSet, words } from '../kit/text.ts';
import { isEmpty, onlyKey } from '../kit/usage.ts';
import type { Stdout } from './generated/native.ts';
import { Conversation, type FactsOf, noticeText } from './messages.ts';
import type { Assistant, Result, User } from './records.ts';
import { Spending } from './usage.ts';

type StreamEvent = Merged<Stdout, `stream_event${string}`>;
type Records = Stdout & { result: Result } & Record<`stream_event/${string}`, StreamEvent>;

const DELTAS_IGNORED = wordSet('citations_delta input_json_delta signature_delta');

/** Kinds with facts that other records repeat, or with nothing to record. */
const IGNORED = [
  ...words(`
  command_lifecycle control_cancel_request keep_alive prompt_suggestion
  system/background_tasks_changed system/hook_progress system/hook_started
  system/session_state_changed system/status system/task_started system/task_updated
  system/thinking_tokens system/ui_invalidate
`),
  // An error is followed by a record of the retry or failure.
  ...words(
    'content_block_start content_block_stop error message_delta message_stop ping',
    'stream_event/',
  ),
];
/** Records with a message for people. */
const NOTICES = words(`
  auth_status rate_limit rate_limit_event tool_use_summary system/compact_boundary
  system/elicitation_complete system/files_persisted system/informational
  system/local_command_output system/memory_recall system/microcompact_boundary
  system/notification system/plugin_install system/session_writes_lost
`);

export const stream = () =>
  decoder<Records>((to) => {
    const turns = new Turns(to);
    const { talk } = turns;
    return {
      inside,
      kindOf: kindOfEvent,
      before: (record) => to.speak(idOf(record.parent_tool_use_id)),
      records: {
        assistant: (record) => talk.assistant(record as Assistant, null),
        user(record) {
          // A repeated text has the time when it was sent, not when the CLI accepted it.
          if (record.isReplay === true) to.at_ms = undefined;
          talk.user(record as User, factsOf(record as User));
        },
        'stream_event/message_start': (record) => turns.begin(record),
        'stream_event/content_block_delta': (record) => turns.delta(record),
        'stream_event/no type': () => to.bad('stream_event without event'),
        result: (record) => turns.result(record),
        tool_progress(record) {
          // A heartbeat's own id is not a call. Its call is the parent.
          const own = record.heartbeat === true ? record.parent_tool_use_id : record.tool_use_id;
          to.progress(idOf(own), null, durationOf(record.elapsed_time_seconds, 1000));
        },
        control_request: (record) => talk.calls.asked(record),
        control_response: (record) => talk.calls.answered(record),
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
          const retry = retryOf(record.attempt, record.max_retries, record.retry_delay_ms);
          const status = statusOf(record.error_status);
          to.retried({ ...retry, status }, { native_kind: textOf(record.error) });
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
    const list = listOf(record.tool_result_meta).map((item) => nativeOf(item));
    const metas = new Map<unknown, (typeof list)[number]>(list.map((meta) => [meta?.id, meta]));
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
class Turns extends Writer {
  readonly talk = new Conversation(this.to);
  readonly #spending = new Spending();
  /** The message of stream events without a message id. */
  #streaming: string | null = null;

  begin(record: StreamEvent): void {
    const message = nativeOf(nativeOf(record.event)?.message);
    this.#streaming = idOf(message?.id) ?? idOf(record.api_message_id);
    if (this.to.root && this.#streaming !== null)
      this.talk.startStep(this.#streaming, this.#streaming);
  }

  delta(record: StreamEvent): void {
    const message_id = idOf(record.api_message_id) ?? this.#streaming;
    putDelta(this.to, nativeOf(nativeOf(record.event)?.delta), { message_id }, DELTAS_IGNORED);
  }

  result(record: Result): void {
    const [to, talk] = [this.to, this.talk];
    if (typeof record.is_error !== 'boolean' && textOf(record.subtype) === null) {
      to.bad('result without is_error and subtype: the outcome is unknown');
      return;
    }
    const text = textOf(record.result);
    const end = endOf(record, talk.failed);
    const model = onlyKey(nativeOf(record.modelUsage));
    to.introduce({ session_id: textOf(record.session_id), model });
    talk.calls.settle(isAborted(record));
    talk.calls.refused(record.permission_denials);
    // With `--output-format json` the result is the only record, and holds the only text.
    if (!talk.spoken && text !== null && end.exit_reason === 'ok') to.message('assistant', text);
    const spent = this.#spending.of(record);
    if (!isEmpty(spent)) to.usage('add', spent, model);
    if (end.exit_reason === 'provider_error' && !talk.failed) {
      to.failed({ status: statusOf(record.api_error_status), message: end.error ?? '' });
    }
    to.ended(end);
    talk.failed = false;
    talk.turn_open = false;
  }
}

function isAborted(result: Result): boolean {
  return textOf(result.terminal_reason)?.startsWith('aborted') ?? false;
}

/** `subtype` is "success" for API errors, and the exit code is 0 after an interruption. Neither decides alone. */
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
  if (!failed) return 'ok';
  const of_provider = provider_failed || statusOf(result.api_error_status) !== null;
  return of_provider ? 'provider_error' : 'agent_error';
}

/** `provider_failed`: an API failure came last. The end records of earlier versions do not name it. */
function endOf(result: Result, provider_failed: boolean): End {
  const errors = namesOf(result.errors) ?? [];
  const error = errors.length > 0 ? errors.join('\n') : textOf(result.result);
  return endFor(reasonOf(result, provider_failed), error);
}
