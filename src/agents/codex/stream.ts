/** stdout of `exec --json`: items of a turn, without times, model and the model's call ids. */
import { RecentSet } from '../../lib/bounded.ts';
import { charsOf } from '../../lib/chars-of.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Decoder } from '../../model/agent.ts';
import { putUnknown } from '../kit/blocks.ts';
import { decoder } from '../kit/decoder.ts';
import { OK, Writer } from '../kit/drafts.ts';
import { idOf, isNative, nativeOf, textOf } from '../kit/native.ts';
import { isEmpty } from '../kit/usage.ts';
import { failed, isRetry, retried } from './failures.ts';
import type { Stdout } from './generated/native.ts';
import { CALL_ITEMS, type CallItem, finished, requested } from './items.ts';
import { type Item, spentOf } from './native.ts';
import { server } from './server.ts';

/** An item that is repeated follows soon. A large set would cost more than the rest of reading an item. */
const ENDED_MAX = 500;

type Phase = 'started' | 'updated' | 'completed';

export function stream(options: { resumed?: boolean } = {}): Decoder {
  const records = exec(options.resumed ?? false);
  const messages = server();
  return {
    record: (value, out) => (isMessage(value) ? messages : records).record(value, out),
    end: (out) => records.end(out),
  };
}

/** Whether a record is a JSON-RPC message. Records of `exec --json` always have a type. */
function isMessage(value: unknown): boolean {
  if (!isNative(value) || value.type !== undefined) return false;
  const answers = value.result !== undefined || value.error !== undefined;
  return typeof value.method === 'string' || (value.id !== undefined && answers);
}

/** `resumed`: the thread has turns from before this process. The end record's figures then include them. */
const exec = (resumed: boolean) =>
  decoder<Stdout>((to) => {
    const items = new Items(to);
    return {
      timeOf: () => undefined,
      records: {
        'thread.started': (record) => to.session({ session_id: idOf(record.thread_id) }),
        'turn.started'() {
          items.begin();
          to.step(null);
        },
        'item.started': (record) => items.take('started', record.item),
        'item.updated': (record) => items.take('updated', record.item),
        'item.completed': (record) => items.take('completed', record.item),
        'turn.completed'(record) {
          const spent = spentOf(record.usage);
          if (!resumed && !isEmpty(spent)) to.usage('total', spent);
          to.ended(OK);
        },
        'turn.failed'({ error }) {
          const message = textOf(nativeOf(error)?.message) ?? 'the turn failed';
          to.ended(failed(to, message));
        },
        // A retry, or the failure that `turn.failed` repeats.
        error(record) {
          const message = textOf(record.message) ?? '';
          if (isRetry(message)) retried(to, message);
          else to.notice('error', message);
        },
      },
      end: () => items.end(),
    };
  });

class Items extends Writer {
  readonly #open = new RecentSet<string>(LIMITS.open_calls_max);
  /** Ended items of this process. They are not new calls when they are repeated. */
  readonly #ended = new RecentSet<string>(ENDED_MAX);
  /** Items seen only in progress, such as a patch while it is written. They may be completed later. */
  readonly #forming = new Map<string, { kind: CallItem; item: Item; chars: number }>();
  #forming_chars = 0;
  #todo_id: string | null = null;

  /** A new process restarts its item numbers. */
  begin(): void {
    this.#ended.clear();
  }

  take(phase: Phase, value: unknown): void {
    const { to } = this;
    const item: Item | null = nativeOf(value);
    const id = idOf(item?.id);
    const kind = CALL_ITEMS.get(item?.type);
    if (item === null || id === null) {
      to.bad(`item.${phase} without an item or its id`);
    } else if (kind !== undefined) {
      if (phase === 'updated') this.#update(id, item, kind);
      else this.#call(phase, id, item, kind);
    } else if (item.type === 'todo_list') {
      this.#todo(phase, id, item);
    } else if (item.type === 'agent_message' || item.type === 'reasoning') {
      if (phase === 'completed') this.#text(id, item);
    } else if (item.type === 'error') {
      if (phase === 'completed') to.notice('warning', textOf(item.message));
    } else putUnknown(to, `item.${phase}`, item.type);
  }

  end(): void {
    for (const [call_id, { kind, item }] of this.#forming) requested(this.to, kind, call_id, item);
    this.#forming.clear();
  }

  #text(message_id: string, { type, text }: Item): void {
    if (typeof text !== 'string') this.to.bad(`${type} without text`);
    else if (type === 'reasoning') this.to.thinking(text, message_id);
    else this.to.message('assistant', text, { message_id });
  }

  #call(phase: 'started' | 'completed', call_id: string, item: Item, kind: CallItem): void {
    const { to } = this;
    const asked = this.#open.has(call_id);
    if (!asked) {
      if (this.#ended.has(call_id)) return;
      this.#formed(call_id);
      if (!requested(to, kind, call_id, item)) return;
    }
    if (phase === 'started') {
      this.#open.add(call_id);
      to.put('call_started', { call_id });
    } else {
      if (asked) this.#open.delete(call_id);
      this.#ended.add(call_id);
      finished(to, kind, call_id, item);
    }
  }

  /** Beyond the limits a call is requested with the input known so far. */
  #update(call_id: string, item: Item, kind: CallItem): void {
    if (this.#open.has(call_id) || this.#ended.has(call_id)) return;
    const earlier = this.#forming.get(call_id);
    const room = LIMITS.waiting_bytes_max - this.#forming_chars + (earlier?.chars ?? 0);
    const chars = charsOf(item, room);
    const one_more = earlier !== undefined || this.#forming.size < LIMITS.open_calls_max;
    if (one_more && chars <= room) {
      this.#forming.set(call_id, { kind, item, chars });
      this.#forming_chars += chars - (earlier?.chars ?? 0);
      return;
    }
    this.#formed(call_id);
    if (requested(this.to, kind, call_id, item)) this.#open.add(call_id);
  }

  #formed(call_id: string): void {
    if (this.#forming.size === 0) return;
    this.#forming_chars -= this.#forming.get(call_id)?.chars ?? 0;
    this.#forming.delete(call_id);
  }

  /** Each version of the list is a call. The item's completion at the end of the turn is not. */
  #todo(phase: Phase, call_id: string, { items }: Item): void {
    const again = phase === 'completed' && this.#todo_id === call_id;
    this.#todo_id = phase === 'completed' ? null : call_id;
    if (again) return;
    this.to.requested(call_id, 'todo_list', { items: items ?? [] });
    this.to.finished({ call_id, status: 'ok', exit_code: null, output: null });
  }
}
