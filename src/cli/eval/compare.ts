/** The action of `tacho eval compare`. */
import { checkInput } from '../../app/evals/files.ts';
import { readComparable } from '../../app/evals/results.ts';
import { type Compared, type Comparison, compare, type Figures } from '../../evals/compare.ts';
import { createColours } from '../../lib/colours.ts';
import { costText, durationText, knownText } from '../../lib/figures.ts';
import { oneLine, tableLines } from '../../lib/terminal-text.ts';
import { type Io, print } from '../command.ts';

const ID_COLUMNS_MAX = 40;
const HEAD = ['change', 'test', 'verdict', 'score', 'cost', 'duration'];

const wordsOf = ({ a, b, changes }: Compared) =>
  a === null ? 'added' : b === null ? 'removed' : changes.join(', ') || 'same';

/** The most important change first. */
const ORDER = ['worse', 'removed', 'better', 'added'];
const rankOf = (one: Compared) => {
  const rank = ORDER.findIndex((word) => wordsOf(one).startsWith(word));
  return rank < 0 ? ORDER.length : rank;
};

/** `a → b`, or one value where both are equal or only one test exists. */
function both({ a, b }: Compared, text: (figures: Figures) => string): string {
  const values = [a, b].filter((one) => one !== null).map(text);
  return [...new Set(values)].join(' → ');
}

const rowOf = (one: Compared) => [
  wordsOf(one),
  oneLine(one.id, ID_COLUMNS_MAX),
  both(one, ({ verdict }) => verdict),
  both(one, ({ score }) => score.toFixed(2)),
  both(one, ({ cost_usd }) => knownText(cost_usd, costText)),
  both(one, ({ duration_ms }) => knownText(duration_ms, durationText)),
];

function textOf({ tests, counts }: Comparison, io: Io): string {
  const colour = createColours(io.colour);
  const shown = tests
    .filter(({ a, b, changes }) => a === null || b === null || changes.length > 0)
    .sort((one, other) => rankOf(one) - rankOf(other));
  const words = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([word, count]) => `${count} ${word}`);
  const [head = '', ...rows] = tableLines([HEAD, ...shown.map(rowOf)], () => false);
  const paint = { 0: colour.red, 2: colour.green } as Record<number, (text: string) => string>;
  const lines = rows.map((row, i) => paint[rankOf(shown[i] as Compared)]?.(row) ?? row);
  const table = shown.length === 0 ? [] : [colour.dim(head), ...lines, ''];
  return `${[...table, words.join(', ')].join('\n')}\n`;
}

export async function compareCommand(
  [a, b]: [string, string],
  flags: { failOnRegression?: true; json?: true },
  io: Io,
): Promise<number> {
  for (const path of [a, b]) checkInput(path);
  const comparison = compare(readComparable(a), readComparable(b));
  await print(io, flags, comparison, () => textOf(comparison, io));
  return flags.failOnRegression && comparison.regression ? 1 : 0;
}
