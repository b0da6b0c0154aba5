/**
 * Looks up a foreign word among a table's own keys. A plain lookup would also find inherited names such as `constructor`
 * or `toString`.
 */
export function own<T>(table: { readonly [word: string]: T }, word: string): T | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
