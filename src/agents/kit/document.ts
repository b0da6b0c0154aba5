/**
 * One JSON document over many lines, read line by line, one piece at a time, so that memory use stays constant.
 * Contract: the document is formatted as by JSON.stringify with any indent, one bracket, key or value per line.
 */
import { jsonInside } from '../../lib/byte-text.ts';
import { LIMITS } from '../../lib/limits.ts';
import { trimmed } from '../../lib/white-space.ts';
import { type Drafts, Writer } from './drafts.ts';
import { problem } from './native.ts';

export interface DocumentForm {
  /** Keys that a document begins with. */
  readonly first: ReadonlySet<string>;
  /** Objects to hand out, as `{name: object}`, by their path: keys joined by `/`, with `*` for the items of a list. */
  readonly pieces: ReadonlyMap<string, string>;
  /** Texts and figures of the document itself to hand out, as `{field: {key: value}}`. */
  readonly fields: ReadonlySet<string>;
}

const OPENING = /^(?:"([^"]*)": )?[{[]$/;
const FIELD = /^"([^"]*)": (.*)$/s;
const NOTHING: readonly unknown[] = [];

interface Piece {
  /** Null: the piece is over the limit. */
  name: string | null;
  readonly depth: number;
  lines: string[];
  chars: number;
}

export class DocumentLines extends Writer {
  readonly #form: DocumentForm;
  /** Keys of the open brackets. Empty: no document is open. */
  readonly #path: string[] = [];
  #piece: Piece | null = null;
  /** A lone bracket is a document only if its first key follows. */
  #sure = false;

  constructor(to: Drafts, form: DocumentForm) {
    super(to);
    this.#form = form;
  }

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
    if (!this.#sure && !this.#form.first.has(FIELD.exec(line)?.[1] ?? '')) {
      this.#close();
      this.to.problem('not_json', 'a record that cannot be parsed');
      return null;
    }
    this.#sure = true;
    if (this.#piece) this.#collect(this.#piece, line);
    const bare = line.endsWith(',') ? line.slice(0, -1) : line;
    const opening = bare.endsWith('{') || bare.endsWith('[') ? OPENING.exec(bare) : null;
    if (opening) this.#enter(opening[1] ?? '*', line);
    else if (this.#path.length === 1 && bare !== '}') return this.#field(bare);
    return bare === '}' || bare === ']' ? this.#leave() : NOTHING;
  }

  /** The same for a line that is JSON by itself: an empty list or object within the document. Null: it is a record. */
  value(value: unknown): readonly unknown[] | null {
    const empty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
    return this.open && empty ? this.line(JSON.stringify(value)) : null;
  }

  #field(line: string): readonly unknown[] {
    const [, key = '', value = ''] = FIELD.exec(line) ?? [];
    if (!this.#form.fields.has(key)) return NOTHING;
    return [{ field: { [key]: jsonInside(value) } }];
  }

  #enter(key: string, line: string): void {
    this.#path.push(key);
    if (this.#piece || this.#path.length > LIMITS.depth_max) return;
    const name = this.#form.pieces.get(this.#path.slice(1).join('/'));
    if (name === undefined) return;
    this.#piece = { name, depth: this.#path.length, lines: [line.slice(-1)], chars: 1 };
  }

  #collect(piece: Piece, line: string): void {
    if (piece.name === null) return;
    piece.lines.push(line);
    piece.chars += line.length;
    if (piece.chars <= LIMITS.line_bytes_max) return;
    this.to.problem('oversize_line', `a ${piece.name} of the document is over the size limit`);
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
    if (value !== undefined) return [{ [piece.name]: value }];
    this.to.bad(`a ${piece.name} of the document that cannot be parsed`);
    return NOTHING;
  }

  #close(): void {
    this.#path.length = 0;
    this.#piece = null;
  }

  end(): void {
    if (!this.open) return;
    const { data } = problem('torn_line', 'the document ends before its last bracket');
    this.to.put('problem', { ...data, stage: 'frame' });
    this.#close();
  }
}

/** The same pieces of a document that is a value already. */
export function* piecesOf(
  document: Readonly<Record<string, unknown>>,
  { fields, pieces }: DocumentForm,
): Generator<unknown> {
  for (const [key, value] of Object.entries(document)) {
    if (fields.has(key)) yield { field: { [key]: value } };
    const whole = pieces.get(key);
    if (whole !== undefined) yield { [whole]: value };
    const item = pieces.get(`${key}/*`);
    if (item !== undefined && Array.isArray(value)) for (const one of value) yield { [item]: one };
  }
}
