/**
 * `opencode export` prints one JSON document over many lines: `{info, messages: [{info, parts}]}`. It is read line by
 * line, a part at a time, so that memory stays flat. Contract: the document is as JSON.stringify indents it, one
 * bracket, key or value a line; how far it is indented does not matter.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';
import { type Native, problem } from './native.ts';

export type Piece = 'session' | 'message' | 'part';

const PIECES: ReadonlyMap<string, Piece> = new Map([
  ['/info', 'session'],
  ['/messages/*/info', 'message'],
  ['/messages/*/parts/*', 'part'],
]);

const OPENING = /^(?:"([^"]*)": )?[{[]$/;

export class DocumentLines {
  /** Names of the open brackets; empty: no document is open. */
  readonly #path: string[] = [];
  #piece: { kind: Piece | null; depth: number; lines: string[]; chars: number } | null = null;
  /** A lone bracket is a document only if its first key follows. */
  #sure = false;
  readonly #take: (kind: Piece, value: Native) => void;
  readonly #parsed: (text: string) => Native | null;

  constructor(take: (kind: Piece, value: Native) => void, parsed: (text: string) => Native | null) {
    this.#take = take;
    this.#parsed = parsed;
  }

  get open(): boolean {
    return this.#path.length > 0;
  }

  /** False for a line that belongs to no document. */
  line(text: string, out: Draft[]): boolean {
    const line = text.trim();
    const bare = line.endsWith(',') ? line.slice(0, -1) : line;
    if (!this.open) {
      if (line !== '{') return false;
      this.#path.push('');
      this.#sure = false;
      return true;
    }
    if (!this.#sure && !/^"(info|messages)": [{[]/.test(line)) {
      this.#drop(out);
      return false;
    }
    this.#sure = true;
    if (this.#piece) this.#collect(line, out);
    const opening = OPENING.exec(bare);
    if (opening) this.#enter(opening[1] ?? '*', line);
    else if (/^[}\]]$/.test(bare)) this.#leave(out);
    return true;
  }

  #enter(name: string, line: string): void {
    this.#path.push(name);
    if (this.#piece || this.#path.length > LIMITS.depth_max) return;
    const kind = PIECES.get(this.#path.join('/'));
    if (kind === undefined) return;
    const bracket = line.slice(-1);
    this.#piece = { kind, depth: this.#path.length, lines: [bracket], chars: 1 };
  }

  #collect(line: string, out: Draft[]): void {
    const piece = this.#piece;
    if (piece === null || piece.kind === null) return;
    piece.lines.push(line);
    piece.chars += line.length;
    if (piece.chars <= LIMITS.line_bytes_max) return;
    out.push(problem('oversize_line', `a ${piece.kind} of the export is over the limit`));
    piece.kind = null;
    piece.lines = [];
  }

  #leave(out: Draft[]): void {
    const piece = this.#piece;
    if (piece && piece.depth === this.#path.length) {
      this.#piece = null;
      if (piece.kind !== null) this.#give(piece.kind, piece.lines, out);
    }
    this.#path.pop();
  }

  #give(kind: Piece, lines: string[], out: Draft[]): void {
    // The closing line may carry the comma to the next piece.
    const value = this.#parsed(lines.join('').replace(/,$/, ''));
    if (value !== null) this.#take(kind, value);
    else out.push(problem('bad_record', `a ${kind} of the export that does not parse`));
  }

  #drop(out: Draft[]): void {
    this.#path.length = 0;
    this.#piece = null;
    out.push(problem('not_json', 'a record that does not parse'));
  }

  end(out: Draft[]): void {
    if (!this.open) return;
    const { data } = problem('torn_line', 'the export ends before its last bracket');
    out.push({ kind: 'problem', data: { ...data, stage: 'frame' } } as Draft);
    this.#path.length = 0;
    this.#piece = null;
  }
}
