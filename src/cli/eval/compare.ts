/** The action of `tacho eval compare`. */
import { checkInput } from '../../app/evals/files.ts';
import { readComparable } from '../../app/evals/results.ts';
import { type Compared, type Comparison, compare, type Figures } from '../../evals/compare.ts';
import { costText, durationText, knownText } from '../../lib/figures.ts';
import { oneLine } from '../../lib/terminal-text.ts';
import { type Io, print } from '../command.ts';

const ID_COLUMNS_MAX = 40;

const figuresText = ({ verdict, score, cost_usd, duration_ms }: Figures) =>
  `${verdict} ${score.toFixed(2)}, ${knownText(cost_usd, costText)}, ${knownText(duration_ms, durationText)}`;

function lineOf({ id, a, b, changes }: Compared): string {
  const name = oneLine(id, ID_COLUMNS_MAX);
  if (a === null) return `added    ${name}: ${figuresText(b as Figures)}`;
  if (b === null) return `removed  ${name}: ${figuresText(a)}`;
  return `${(changes.join(', ') || 'same').padEnd(8)} ${name}: ${figuresText(a)} → ${figuresText(b)}`;
}

function textOf({ tests, counts }: Comparison): string {
  const shown = tests.filter(({ a, b, changes }) => a === null || b === null || changes.length > 0);
  const words = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([word, count]) => `${count} ${word}`);
  return `${[...shown.map(lineOf), words.join(', ') || 'nothing to compare'].join('\n')}\n`;
}

export async function compareCommand(
  [a, b]: [string, string],
  flags: { failOnRegression?: true; json?: true },
  io: Io,
): Promise<number> {
  for (const path of [a, b]) checkInput(path);
  const comparison = compare(readComparable(a), readComparable(b));
  await print(io, flags, comparison, () => textOf(comparison));
  return flags.failOnRegression && comparison.regression ? 1 : 0;
}
