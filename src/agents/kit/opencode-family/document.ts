/**
 * `opencode export` prints one JSON document over many lines: `{info, messages: [{info, parts}]}`. It is read line by
 * line, one part at a time, so that memory use stays constant. Contract: the document is formatted as by JSON.stringify
 * with any indent, one bracket, key or value per line.
 */

import { jsonInside } from '../../../lib/byte-text.ts';
import { LIMITS } from '../../../lib/limits.ts';
import { trimmed } from '../../../lib/white-space.ts';
import { Writer } from '../drafts.ts';
import { isNative, problem } from '../native.ts';

const PIECES: ReadonlyMap<string, string> = new Map([
  ['/info', 'session'],
  ['/messages/*/info', 'message'],
  ['/messages/*/parts/*', 'part'],
]);
const FIRST = /^"(info|messages)": [{[]/;
const OPENING = /^(?:"([^"]*)": )?[{[]$/;
const NOTHING: readonly unknown[] = [];

/** A piece of the document: `{session}`, `{message}` or `{part}`. */
interface Piece {
  /** Null: the piece is over the limit. */
  name: string | null;
  readonly depth: number;
  lines: string[];
  chars: number;
}

export class DocumentLines extends Writer {
  /** Names of the open brackets. Empty: no document is open. */
  readonly #path: string[] = [];
  #piece: Piece | null = null;
  /** A lone bracket is a document only if its first key follows. */
  #sure = false;

  get open(): boolean {
    return this.#path.length > 0;
  }

  /** The pieces that end with this line; null if the line belongs to no document. */
  line(text: string): readonly unknown[] | null {
    const line = trimmed(text);
    if (!this.open) {
      if (line !== '{') return null;
      this.#path.push('');
      this.#sure = false;
      return NOTHING;
    }
    if (!this.#sure && !FIRST.test(line)) {
      this.#close();
      this.to.problem('not_json', 'a record that cannot be parsed');
      return null;
    }
    this.#sure = true;
    if (this.#piece) this.#collect(this.#piece, line);
    const bare = line.endsWith(',') ? line.slice(0, -1) : line;
    const opening = bare.endsWith('{') || bare.endsWith('[') ? OPENING.exec(bare) : null;
    if (opening) this.#enter(opening[1] ?? '*', line);
    return bare === '}' || bare === ']' ? this.#leave() : NOTHING;
  }

  #enter(name: string, line: string): void {
    this.#path.push(name);
    if (this.#piece || this.#path.length > LIMITS.depth_max) return;
    const piece = PIECES.get(this.#path.join('/'));
    if (piece === undefined) return;
    this.#piece = { name: piece, depth: this.#path.length, lines: [line.slice(-1)], chars: 1 };
  }

  #collect(piece: Piece, line: string): void {
    if (piece.name === null) return;
    piece.lines.push(line);
    piece.chars += line.length;
    if (piece.chars <= LIMITS.line_bytes_max) return;
    this.to.problem('oversize_line', `a ${piece.name} of the export is over the size limit`);
    piece.name = null;
    piece.lines = [];
  }

  #leave(): readonly unknown[] {
    const piece = this.#piece?.depth === this.#path.length ? this.#piece : null;
    this.#path.pop();
    if (piece === null) return NOTHING;
    this.#piece = null;
    if (piece.name === null) return NOTHING;
    // The closing line may carry the comma to the next piece.
    const value = jsonInside(piece.lines.join('').replace(/,$/, ''));
    if (isNative(value)) return [{ [piece.name]: value }];
    this.to.bad(`a ${piece.name} of the export that cannot be parsed`);
    return NOTHING;
  }

  #close(): void {
    this.#path.length = 0;
    this.#piece = null;
  }

  end(): void {
    if (!this.open) return;
    const { data } = problem('torn_line', 'the export ends before its last bracket');
    this.to.put('problem', { ...data, stage: 'frame' });
    this.#close();
  }
}
