/** Chooses the columns of a table that fit into a line. */

interface Ranked {
  /** Omitted if the line is too narrow, the lowest first. A column without a rank always stays. */
  rank?: number;
}

/** `fits`: whether these columns fit together. */
export function fittingColumns<C extends Ranked>(
  all: readonly C[],
  fits: (kept: readonly C[]) => boolean,
): C[] {
  const ranked = all.filter(({ rank }) => rank !== undefined);
  ranked.sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0));
  const gone = new Set<C>();
  const kept = () => all.filter((column) => !gone.has(column));
  for (const column of ranked) if (!fits(kept())) gone.add(column);
  // A narrow column may fit in place of a wide one.
  for (const column of ranked.toReversed())
    if (gone.delete(column) && !fits(kept())) gone.add(column);
  return kept();
}
