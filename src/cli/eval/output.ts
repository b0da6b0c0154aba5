/** The result of an eval: on standard output, as JUnit XML and in GitHub Actions. */
import { appendFileSync, writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import type { EvalResult } from '../../app/evals/eval.ts';
import type { EvalFile } from '../../evals/types.ts';
import { unwritable } from '../../lib/errors.ts';
import type { OutputMode } from '../../model/words.ts';
import { annotationLines } from '../../projections/github.ts';
import type { Io } from '../command.ts';
import { annotationsOf, junitOf, stepSummaryOf } from './reports.ts';
import { totalsText } from './text.ts';

export interface OutputFlags {
  output: OutputMode;
  junit?: string;
  /** Undefined: as set by the environment. */
  github?: boolean;
}

export async function writeResult(
  result: EvalResult,
  { files, took_ms }: { files: readonly EvalFile[]; took_ms: number },
  flags: OutputFlags,
  io: Io,
): Promise<void> {
  const { report } = result;
  const { GITHUB_ACTIONS, GITHUB_WORKSPACE, GITHUB_STEP_SUMMARY } = io.env;
  const json = flags.output === 'json';
  if (json) await io.out.json(`${JSON.stringify(report)}\n`);
  else await io.out.write(totalsText(result, took_ms, io));
  if (flags.junit !== undefined) write(flags.junit, junitOf(files, report), writeFileSync);
  if (!(flags.github ?? GITHUB_ACTIONS === 'true')) return;
  const placed = (path: string) => relative(GITHUB_WORKSPACE || process.cwd(), resolve(path));
  // Commands are read from either stream; in json mode, stdout contains only the object.
  await (json ? io.err : io.out).own(annotationLines(annotationsOf(report, placed)));
  if (GITHUB_STEP_SUMMARY) write(GITHUB_STEP_SUMMARY, stepSummaryOf(report), appendFileSync);
}

function write(path: string, text: string, how: (path: string, text: string) => void): void {
  try {
    how(path, text);
  } catch (cause) {
    throw unwritable(cause, path, 'output');
  }
}
