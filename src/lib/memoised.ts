/** Memoised work. */

/** The result of `make` for the key. Without a memo it is computed each time. */
export function memoised<T>(
  memo: Map<string, unknown> | undefined,
  key: string,
  make: () => Promise<T>,
): Promise<T> {
  const known = memo?.get(key) as Promise<T> | undefined;
  if (known !== undefined) return known;
  const made = make();
  memo?.set(key, made);
  return made;
}
