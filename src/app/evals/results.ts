/** The results file: rows are appended as tests end, so that an eval that broke off can be gone on with. */
import { hash } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import type { EvalRow } from '../../evals/results.ts';
import { RESULT_SCHEMA } from '../../evals/results.ts';
import { fileError, TachoError } from '../../lib/errors.ts';
import { forJson } from '../../lib/foreign-text.ts';

export const hashOf = (value: unknown): string =>
  hash('sha256', JSON.stringify(value)).slice(0, 32);

const isRow = (value: unknown): value is EvalRow =>
  typeof value === 'object' &&
  value !== null &&
  (value as EvalRow).schema_version === RESULT_SCHEMA &&
  typeof (value as EvalRow).key === 'string' &&
  Array.isArray((value as EvalRow).assertions);

/** Rows to compare: a file without any is one of an eval that never got to a result, which is no comparison. */
export function readComparable(path: string): EvalRow[] {
  const rows = readResults(path);
  if (rows.length === 0)
    throw new TachoError('config_invalid', `${path}: holds no result of an eval`, {
      stage: 'results',
    });
  return rows;
}

/** The rows of a results file. A last line that was cut is left out; any other that is no row is an error. */
export function readResults(path: string): EvalRow[] {
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
    const row = parsed(line);
    if (isRow(row)) rows.push(row);
    else if (i < lines.length - 1)
      throw new TachoError('config_invalid', `${path}:${i + 1}: no result of an eval`, {
        stage: 'results',
      });
  }
  return rows;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

export interface ResultsFile {
  add(row: EvalRow): void;
  close(): void;
}

/** `again`: go on behind the last whole row; else a file that is there is replaced. */
export function openResults(path: string, again: boolean): ResultsFile {
  try {
    if (again && existsSync(path)) truncateSync(path, readFileSync(path).lastIndexOf('\n') + 1);
    const fd = openSync(path, again ? 'a' : 'w', 0o600);
    return {
      add: (row) => void writeSync(fd, forJson(`${JSON.stringify(row)}\n`)),
      close: () => closeSync(fd),
    };
  } catch (cause) {
    const { message } = fileError(cause, path, 'results');
    throw new TachoError('output_unwritable', message, { stage: 'results', cause });
  }
}
