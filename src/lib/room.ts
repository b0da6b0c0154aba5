/** A shared memory budget: a number of entries and the characters of their ids. Entries of a part also count for the whole. */
export interface RoomSize {
  count: number;
  chars: number;
}

export class Room {
  count = 0;
  #chars = 0;
  readonly #most: RoomSize;
  readonly #whole: Room | null;

  constructor(most: RoomSize, whole: Room | null = null) {
    this.#most = most;
    this.#whole = whole;
  }

  part(share: number): Room {
    const { count, chars } = this.#most;
    return new Room({ count: Math.ceil(count * share), chars: Math.ceil(chars * share) }, this);
  }

  fits(chars: number): boolean {
    const { count, chars: chars_max } = this.#most;
    if (this.count >= count || this.#chars + chars > chars_max) return false;
    return this.#whole?.fits(chars) ?? true;
  }

  /** `count`: 1 for an added entry, -1 for a removed one. */
  add(count: 1 | -1, chars: number): void {
    this.count += count;
    this.#chars += count * chars;
    this.#whole?.add(count, chars);
  }
}

/** A map that counts its entries in a room. It also accepts entries that do not fit: check first. */
export class RoomMap<V> extends Map<string, V> {
  #room: Room | null;
  readonly #charsOf: (key: string, value: V) => number;

  constructor(room: Room, charsOf: (key: string, value: V) => number = (key) => key.length) {
    super();
    this.#room = room;
    this.#charsOf = charsOf;
  }

  fits(key: string, value: V): boolean {
    return this.#room?.fits(this.#charsOf(key, value)) ?? false;
  }

  override set(key: string, value: V): this {
    if (!this.has(key)) this.#room?.add(1, this.#charsOf(key, value));
    return super.set(key, value);
  }

  override delete(key: string): boolean {
    const value = this.get(key);
    if (value !== undefined) this.#room?.add(-1, this.#charsOf(key, value));
    return super.delete(key);
  }

  override clear(): void {
    for (const key of this.keys()) this.delete(key);
  }

  /** Releases its entries from the room. Nothing fits after that. */
  leave(): void {
    for (const [key, value] of this) this.#room?.add(-1, this.#charsOf(key, value));
    this.#room = null;
  }
}
