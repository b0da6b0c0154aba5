/** Costs as text: marked if a part of them is computed, and unknown if nothing is known. */
import { plural } from '../../lib/figures.ts';
import type { UsageSums } from '../../projections/usage/usage-report.ts';

type Cost = Pick<UsageSums, 'cost' | 'cost_computed'> & Partial<UsageSums>;

/** `$12.40`, `~$0.0123`, `unknown`, `-` if it is in another line. `decimals`: the same for all amounts of a table. */
export function amountText(
  { cost, cost_computed, runs = 0, cost_elsewhere_runs = 0 }: Cost,
  decimals = decimalsOf([{ cost }]),
): string {
  if (cost === null) return runs > 0 && cost_elsewhere_runs === runs ? '-' : 'unknown';
  const least = 1 / 10 ** decimals;
  const tiny = cost > 0 && cost < least / 2;
  return `${cost_computed > 0 ? '~' : ''}${tiny ? `<$${least}` : `$${cost.toFixed(decimals)}`}`;
}

/** Cents, or hundredths of a cent if all costs are below a dollar. */
export const decimalsOf = (costs: readonly Pick<Cost, 'cost'>[]) =>
  costs.some(({ cost }) => (cost ?? 0) >= 1) ? 2 : 4;

/** `, 3 runs unknown`. Empty if nothing is unknown, or everything. */
export const unknownPart = ({
  cost,
  cost_unknown_runs: runs,
}: Pick<UsageSums, 'cost' | 'cost_unknown_runs'>) =>
  cost === null || runs === 0 ? '' : `, ${plural(runs, 'run')} unknown`;
