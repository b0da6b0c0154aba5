/**
 * What a table itself has for a word from outside. A plain lookup would find `constructor` or `toString` too, which every
 * object inherits.
 */
export function own<T>(table: { readonly [word: string]: T }, word: string): T | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
