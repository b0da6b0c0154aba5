/** What comes for the agent while the client runs: prompts in their order, interrupts and answers at once. */
import type { Readable } from 'node:stream';
import { LIMITS } from '../../../lib/limits.ts';
import { createLines } from '../../../lib/lines.ts';
import { idOf, nativeOf, type Open } from '../../kit/native.ts';

/** Every character of a prompt may be escaped. */
const LINE_BYTES_MAX = LIMITS.prompt_bytes_max * 6;

/** Reads lines of `InputLine`. What is no such line means nothing here: only tacho writes them. */
export class Inbox {
  /** Nothing more comes. */
  ended = false;
  onInterrupt = () => {};
  onConfirm = (_request: string, _confirmed: boolean) => {};
  onEnd = () => {};
  readonly #prompts: string[] = [];
  #wake = () => {};

  constructor(from: Readable) {
    const lines = createLines(
      {
        line: (bytes, start, end) => this.#take(parsed(bytes.toString('utf8', start, end))),
        oversize: () => {},
      },
      LINE_BYTES_MAX,
    );
    const end = () => {
      if (this.ended) return;
      this.ended = true;
      this.onEnd();
      this.#wake();
    };
    from.on('data', (piece: Buffer) => lines.push(piece));
    // A line that was cut by the end of who wrote it is no line.
    from.on('end', end).on('error', end);
  }

  #take(line: Open | null): void {
    if (typeof line?.say === 'string') this.#prompts.push(line.say);
    else if (line?.interrupt === true) this.onInterrupt();
    const confirm = nativeOf(line?.confirm);
    const request = idOf(confirm?.request);
    if (request !== null) this.onConfirm(request, confirm?.confirmed === true);
    this.#wake();
  }

  /** The next prompt; null: there will be none. */
  async next(): Promise<string | null> {
    while (this.#prompts.length === 0 && !this.ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#prompts.shift() ?? null;
  }
}

function parsed(text: string): Open | null {
  try {
    return nativeOf(JSON.parse(text));
  } catch {
    return null;
  }
}
