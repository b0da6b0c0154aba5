/** stdout: `--output-format stream-json` (also `json`, one array of records). A dialect of Claude Code's format. */
import type { ExitReason } from '../../model/words.ts';
import { kindOfEvent, putBlock, putDelta, putUnknown } from '../kit/blocks.ts';
import { decoder } from '../kit/decoder.ts';
import { type End, endFor, type Said, Writer } from '../kit/drafts.ts';
import { retryOf } from '../kit/failures.ts';
import {
  durationOf,
  type Inside,
  idOf,
  isList,
  isNative,
  listOf,
  namesOf,
  nativeOf,
  textOf,
} from '../kit/native.ts';
import { contentText, words } from '../kit/text.ts';
import { isEmpty } from '../kit/usage.ts';
import { Calls } from './calls.ts';
import type { Stdout } from './generated/native.ts';
import { isPlaceholder, ofStream, type Result } from './usage.ts';

type Message = Inside<Stdout['assistant']['message']>;
type Block = Inside<Message['content']> & Inside<Inside<Stdout['user']['message']>['content']>;

type StreamEvent = Stdout['stream_event'];
type Records = Stdout & { result: Result } & Record<`stream_event/${string}`, StreamEvent>;

const API_ERROR = /^\[API Error: (?:(\d{3})\b)?/;
const CANCELLED = /^(?:Operation cancelled|This operation was aborted|Request was aborted)/i;
const TURN_LIMIT = /\bmax(?:imum)? session turns\b/i;
const BUDGET = /^Run aborted: /;
const DELTAS_IGNORED: ReadonlySet<unknown> = new Set(['input_json_delta']);

export const stream = (options?: { resumed?: boolean }) =>
  decoder<Records>((to) => {
    const turns = new Turns(to);
    turns.resumed = options?.resumed ?? false;
    return {
      inside: (value) => (Array.isArray(value) ? value : null),
      kindOf: kindOfEvent,
      before: (record) => to.speak(idOf(record.parent_tool_use_id)),
      records: {
        assistant: (record) => turns.assistant(record),
        user: (record) => turns.user(record),
        'stream_event/message_start': (record) => turns.start(record),
        'stream_event/content_block_delta': (record) => turns.delta(record),
        'stream_event/message_stop'() {
          if (to.root) turns.close();
        },
        // From an MCP server or a long command; only with partial messages.
        'stream_event/tool_progress'(record) {
          const event = nativeOf(record.event);
          const content = nativeOf(event?.content);
          const elapsed_ms = durationOf(content?.elapsedMs);
          to.progress(idOf(event?.tool_use_id), textOf(content?.message), elapsed_ms);
        },
        'stream_event/no type': () => to.bad('stream_event without event'),
        result: (record) => turns.result(record),
        'system/init': (record) =>
          to.session({
            session_id: textOf(record.session_id),
            model: textOf(record.model),
            agent_version: textOf(record.qwen_code_version),
            cwd: textOf(record.cwd),
            tools: namesOf(record.tools),
            permission_mode: textOf(record.permission_mode),
          }),
        'system/task_notification'(record) {
          const task = nativeOf(record.data);
          turns.calls.notify(idOf(task?.tool_use_id), textOf(task?.status));
        },
        /** The model's answer was unusable and is requested again. The HTTP client's own retries are not shown. */
        'system/retry'(record) {
          const data = nativeOf(record.data);
          const retry = retryOf(data?.attempt, data?.maxRetries, data?.delayMs);
          to.retried(retry, { native_kind: textOf(data?.reason) });
        },
      },
      // A host's own protocol, and facts that other records repeat.
      ignored: [
        ...words('control_cancel_request control_request control_response system/task_started'),
        // Goals are sent even without partial messages.
        ...words('active_goal content_block_start content_block_stop goal_state', 'stream_event/'),
      ],
      notices: ['system/model_fallback', 'system/worktree_restored', 'system/worktree_started'],
      noticeText: ({ data }) => (data === undefined ? null : JSON.stringify(data)),
    };
  });

class Turns extends Writer {
  readonly calls = new Calls(this.to);
  /** The root agent's open turn: id of its first message. Every run of blocks of one type is a separate message. */
  #turn: string | null = null;
  /** Partial messages mark the start and end of a turn. Without them a turn ends with its tokens or its answer. */
  #marked = false;
  /** The run continues a session. */
  resumed = false;
  /** The root agent's last output was a failure of the provider. */
  #failed = false;

  #begin(message_id: string): void {
    this.#turn = message_id;
    this.to.step(message_id);
  }

  close(): void {
    this.#turn = null;
    this.#marked = false;
  }

  assistant(record: Stdout['assistant']): void {
    const to = this.to;
    const message = nativeOf(record.message);
    if (!message || !isList(message.content)) {
      to.bad('assistant without content');
      return;
    }
    const own_id = idOf(message.id);
    const failed = to.root && isFailureMessage(message);
    if (to.root) {
      if (this.#turn === null) this.#begin(own_id ?? '');
      this.#failed = failed;
    }
    const message_id = to.root ? this.#turn : own_id;
    const said = { message_id, synthetic: failed };
    for (const block of message.content) this.#block(nativeOf(block), said);
    if (failed) this.#providerFailed(contentText(message.content) ?? '');
    const usage = nativeOf(message.usage);
    if (!usage || isPlaceholder(usage)) return;
    to.usage('add', ofStream(usage), textOf(message.model));
    if (to.root && !this.#marked) this.close();
  }

  #block(block: Inside<Message['content']> | null, said: Said): void {
    if (block === null) this.to.bad('assistant block is not an object');
    else if (block.type === 'tool_use') this.calls.request(block);
    else putBlock(this.to, block, said);
  }

  user(record: Stdout['user']): void {
    const content = nativeOf(record.message)?.content;
    if (typeof content !== 'string' && !isList(content)) {
      this.to.bad('user without content');
      return;
    }
    if (this.to.root) this.close();
    for (const item of listOf(content)) {
      const block = nativeOf(item) as Block | null;
      if (block === null) this.to.bad('user block is not an object');
      else if (block.type === 'tool_result') this.#answer(block);
      else if (block.type !== 'text') putUnknown(this.to, 'user', block.type);
    }
    const text = contentText(content);
    if (text === null) return;
    // The CLI does not repeat the user's prompt: a user text of the root agent is a task's notification.
    this.to.message('user', text, { message_id: idOf(record.uuid), synthetic: this.to.root });
  }

  #answer(block: Block): void {
    const call_id = this.to.need(idOf(block.tool_use_id), 'tool_result without tool_use_id');
    if (call_id === null) return;
    const status = block.is_error === true ? 'error' : 'ok';
    const output = contentText(block.content);
    this.calls.finish({ call_id, output, report: output, status });
  }

  start(record: StreamEvent): void {
    if (!this.to.root) return;
    this.#begin(idOf(nativeOf(nativeOf(record.event)?.message)?.id) ?? '');
    this.#marked = true;
  }

  delta(record: StreamEvent): void {
    const message_id = this.to.root ? this.#turn : null;
    putDelta(this.to, nativeOf(nativeOf(record.event)?.delta), { message_id }, DELTAS_IGNORED);
  }

  result(record: Result): void {
    const to = this.to;
    const end = endOf(record, this.#failed);
    // A sub-agent's failure is a result with no duration, while the call that started it is still open.
    if (record.is_error === true && record.duration_ms === 0 && this.calls.failAgent()) {
      to.notice('sub_agent_failed', end.error);
      return;
    }
    to.introduce({ session_id: textOf(record.session_id) });
    this.calls.refused(record.permission_denials);
    const usage = nativeOf(record.usage);
    const spent = usage ? ofStream(usage) : null;
    // After a resume it is the whole session's total. The lines of this run have already been added up.
    if (spent && !isEmpty(spent) && !this.resumed) to.usage('total', spent);
    if (end.exit_reason === 'provider_error' && !this.#failed)
      this.#providerFailed(end.error ?? '');
    to.ended(end);
    this.#failed = false;
    this.close();
  }

  #providerFailed(message: string): void {
    this.to.failed({ status: Number(API_ERROR.exec(message)?.[1] ?? 0) || null, message });
  }
}

/** A failure that the CLI prints as a message: one text, without tokens. */
function isFailureMessage(message: Message): boolean {
  const [block, ...others] = listOf(message.content);
  if (others.length > 0 || !isPlaceholder(nativeOf(message.usage))) return false;
  return isNative(block) && typeof block.text === 'string' && API_ERROR.test(block.text);
}

function reasonOf(result: Result, error: string, failed: boolean): ExitReason {
  const subtype = textOf(result.subtype) ?? '';
  if (result.is_error !== true && !subtype.startsWith('error')) {
    // Versions before 0.24 end with success after a failure of the provider.
    return failed ? 'provider_error' : 'ok';
  }
  if (subtype === 'error_max_turns' || TURN_LIMIT.test(error)) return 'max_steps';
  if (BUDGET.test(error)) return 'budget_exceeded';
  if (CANCELLED.test(error)) return 'cancelled';
  return API_ERROR.test(error) ? 'provider_error' : 'agent_error';
}

/** `failed`: the root agent's last output was a failure of the provider. */
function endOf(result: Result, failed: boolean): End {
  const error = textOf(nativeOf(result.error)?.message) ?? textOf(result.result);
  return endFor(reasonOf(result, error ?? '', failed), error);
}
