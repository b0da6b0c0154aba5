/** Collections of foreign keys that stay bounded. */

interface Held {
  readonly size: number;
  keys(): Iterable<unknown>;
  delete(key: never): boolean;
}

/** Drops the entries that were added first, until `most` are left. */
export function dropOldest(held: Held, most: number): void {
  if (held.size <= most) return;
  for (const key of held.keys()) {
    if (held.size <= most) return;
    held.delete(key as never);
  }
}

/** Over the limit the older half goes. */
export class RecentMap<K, V> extends Map<K, V> {
  readonly #most: number;

  constructor(most: number) {
    super();
    this.#most = most;
  }

  override set(key: K, value: V): this {
    super.set(key, value);
    if (this.size > this.#most) dropOldest(this, this.#most / 2);
    return this;
  }
}

/** Over the limit the older half goes. */
export class RecentSet<K> extends Set<K> {
  readonly #most: number;

  constructor(most: number) {
    super();
    this.#most = most;
  }

  override add(key: K): this {
    super.add(key);
    if (this.size > this.#most) dropOldest(this, this.#most / 2);
    return this;
  }
}

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
