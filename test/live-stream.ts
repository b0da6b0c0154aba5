/** The rules for every stream of live messages from tacho, checked on the receiver's side. */
import { isDeepStrictEqual } from 'node:util';
import { readText, type WireMessage } from '../src/live/protocol/messages.ts';
import type { LiveMessage } from '../src/model/live.ts';
import { CALL_MESSAGE_TYPES } from '../src/model/live-words.ts';

// biome-ignore lint/suspicious/noExplicitAny: data is read loosely here; the field checks define its type
export type Data = any;

/** As sent over the wire. */
export function wire(messages: readonly LiveMessage[]): { wrong: string[]; read: WireMessage[] } {
  const wrong: string[] = [];
  const read: WireMessage[] = [];
  for (const message of messages) {
    const result = readText(JSON.stringify(message));
    if (result.fault === null) read.push(result.message);
    else wrong.push(`${message.type} ${message.seq}: ${result.fault.message}`);
  }
  return { wrong, read };
}

/** The faults of one complete session; empty when there are none. */
export function faultsOf(messages: readonly LiveMessage[], session_id: string): string[] {
  const { wrong, read } = wire(messages);
  const complain = (message: WireMessage, why: string) =>
    wrong.push(`${message.seq} ${message.type}: ${why}`);
  let last = '';
  const ids = new Set<string>();
  read.forEach((message, index) => {
    if (message.seq !== index + 1) complain(message, `at place ${index + 1}`);
    if (message.session_id !== session_id) complain(message, 'of another session');
    if (message.timestamp < last) complain(message, 'time goes back');
    last = message.timestamp;
    if (ids.has(message.message_id ?? '')) complain(message, 'its id is used twice');
    ids.add(message.message_id ?? '');
    if ((message.type === 'session_start') !== (index === 0))
      complain(message, 'at the wrong place');
    if ((message.type === 'session_end') !== (index === read.length - 1))
      complain(message, 'at the wrong place');
  });
  pairs(read, complain);
  nesting(read, complain);
  return wrong;
}

type Complain = (message: WireMessage, why: string) => void;

function pairs(read: readonly WireMessage[], complain: Complain): void {
  const open = new Map<string, string>();
  const answered = new Set<string>();
  for (const message of read) {
    const { type, data, correlation_id } = message;
    if (!CALL_MESSAGE_TYPES.has(type)) {
      if (type === 'session_end' && open.size > 0) complain(message, `${open.size} calls are open`);
      continue;
    }
    const call_id = data.call_id as string;
    if (correlation_id !== `${message.session_id}/${call_id}`) complain(message, 'correlation id');
    if (answered.has(call_id)) complain(message, `${call_id} has been answered`);
    if (type === 'tool_call_request') {
      if (open.has(call_id)) complain(message, `${call_id} is open`);
      open.set(call_id, type);
    } else if (!open.has(call_id)) complain(message, `${call_id} was not requested`);
    if (type === 'tool_call_response') {
      open.delete(call_id);
      answered.add(call_id);
    }
  }
}

function nesting(read: readonly WireMessage[], complain: Complain): void {
  const open = new Map<string, number | null>();
  for (const message of read) {
    const { type, data } = message as { type: string; data: Data };
    const id = data.message?.id ?? data.message_id;
    if (type === 'message_start') {
      if (open.has(id)) complain(message, 'is open');
      open.set(id, null);
    } else if (/^content_block|^message_stop/.test(type)) {
      if (!open.has(id)) complain(message, 'its message is not open');
      const block = open.get(id);
      const fits = type === 'content_block_start' || type === 'message_stop' ? null : data.index;
      if (block !== fits) complain(message, `block ${block} is open`);
      if (type === 'content_block_start') open.set(id, data.index);
      if (type === 'content_block_stop') open.set(id, null);
      if (type === 'message_stop') open.delete(id);
    } else if (type === 'session_end' && open.size > 0) complain(message, 'a text is open');
  }
}

/** The sent texts, as a receiver assembles them. */
export function textsOf(messages: readonly LiveMessage[]): { type: string; text: string }[] {
  const blocks = new Map<string, { type: string; text: string }>();
  for (const { type, data } of wire(messages).read as { type: string; data: Data }[]) {
    const key = `${data.message_id} ${data.index}`;
    const block = blocks.get(key);
    if (type === 'content_block_start') blocks.set(key, { type: data.content_type, text: '' });
    if (block === undefined) continue;
    if (type === 'content_block_delta') block.text += data.delta.text;
    if (type === 'content_block_stop' && data.text !== undefined) block.text = data.text;
  }
  return [...blocks.values()];
}

/** The input of a request, however it is encoded. */
export function inputOf(request: LiveMessage, messages: readonly LiveMessage[]): unknown {
  const { args, args_wrapped, call_id } = request.data as Data;
  if (args_wrapped === 'value') return args.value;
  if (args_wrapped === 'json') return JSON.parse(args.json);
  if (args_wrapped === 'parts') return JSON.parse(joinedParts('args', call_id, messages));
  return args;
}

export function outputOf(response: LiveMessage, messages: readonly LiveMessage[]): unknown {
  const { result, error, call_id } = response.data as Data;
  const outcome = result ?? error;
  return outcome.output_parts > 0 ? joinedParts('output', call_id, messages) : outcome.output;
}

function joinedParts(of: string, call_id: string, messages: readonly LiveMessage[]): string {
  return messages
    .map(({ data }) => data as Data)
    .filter((data) => data.call_id === call_id && data.details?.part_of === of)
    .map((data) => data.details.text)
    .join('');
}

export const same = isDeepStrictEqual;
