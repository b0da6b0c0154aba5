/** A bounded queue between one writer and one reader. The writer waits while it is full, unless there is no reader. */

export function createQueue<T>(length_max: number) {
  const items: T[] = [];
  let reading = false;
  let left = false;
  let ended = false;
  let failure: unknown;
  let wake_reader: () => void = () => {};
  let wake_writer: () => void = () => {};

  return {
    /** Whether the reader has stopped reading. */
    get left() {
      return left;
    },
    async put(more: readonly T[]): Promise<void> {
      if (left) return;
      // One by one: a batch may have more items than a call can have arguments.
      for (const item of more) items.push(item);
      wake_reader();
      // Without a reader the oldest items are dropped.
      if (!reading) items.splice(0, Math.max(0, items.length - length_max));
      while (reading && !left && items.length > length_max) {
        await new Promise<void>((resolve) => {
          wake_writer = resolve;
        });
      }
    },
    end(error?: unknown): void {
      ended = true;
      failure = error;
      wake_reader();
    },
    /** May be called once. Items that were put before are kept within the bound. */
    async *read(): AsyncGenerator<T, void> {
      reading = true;
      try {
        for (;;) {
          while (items.length > 0) {
            yield items.shift() as T;
            if (items.length <= length_max / 2) wake_writer();
          }
          if (ended) break;
          await new Promise<void>((resolve) => {
            wake_reader = resolve;
          });
        }
        if (failure !== undefined) throw failure;
      } finally {
        left = true;
        wake_writer();
      }
    },
  };
}
