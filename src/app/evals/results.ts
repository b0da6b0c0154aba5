/** The results file: rows are appended as tests end, so that an interrupted eval can be resumed. */
import { hash } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import { type EvalRow, RESULT_SCHEMA } from '../../evals/results.ts';
import { fileError, TachoError, unwritable } from '../../lib/errors.ts';
import { forJson } from '../../lib/foreign-text.ts';
import { jsonIn } from '../../lib/json.ts';
import { isMap } from '../../lib/own.ts';

export const hashOf = (value: unknown): string =>
  hash('sha256', JSON.stringify(value)).slice(0, 32);

const isRow = (value: unknown) =>
  isMap(value) &&
  value.schema_version === RESULT_SCHEMA &&
  typeof value.key === 'string' &&
  Array.isArray(value.assertions);

const invalid = (text: string) => new TachoError('config_invalid', text, { stage: 'results' });

/** Rows to compare. A file without any belongs to an eval without results, which cannot be compared. */
export function readComparable(path: string): EvalRow[] {
  const rows = readResults(path);
  if (rows.length === 0) throw invalid(`${path}: contains no results of an eval`);
  return rows;
}

/** The rows of a results file. An incomplete last line is skipped; any other line that is not a row is an error. */
function readResults(path: string): EvalRow[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw fileError(cause, path, 'results');
  }
  const lines = text.split('\n');
  const rows: EvalRow[] = [];
  for (const [i, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const row = jsonIn(line);
    if (isRow(row)) rows.push(row as EvalRow);
    else if (i < lines.length - 1) throw invalid(`${path}:${i + 1}: not a result of an eval`);
  }
  return rows;
}

/** The results file of an eval, if it has one, and the rows of the interrupted eval that it resumes. */
export function startResults({
  results,
  resume,
}: {
  results?: string | undefined;
  resume?: string | undefined;
}) {
  if (results !== undefined && resume !== undefined && results !== resume)
    throw new TachoError('usage', '--resume adds to its own file: leave out --results', {
      stage: 'eval',
    });
  const again = resume !== undefined && existsSync(resume);
  const before = again ? readResults(resume) : [];
  const path = resume ?? results;
  const file = path === undefined ? null : openResults(path, again);
  return {
    before,
    add: (row: EvalRow) => file?.add(row),
    [Symbol.dispose]: () => file?.close(),
  };
}

/** `again`: continue after the last whole row. Otherwise an existing file is replaced. */
function openResults(path: string, again: boolean) {
  try {
    if (again && existsSync(path)) truncateSync(path, readFileSync(path).lastIndexOf('\n') + 1);
    const fd = openSync(path, again ? 'a' : 'w', 0o600);
    return {
      add: (row: EvalRow) => void writeSync(fd, forJson(`${JSON.stringify(row)}\n`)),
      close: () => closeSync(fd),
    };
  } catch (cause) {
    throw unwritable(cause, path, 'results');
  }
}
