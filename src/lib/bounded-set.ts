/** A set of foreign texts, bounded in number and in characters: what goes beyond is not added. */
export class BoundedSet extends Set<string> {
  readonly #most: number;
  #room: number;

  constructor(most: number, chars: number) {
    super();
    this.#most = most;
    this.#room = chars;
  }

  override add(text: string): this {
    if (this.has(text) || this.size >= this.#most || text.length > this.#room) return this;
    this.#room -= text.length;
    // A copy: a part of a longer text keeps all of that in memory.
    return super.add(Buffer.from(text, 'utf16le').toString('utf16le'));
  }
}
