/**
 * stdout of `exec --json`: items that start and complete, one turn, no times, no model, no ids of the model's calls.
 * A stream of the app-server is told apart by its records and read in server.ts.
 */
import { charsOf } from '../../lib/chars-of.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Decoder } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import { failed, retryOf } from './failures.ts';
import { callItem } from './items.ts';
import {
  idOf,
  isNative,
  type Native,
  nameOf,
  nativeOf,
  notice,
  problem,
  textOf,
  unknown,
} from './native.ts';
import { fileChanges } from './patch.ts';
import { isMessage, ServerRecords } from './server.ts';
import { usageOf } from './usage.ts';

type Phase = 'started' | 'updated' | 'completed';

const PHASES: ReadonlyMap<unknown, Phase> = new Map([
  ['item.started', 'started'],
  ['item.updated', 'updated'],
  ['item.completed', 'completed'],
]);

/** `resumed`: the thread had turns before this process; the figures of its end record are then the thread's, not the run's. */
export function stream(options: { resumed?: boolean } = {}): Decoder {
  return new StreamRecords(options.resumed ?? false);
}

class StreamRecords implements Decoder {
  readonly #resumed: boolean;
  /** Items that were asked for and have not ended. */
  readonly #open = new Set<string>();
  /** Items of this process that ended: told again, they are no calls. */
  readonly #ended = new Set<string>();
  /** Items seen only in the making (a patch as it is written): their whole comes later, or never. */
  readonly #forming = new Map<string, { item: Native; chars: number }>();
  #forming_chars = 0;
  #todo_id: string | null = null;
  readonly #server = new ServerRecords();

  constructor(resumed: boolean) {
    this.#resumed = resumed;
  }

  record(value: unknown, out: Draft[]): void {
    if (!isNative(value)) {
      out.push(problem('bad_record', 'record is no object'));
      return;
    }
    const phase = PHASES.get(value.type);
    if (isMessage(value)) this.#server.record(value, out);
    else if (phase === undefined) this.#turn(value, out);
    else this.#item(phase, nativeOf(value.item), out);
  }

  end(out: Draft[]): void {
    for (const [call_id, { item }] of this.#forming) this.#request(call_id, item, out);
    this.#forming.clear();
  }

  #turn(record: Native, out: Draft[]): void {
    switch (record.type) {
      case 'thread.started':
        out.push({
          kind: 'session_started',
          data: {
            session_id: idOf(record.thread_id),
            model: null,
            agent_version: null,
            cwd: null,
            tools: null,
            permission_mode: null,
          },
        });
        break;
      case 'turn.started':
        // Another process counts its items anew.
        this.#ended.clear();
        out.push({
          kind: 'step_started',
          data: { step_id: null, allowed_tools: null, enforcement_mode: null },
        });
        break;
      case 'turn.completed':
        this.#completed(record, out);
        break;
      case 'turn.failed': {
        const message = textOf(nativeOf(record.error)?.message) ?? 'the turn failed';
        const end = failed(message, null, undefined, out);
        out.push({ kind: 'agent_ended', data: { ...end, evidence: 'native_result' } });
        break;
      }
      case 'error':
        this.#error(textOf(record.message) ?? '', out);
        break;
      default:
        out.push(unknown(record.type, nameOf(record.type)));
    }
  }

  #completed(record: Native, out: Draft[]): void {
    const usage = this.#resumed ? null : usageOf(record.usage);
    if (usage !== null) {
      out.push({
        kind: 'usage_reported',
        data: { mode: 'total', usage, cost_usd: null, model: null },
      });
    }
    out.push({
      kind: 'agent_ended',
      data: { exit_reason: 'ok', error: null, evidence: 'native_result' },
    });
  }

  /** A retry, or the failure that `turn.failed` says again. */
  #error(message: string, out: Draft[]): void {
    const data = retryOf(message);
    out.push(data === null ? notice('error', message) : { kind: 'provider_retried', data });
  }

  #item(phase: Phase, item: Native | null, out: Draft[]): void {
    const id = idOf(item?.id);
    if (item === null || id === null) {
      out.push(problem('bad_record', `item.${phase} without an item or its id`));
    } else if (callItem(item.type) !== undefined) {
      this.#call(phase, id, item, out);
    } else if (item.type === 'todo_list') {
      this.#todo(phase, id, item, out);
    } else if (item.type === 'agent_message' || item.type === 'reasoning') {
      if (phase === 'completed') this.#text(id, item, out);
    } else if (item.type === 'error') {
      if (phase === 'completed') out.push(notice('warning', textOf(item.message)));
    } else {
      out.push(unknown(item.type, `item.${phase}/${nameOf(item.type)}`));
    }
  }

  #text(message_id: string, item: Native, out: Draft[]): void {
    const text = textOf(item.text);
    if (text === null) {
      out.push(problem('bad_record', `${nameOf(item.type)} without text`));
    } else if (item.type === 'reasoning') {
      out.push({ kind: 'thinking_finished', data: { message_id, parent_call_id: null, text } });
    } else {
      const said = { role: 'assistant', text, synthetic: false, partial: false } as const;
      out.push({ kind: 'message_finished', data: { message_id, parent_call_id: null, ...said } });
    }
  }

  #request(call_id: string, item: Native, out: Draft[]): boolean {
    const request = callItem(item.type)?.request(item) ?? null;
    if (request === null) {
      out.push(problem('bad_record', `${nameOf(item.type)} without what it calls`));
      return false;
    }
    out.push({ kind: 'call_requested', data: { call_id, parent_call_id: null, ...request } });
    return true;
  }

  #call(phase: Phase, call_id: string, item: Native, out: Draft[]): void {
    if (this.#ended.has(call_id)) return;
    if (phase === 'updated') {
      if (!this.#open.has(call_id)) this.#form(call_id, item, out);
      return;
    }
    this.#formed(call_id);
    if (!this.#open.has(call_id) && !this.#request(call_id, item, out)) return;
    if (phase === 'started') {
      if (this.#open.size < LIMITS.open_calls_max) this.#open.add(call_id);
      out.push({ kind: 'call_started', data: { call_id } });
      return;
    }
    this.#open.delete(call_id);
    if (this.#ended.size < LIMITS.settled_calls_max) this.#ended.add(call_id);
    const kind = callItem(item.type);
    if (kind === undefined) return;
    const ended = kind.ended(item);
    out.push({ kind: 'call_finished', data: { call_id, ...ended } });
    if (ended.status === 'ok' && kind.changes) {
      fileChanges(kind.changes(item), call_id, undefined, out);
    }
  }

  /** Beyond the limits a call is requested as far as it is known. */
  #form(call_id: string, item: Native, out: Draft[]): void {
    const earlier = this.#forming.get(call_id);
    const room = LIMITS.waiting_bytes_max - this.#forming_chars + (earlier?.chars ?? 0);
    const chars = charsOf(item, room);
    const one_more = earlier !== undefined || this.#forming.size < LIMITS.open_calls_max;
    if (one_more && chars <= room) {
      this.#forming.set(call_id, { item, chars });
      this.#forming_chars += chars - (earlier?.chars ?? 0);
      return;
    }
    this.#formed(call_id);
    if (this.#request(call_id, item, out) && this.#open.size < LIMITS.open_calls_max)
      this.#open.add(call_id);
  }

  #formed(call_id: string): void {
    this.#forming_chars -= this.#forming.get(call_id)?.chars ?? 0;
    this.#forming.delete(call_id);
  }

  /** Each version of the list is a call of the model; the item completes when the turn ends, which is none. */
  #todo(phase: Phase, call_id: string, item: Native, out: Draft[]): void {
    const again = phase === 'completed' && this.#todo_id === call_id;
    this.#todo_id = phase === 'completed' ? null : call_id;
    if (again) return;
    const input = { items: item.items ?? [] };
    const request = { call_id, native_tool: 'todo_list', input, parent_call_id: null };
    out.push({ kind: 'call_requested', data: request });
    const ended = { status: 'ok', exit_code: null, output: null } as const;
    out.push({ kind: 'call_finished', data: { call_id, ...ended } });
  }
}
