/** What `tacho run` writes beside its output: --events, --final-output, and reports for CI. */
import { appendFileSync, fstatSync, openSync, writeFileSync } from 'node:fs';
import { isatty } from 'node:tty';
import { fileError, unwritable } from '../../lib/errors.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import { annotationLines } from '../../projections/github.ts';
import type { Io } from '../command.ts';
import { createTextFilter } from '../io.ts';

export interface FileFlags {
  events?: string;
  finalOutput?: string;
  junit?: string;
  /** Undefined: as the environment says. */
  github?: boolean;
}

/** Opened before the run, so that a path that cannot be written stops it early. */
export function openFiles(flags: FileFlags): { events: number | null; final: number | null } {
  const open = (path: string | undefined) => {
    if (path === undefined) return null;
    try {
      return openSync(path, 'w', 0o600);
    } catch (cause) {
      throw unwritable(cause, path, 'output');
    }
  };
  return { events: open(flags.events), final: open(flags.finalOutput) };
}

/** The run is recorded by now: a file that could not be written beside it is reported, and nothing else. */
export function outputError(cause: unknown, path: string | undefined): string | null {
  return cause === null ? null : fileError(cause, path ?? '', 'output').message;
}

function attempt(path: string | undefined, write: () => void): string | null {
  try {
    write();
    return null;
  } catch (cause) {
    return outputError(cause, path);
  }
}

/** A terminal, or one of our own streams by another name (/dev/stdout). */
function isShown(fd: number): boolean {
  const { dev, ino } = fstatSync(fd);
  const same = (own: number) => {
    const stream = fstatSync(own);
    return stream.dev === dev && stream.ino === ino;
  };
  return isatty(fd) || same(1) || same(2);
}

/** A file gets the exact text; what people see, the text made harmless. Returns what went wrong. */
export function writeFinal(fd: number, text: string, flags: FileFlags, io: Io): string | null {
  const shown = () => (isShown(fd) ? createTextFilter(io.env, () => false)(text) : text);
  return attempt(flags.finalOutput, () => writeFileSync(fd, shown()));
}

/** Commands are read from either stream of a step: stdout is left to the run. Returns what went wrong. */
export async function tellCi(
  outcome: RunOutcome,
  { junit, github }: FileFlags,
  { env, err }: Io,
): Promise<(string | null)[]> {
  const in_github = github ?? env.GITHUB_ACTIONS === 'true';
  if (junit === undefined && !in_github) return [];
  const { annotationsOfRun, junitOfRun, summaryOfRun } = await import('./report.ts');
  const wrong: (string | null)[] = [];
  if (junit !== undefined)
    wrong.push(attempt(junit, () => writeFileSync(junit, junitOfRun(outcome))));
  if (!in_github) return wrong;
  let annotations = '';
  const annotate = () => {
    annotations = annotationLines(annotationsOfRun(outcome));
  };
  wrong.push(attempt('annotations', annotate));
  await err.own(annotations);
  const path = env.GITHUB_STEP_SUMMARY;
  if (path) wrong.push(attempt(path, () => appendFileSync(path, summaryOfRun(outcome))));
  return wrong;
}
