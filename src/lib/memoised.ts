/** Work that is done once for all who ask. */

/** What `make` gives for the key; without a memo it is made each time. */
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
