/** Calls `make` on first use and keeps its result: for values that are expensive and rarely needed. */
export function lazy<T extends object>(make: () => T): () => T {
  let made: T | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
