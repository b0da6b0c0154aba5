/** `--list`: the tests of the eval files. */
import { type OnlyTests, selectedOf } from '../../app/evals/only-tests.ts';
import type { EvalFile } from '../../evals/types.ts';
import { plural } from '../../lib/figures.ts';
import { oneLine, tableLines } from '../../lib/terminal-text.ts';
import type { OutputMode } from '../../model/words.ts';
import type { Io } from '../command.ts';

const INPUT_COLUMNS_MIN = 20;

/** Lists the tests instead of running them. */
export async function listTests(
  files: readonly EvalFile[],
  only: OnlyTests,
  { flags, io }: { flags: { output: OutputMode }; io: Io },
): Promise<number> {
  const rows = selectedOf(files, only).flatMap(({ path, tests }) =>
    tests.map(({ id, line, assertions, input }) => ({
      eval: path,
      line,
      id,
      assertions: assertions.map(({ type }) => type),
      input: input.map(({ content }) => content).join('\n\n'),
    })),
  );
  if (flags.output === 'json') {
    await io.out.json(`${JSON.stringify(rows)}\n`);
    return 0;
  }
  const table = tableLines(
    rows.map((row) => [
      `${row.eval}:${row.line}`,
      row.id,
      plural(row.assertions.length, 'assertion'),
    ]),
    () => false,
  );
  const width = Math.max(0, ...table.map((head) => head.length));
  const room = Math.max(INPUT_COLUMNS_MIN, io.width - width - 3);
  const lines = table.map((head, i) =>
    `${head.padEnd(width)}  ${oneLine(rows[i]?.input ?? '', room)}`.trimEnd(),
  );
  await io.out.write(`${[...lines, plural(rows.length, 'test')].join('\n')}\n`);
  return 0;
}
