/** The help of a view: its keys and their effects. */
import { type Binding, keysText } from './bindings.ts';
import type { PageLine } from './detail.ts';

const GAP = 2;
/** The narrowest screen with keys and effects side by side. */
const WIDE_COLS = 80;

export function helpLines(bindings: readonly Binding[], cols: number): PageLine[] {
  const rows = bindings.map((binding) => ({ keys: keysText(binding), does: binding.does }));
  const width = Math.max(...rows.map(({ keys }) => keys.length)) + GAP;
  if (cols >= WIDE_COLS)
    return rows.map(({ keys, does }) => ({ text: keys.padEnd(width) + does, tone: 'plain' }));
  return rows.flatMap(({ keys, does }) => [
    { text: keys, tone: 'bold' },
    { text: ' '.repeat(GAP) + does, tone: 'plain' },
  ]);
}
