/** Weighted means of scores. */

/** Without any weight: nothing is asserted, which is no success. */
export function weightedScore(parts: readonly { score: number; weight: number }[]): number {
  const weight = parts.reduce((sum, part) => sum + part.weight, 0);
  if (weight === 0) return 0;
  return parts.reduce((sum, part) => sum + part.score * part.weight, 0) / weight;
}
