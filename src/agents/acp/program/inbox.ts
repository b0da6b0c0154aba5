/** Input for the agent while the client runs: prompts in order, interrupts and answers immediately. */
import type { Readable } from 'node:stream';
import { jsonInside } from '../../../lib/byte-text.ts';
import { createLines } from '../../../lib/lines.ts';
import { AGENT_LIMITS } from '../../kit/limits.ts';
import { idOf, nativeOf, type Open } from '../../kit/native.ts';

/** Every character of a prompt may be escaped. */
const LINE_BYTES_MAX = AGENT_LIMITS.prompt_bytes_max * 6;

/** Reads lines of `InputLine`. Other lines are ignored: only tacho writes them. */
export class Inbox {
  ended = false;
  onInterrupt = () => {};
  onConfirm = (_request: string, _confirmed: boolean) => {};
  onEnd = () => {};
  readonly #prompts: string[] = [];
  #wake = () => {};

  constructor(from: Readable) {
    const lines = createLines(
      {
        line: (bytes, start, end) =>
          this.#take(nativeOf(jsonInside(bytes.toString('utf8', start, end)))),
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
    // A line that its writer did not finish is ignored.
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

  /** The next prompt; null: there will be no more. */
  async next(): Promise<string | null> {
    while (this.#prompts.length === 0 && !this.ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#prompts.shift() ?? null;
  }
}
