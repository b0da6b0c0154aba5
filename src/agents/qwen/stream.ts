/** stdout: `--output-format stream-json` (also `json`, one array of records). A fork's dialect of another CLI's stream-json. */
import type { Decoder } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import { Calls } from './calls.ts';
import type { Stdout } from './generated/native.ts';
import {
  type Claim,
  contentText,
  countOf,
  durationOf,
  type Inside,
  idOf,
  isList,
  isNative,
  listOf,
  type Merged,
  nameOf,
  namesOf,
  nativeOf,
  problem,
  type Result,
  textOf,
} from './native.ts';
import { STDOUT_IGNORED, STDOUT_NOTICES, STREAM_EVENTS_IGNORED } from './records.ts';
import { endOf, isFailureMessage, providerFailed } from './results.ts';
import { isEmpty, isPlaceholder, ofStream } from './usage.ts';

export function stream(options?: { resumed: boolean }): Decoder {
  return new Stream(options?.resumed ?? false);
}

type System = Merged<Stdout, `system/${string}`>;
type StreamEvent = Inside<Stdout['stream_event']['event']>;
type AssistantBlock = Inside<Inside<Stdout['assistant']['message']>['content']>;
type UserBlock = Inside<Inside<Stdout['user']['message']>['content']>;

interface Said {
  readonly message_id: string | null;
  readonly parent: string | null;
  readonly synthetic: boolean;
}

class Stream implements Decoder {
  readonly #calls = new Calls();
  /** The root agent's open turn: id of its first message. Every run of blocks of one type is a message of its own. */
  #turn: string | null = null;
  /** Partial messages mark a turn's begin and end; else its tokens or what answers it end it. */
  #marked = false;
  #introduced = false;
  readonly #resumed: boolean;
  /** The last thing the root agent printed was a failure of the provider. */
  #failed = false;

  constructor(resumed: boolean) {
    this.#resumed = resumed;
  }

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
        this.#assistant(value, out);
        break;
      case 'user':
        this.#user(value, out);
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
      default:
        other(value, out);
    }
  }

  #system(record: System, out: Draft[]): void {
    if (record.subtype === 'init') {
      this.#introduced = true;
      out.push({
        kind: 'session_started',
        data: {
          session_id: textOf(record.session_id),
          model: textOf(record.model),
          agent_version: textOf(record.qwen_code_version),
          cwd: textOf(record.cwd),
          tools: namesOf(record.tools),
          permission_mode: textOf(record.permission_mode),
        },
      });
    } else if (record.subtype === 'task_notification') {
      const task = nativeOf(record.data);
      this.#calls.notify(idOf(task?.tool_use_id), textOf(task?.status), undefined, out);
    } else if (record.subtype === 'retry') {
      retried(nativeOf(record.data), out);
    } else other(record, out);
  }

  #begin(message_id: string, out: Draft[]): void {
    this.#turn = message_id;
    const data = { step_id: message_id, allowed_tools: null, enforcement_mode: null };
    out.push({ kind: 'step_started', data });
  }

  #close(): void {
    this.#turn = null;
    this.#marked = false;
  }

  #assistant(record: Stdout['assistant'], out: Draft[]): void {
    const message = nativeOf(record.message);
    if (!message || !isList(message.content)) {
      out.push(problem('bad_record', 'assistant without content'));
      return;
    }
    const parent = idOf(record.parent_tool_use_id);
    const own_id = idOf(message.id);
    const failed = parent === null && isFailureMessage(message);
    if (parent === null) {
      if (this.#turn === null) this.#begin(own_id ?? '', out);
      this.#failed = failed;
    }
    const message_id = parent === null ? this.#turn : own_id;
    for (const block of message.content) {
      this.#block(block, { message_id, parent, synthetic: failed }, out);
    }
    if (failed) out.push(providerFailed(contentText(message.content) ?? ''));
    const usage = nativeOf(message.usage);
    if (!usage || isPlaceholder(usage)) return;
    const model = textOf(message.model);
    const data = { mode: 'add' as const, usage: ofStream(usage), cost_usd: null, model };
    out.push({ kind: 'usage_reported', data });
    if (parent === null && !this.#marked) this.#close();
  }

  #block(block: Claim<AssistantBlock>, said: Said, out: Draft[]): void {
    const { message_id, parent, synthetic } = said;
    if (!isNative(block)) {
      out.push(problem('bad_record', 'assistant block is no object'));
    } else if (block.type === 'tool_use') {
      this.#calls.request(
        { id: block.id, name: block.name, input: block.input },
        parent,
        undefined,
        out,
      );
    } else if (block.type === 'text' && typeof block.text === 'string') {
      const data = { message_id, parent_call_id: parent, text: block.text, synthetic };
      out.push({
        kind: 'message_finished',
        data: { ...data, role: 'assistant', partial: false },
      });
    } else if (block.type === 'thinking' && typeof block.thinking === 'string') {
      const data = { message_id, parent_call_id: parent, text: block.thinking };
      out.push({ kind: 'thinking_finished', data });
    } else otherBlock('assistant', block, out);
  }

  #user(record: Stdout['user'], out: Draft[]): void {
    const content = nativeOf(record.message)?.content;
    if (typeof content !== 'string' && !isList(content)) {
      out.push(problem('bad_record', 'user without content'));
      return;
    }
    const parent = idOf(record.parent_tool_use_id);
    if (parent === null) this.#close();
    for (const block of typeof content === 'string' ? [] : content) {
      if (!isNative(block)) out.push(problem('bad_record', 'user block is no object'));
      else if (block.type === 'tool_result') this.#answer(block, out);
      else if (block.type !== 'text') otherBlock('user', block, out);
    }
    const text = contentText(content);
    if (text === null) return;
    // The CLI does not repeat the user's prompt: text of the root agent's user is a task's notification.
    const data = { message_id: idOf(record.uuid), parent_call_id: parent, text };
    out.push({
      kind: 'message_finished',
      data: { ...data, role: 'user', synthetic: parent === null, partial: false },
    });
  }

  #answer(block: UserBlock, out: Draft[]): void {
    const call_id = idOf(block.tool_use_id);
    if (call_id === null) {
      out.push(problem('bad_record', 'tool_result without tool_use_id'));
      return;
    }
    const status = block.is_error === true ? 'error' : 'ok';
    const output = contentText(block.content);
    const rest = { exit_code: null, duration_ms: null, diff: null, native_tool: null };
    this.#calls.finish({ call_id, output, report: output, status, ...rest }, undefined, out);
  }

  #streamEvent(record: Stdout['stream_event'], out: Draft[]): void {
    const event = nativeOf(record.event);
    const type = textOf(event?.type);
    if (!event || type === null) {
      out.push(problem('bad_record', 'stream_event without event'));
      return;
    }
    const parent_call_id = idOf(record.parent_tool_use_id);
    if (type === 'content_block_delta') {
      const message_id = parent_call_id === null ? this.#turn : null;
      delta(nativeOf(event.delta), { message_id, parent_call_id }, out);
    } else if (type === 'message_start') {
      if (parent_call_id !== null) return;
      this.#begin(idOf(nativeOf(event.message)?.id) ?? '', out);
      this.#marked = true;
    } else if (type === 'message_stop') {
      if (parent_call_id === null) this.#close();
    } else if (type === 'tool_progress') {
      progress(event, out);
    } else if (!STREAM_EVENTS_IGNORED.has(type)) {
      out.push(problem('unknown_record', `stream_event/${type}`));
    }
  }

  #result(record: Result, out: Draft[]): void {
    const end = endOf(record, this.#failed);
    // A sub-agent's failure is told as a result that took no time, while the call that started it is still open.
    if (record.is_error === true && record.duration_ms === 0 && this.#calls.failAgent()) {
      out.push({ kind: 'notice', data: { code: 'sub_agent_failed', text: end.error } });
      return;
    }
    if (!this.#introduced) this.#introduce(record, out);
    this.#calls.refused(listOf(record.permission_denials), out);
    const usage = nativeOf(record.usage);
    const spent = usage ? ofStream(usage) : null;
    // After a resume it is the whole session's sum: the lines of this run have been added up.
    if (spent && !isEmpty(spent) && !this.#resumed) {
      const data = { mode: 'total' as const, usage: spent, cost_usd: null, model: null };
      out.push({ kind: 'usage_reported', data });
    }
    if (end.exit_reason === 'provider_error' && !this.#failed) {
      out.push(providerFailed(end.error ?? ''));
    }
    out.push({ kind: 'agent_ended', data: end });
    this.#failed = false;
    this.#close();
  }

  #introduce(record: Result, out: Draft[]): void {
    this.#introduced = true;
    const session_id = textOf(record.session_id);
    const rest = { agent_version: null, cwd: null, tools: null, permission_mode: null };
    out.push({ kind: 'session_started', data: { session_id, model: null, ...rest } });
  }
}

function other(record: Merged<Stdout>, out: Draft[]): void {
  const name = nameOf(record);
  if (STDOUT_IGNORED.has(name)) return;
  if (STDOUT_NOTICES.has(name)) {
    const text = record.data === undefined ? null : JSON.stringify(record.data);
    out.push({ kind: 'notice', data: { code: textOf(record.subtype) ?? name, text } });
  } else out.push(problem(record.type === undefined ? 'bad_record' : 'unknown_record', name));
}

function otherBlock(role: string, block: { readonly type?: unknown }, out: Draft[]): void {
  const type = textOf(block.type);
  const known = type === 'text' || type === 'thinking' || type === null;
  const detail = `${role}/${type ?? 'no type'}`;
  out.push(problem(known ? 'bad_record' : 'unknown_record', detail));
}

function delta(
  part: Inside<StreamEvent['delta']> | null,
  of: { message_id: string | null; parent_call_id: string | null },
  out: Draft[],
): void {
  const type = textOf(part?.type);
  if (type === 'text_delta' && typeof part?.text === 'string') {
    out.push({ kind: 'message_delta', data: { ...of, text: part.text } });
  } else if (type === 'thinking_delta' && typeof part?.thinking === 'string') {
    out.push({ kind: 'thinking_delta', data: { ...of, text: part.thinking } });
  } else if (type !== 'input_json_delta') {
    const known = type === null || type === 'text_delta' || type === 'thinking_delta';
    const detail = `stream_event/content_block_delta/${type ?? 'no type'}`;
    out.push(problem(known ? 'bad_record' : 'unknown_record', detail));
  }
}

/** The model's answer was of no use and is asked for again. What HTTP client and API settle between them is not told. */
function retried(data: Inside<Stdout['system/retry']['data']> | null, out: Draft[]): void {
  const attempt = countOf(data?.attempt);
  const max_attempts = countOf(data?.maxRetries);
  const backoff_ms = durationOf(data?.delayMs);
  const kind = textOf(data?.reason);
  const retry = { attempt, max_attempts, kind, status: null, backoff_ms };
  out.push({ kind: 'provider_retried', data: retry });
}

/** What an MCP server or a long command says while it runs; only with partial messages. */
function progress(event: StreamEvent, out: Draft[]): void {
  const call_id = idOf(event.tool_use_id);
  if (call_id === null) return;
  const content = nativeOf(event.content);
  const elapsed_ms = durationOf(content?.elapsedMs);
  const data = { call_id, text: textOf(content?.message), elapsed_ms, stream: null };
  out.push({ kind: 'call_progress', data });
}
