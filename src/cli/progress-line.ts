/** A progress line on a terminal. Prints nothing elsewhere. */
import { oneLine } from '../lib/terminal-text.ts';
import type { Io } from './command.ts';

/** Shortest interval between two updates of the line. */
const NOTE_EVERY_MS = 100;
const CLEAR_LINE = '\r\x1b[K';

export class ProgressLine {
  readonly #io: Io;
  readonly #shown = process.stderr.isTTY === true;
  #last_ms = 0;

  constructor(io: Io) {
    this.#io = io;
  }

  /** `text` is called only if the line is due. */
  note(text: () => string): void {
    const now_ms = performance.now();
    if (!this.#shown || now_ms - this.#last_ms < NOTE_EVERY_MS) return;
    this.#last_ms = now_ms;
    this.clear();
    void this.#io.err.write(oneLine(text(), this.#io.width - 1));
  }

  clear(): void {
    if (this.#shown) void this.#io.err.own(CLEAR_LINE);
  }
}
