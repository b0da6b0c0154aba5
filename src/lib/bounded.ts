/** Bounded collections of foreign keys. */

interface Held {
  readonly size: number;
  keys(): Iterable<unknown>;
  delete(key: never): boolean;
}

/** Drops the oldest entries until `most` are left. Call it rarely, for many entries at a time. */
function dropOldest(held: Held, most: number): void {
  if (held.size <= most) return;
  for (const key of held.keys()) {
    if (held.size <= most) return;
    held.delete(key as never);
  }
}

/** Drops the older half when it is over the limit. */
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

/** Drops the older half when it is over the limit. */
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

interface Link<K, V> {
  readonly key: K;
  value: V;
  older: Link<K, V> | null;
  newer: Link<K, V> | null;
}

/**
 * Keeps exactly the entries that were set last, each operation in constant time. A plain `Map` is too slow: it finds its
 * first key by walking over all keys that were deleted before it.
 */
export class LastSet<K, V> {
  readonly #links = new Map<K, Link<K, V>>();
  readonly #most: number;
  readonly #onDrop: (key: K, value: V) => void;
  #oldest: Link<K, V> | null = null;
  #newest: Link<K, V> | null = null;

  /** `onDrop`: called for each entry that is dropped because there are more than `most`. */
  constructor(most: number, onDrop: (key: K, value: V) => void = () => {}) {
    this.#most = most;
    this.#onDrop = onDrop;
  }

  get size(): number {
    return this.#links.size;
  }

  get(key: K): V | undefined {
    return this.#links.get(key)?.value;
  }

  /** Marks the entry as the newest. */
  set(key: K, value: V): void {
    const known = this.#links.get(key);
    if (known !== undefined) {
      known.value = value;
      if (known === this.#newest) return;
      this.#unlink(known);
      this.#append(known);
      return;
    }
    const link = { key, value, older: null, newer: null };
    this.#links.set(key, link);
    this.#append(link);
    if (this.#links.size <= this.#most || this.#oldest === null) return;
    const oldest = this.#oldest;
    this.#links.delete(oldest.key);
    this.#unlink(oldest);
    this.#onDrop(oldest.key, oldest.value);
  }

  delete(key: K): void {
    const link = this.#links.get(key);
    if (link === undefined) return;
    this.#links.delete(key);
    this.#unlink(link);
  }

  /** In no particular order. */
  entries(): IteratorObject<[K, V]> {
    return this.#links.values().map(({ key, value }) => [key, value]);
  }

  #append(link: Link<K, V>): void {
    link.older = this.#newest;
    link.newer = null;
    if (this.#newest === null) this.#oldest = link;
    else this.#newest.newer = link;
    this.#newest = link;
  }

  #unlink({ older, newer }: Link<K, V>): void {
    if (older === null) this.#oldest = newer;
    else older.newer = newer;
    if (newer === null) this.#newest = older;
    else newer.older = older;
  }
}

/** A set of foreign texts, bounded in number and in characters. Texts over the bound are not added. */
export class BoundedSet extends Set<string> {
  readonly #most: number;
  #room: number;

  constructor(most: number, chars: number) {
    super();
    this.#most = most;
    this.#room = chars;
  }

  fork(): BoundedSet {
    const copy = new BoundedSet(this.#most, 0);
    for (const text of this) Set.prototype.add.call(copy, text);
    copy.#room = this.#room;
    return copy;
  }

  override add(text: string): this {
    if (this.has(text) || this.size >= this.#most || text.length > this.#room) return this;
    this.#room -= text.length;
    // A copy: a slice would keep the whole longer text in memory.
    return super.add(Buffer.from(text, 'utf16le').toString('utf16le'));
  }
}
