/** What comes for the agent while the client runs: prompts in their order, interrupts and answers at once. */
import type { Readable } from 'node:stream';
import { LIMITS } from '../../../lib/limits.ts';
import { createLines } from '../../../lib/lines.ts';
import { idOf, isNative, nativeOf } from '../../kit/native.ts';

export interface Inbox {
  /** The next prompt; null: there will be none. */
  next(): Promise<string | null>;
  /** Nothing more comes. */
  readonly ended: boolean;
  onInterrupt(then: () => void): void;
  onConfirm(then: (request: string, confirmed: boolean) => void): void;
  onEnd(then: () => void): void;
}

/** Every character of a prompt may be escaped. */
const LINE_BYTES_MAX = LIMITS.prompt_bytes_max * 6;

/** Reads lines of `InputLine`. What is no such line means nothing here: only tacho writes them. */
export function readInbox(from: Readable): Inbox {
  const prompts: string[] = [];
  const on = {
    interrupt: () => {},
    confirm: (_request: string, _confirmed: boolean) => {},
    end: () => {},
  };
  let ended = false;
  let wake: () => void = () => {};
  const take = (text: string) => {
    const line = parsed(text);
    if (typeof line?.say === 'string') prompts.push(line.say);
    else if (line?.interrupt === true) on.interrupt();
    const confirm = nativeOf(line?.confirm);
    const request = idOf(confirm?.request);
    if (request !== null) on.confirm(request, confirm?.confirmed === true);
    wake();
  };
  const end = () => {
    if (ended) return;
    ended = true;
    on.end();
    wake();
  };
  const lines = createLines(
    { line: (bytes, start, to) => take(bytes.toString('utf8', start, to)), oversize: () => {} },
    LINE_BYTES_MAX,
  );
  from.on('data', (piece: Buffer) => lines.push(piece));
  // A line that was cut by the end of who wrote it is no line.
  from.on('end', end).on('error', end);
  return {
    get ended() {
      return ended;
    },
    async next() {
      while (prompts.length === 0 && !ended) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return prompts.shift() ?? null;
    },
    onInterrupt: (then) => {
      on.interrupt = then;
    },
    onConfirm: (then) => {
      on.confirm = then;
    },
    onEnd: (then) => {
      on.end = then;
    },
  };
}

function parsed(text: string) {
  try {
    const value: unknown = JSON.parse(text);
    return isNative(value) ? value : null;
  } catch {
    return null;
  }
}
