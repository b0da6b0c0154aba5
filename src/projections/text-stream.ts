/**
 * Escapes text that arrives in pieces.
 * The last character of a piece may continue in the next one (half a surrogate pair, an emoji, CR before LF), so it is
 * held back.
 */
import { characters } from '../lib/columns.ts';
import { LIMITS } from '../lib/limits.ts';
import { forTerminal } from '../lib/terminal-text.ts';
import type { DataOf } from '../model/event.ts';
import { SpokenText } from '../model/run-fold.ts';

/** Longer than any emoji: limits the search for the start of a character. */
const HELD_UNITS_MAX = 64;

export class TextStream {
  readonly #spoken = new SpokenText(LIMITS.line_bytes_max);
  #held = '';
  #line_open = false;

  /** The text to print now. A piece of another message begins on a new line, after the text that `begin` returns. */
  push(piece: DataOf<'message_delta'>, begin: (fresh: boolean) => string = () => ''): string {
    if (piece.text === '') return '';
    const fresh = this.#spoken.piece(piece);
    const before = (fresh ? this.endLine() : '') + begin(fresh);
    const whole = this.#held + piece.text;
    const from = unfinishedFrom(whole);
    this.#held = whole.slice(from);
    return before + this.#print(whole.slice(0, from));
  }

  /** The text held back so far, and a line end if the line is open. */
  endLine(): string {
    const rest = this.#print(this.#held);
    const end = this.#line_open ? '\n' : '';
    this.#held = '';
    this.#line_open = false;
    return rest + end;
  }

  /**
   * The end of a message: the rest that its pieces did not contain, and a line end; null if none of it was printed.
   * Pieces can be missing at the end if the agent or the recorder holds text back.
   */
  finishMessage(message: DataOf<'message_finished'>): string | null {
    const rest = this.#spoken.whole(message);
    if (rest === null) return null;
    this.#held += rest;
    return this.endLine();
  }

  #print(text: string): string {
    const safe = forTerminal(text);
    if (safe !== '') this.#line_open = !safe.endsWith('\n');
    return safe;
  }
}

/** The start of the last character if it may still grow, otherwise the end. */
function unfinishedFrom(text: string): number {
  const last = text.charCodeAt(text.length - 1);
  const settled = last === 10 || last === 9 || (last >= 32 && last < 127);
  if (Number.isNaN(last) || settled) return text.length;
  const start = Math.max(0, text.length - HELD_UNITS_MAX);
  let from = text.length;
  for (const { index } of characters(text.slice(start))) from = start + index;
  return from;
}
