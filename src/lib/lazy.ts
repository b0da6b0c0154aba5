/** What `make` returns, made at the first call: for what is dear to make and seldom needed. */
export function lazy<T extends object>(make: () => T): () => T {
  let made: T | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
