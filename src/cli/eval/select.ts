/** `--test` and `--list`: which tests of the eval files. */
import { globPattern } from '../../evals/graders/matchers.ts';
import type { EvalFile } from '../../evals/types.ts';
import { TachoError } from '../../lib/errors.ts';
import { plural } from '../../lib/figures.ts';
import { unknownWord } from '../../lib/schema/read.ts';
import { oneLine, tableLines } from '../../lib/terminal-text.ts';
import type { OutputMode } from '../../model/words.ts';
import type { Io } from '../command.ts';

/** Whether a test was asked for, by its id. */
export type OnlyTests = (id: string) => boolean;

/** `patterns`: ids, with `*` for any text. Throws for one that names no test. */
export function onlyTests(files: readonly EvalFile[], patterns?: readonly string[]): OnlyTests {
  if (patterns === undefined) return () => true;
  const ids = files.flatMap(({ tests }) => tests.map(({ id }) => id));
  const all = patterns.map((text) => new RegExp(globPattern(text, '[\\s\\S]')));
  const idle = all.findIndex((pattern) => !ids.some((id) => pattern.test(id)));
  if (idle >= 0) {
    const text = `--test: ${unknownWord('test', patterns[idle] as string, ids)}`;
    throw new TachoError('usage', text, { stage: 'eval' });
  }
  return (id) => all.some((pattern) => pattern.test(id));
}

const INPUT_COLUMNS_MIN = 20;

/** Lists the tests instead of running them. */
export async function listTests(
  files: readonly EvalFile[],
  only: OnlyTests,
  { flags, io }: { flags: { output: OutputMode }; io: Io },
): Promise<number> {
  const rows = files.flatMap(({ path, tests }) =>
    tests
      .filter(({ id }) => only(id))
      .map(({ id, line, assertions, input }) => ({
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
