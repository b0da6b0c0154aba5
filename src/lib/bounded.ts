/** Collections of foreign keys that stay bounded: over the limit the older half is dropped. */

function dropOlder(
  held: { size: number; keys(): Iterable<unknown>; delete(key: never): boolean },
  most: number,
) {
  if (held.size <= most) return;
  for (const key of held.keys()) {
    if (held.size <= most / 2) return;
    held.delete(key as never);
  }
}

export class RecentMap<K, V> extends Map<K, V> {
  readonly #most: number;

  constructor(most: number) {
    super();
    this.#most = most;
  }

  override set(key: K, value: V): this {
    super.set(key, value);
    dropOlder(this, this.#most);
    return this;
  }
}

export class RecentSet<K> extends Set<K> {
  readonly #most: number;

  constructor(most: number) {
    super();
    this.#most = most;
  }

  override add(key: K): this {
    super.add(key);
    dropOlder(this, this.#most);
    return this;
  }
}
