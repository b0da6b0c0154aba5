/** The files that `tacho run` writes beside its output: --events, --json-file, --final-output, and reports for CI. */
import { appendFileSync, closeSync, fstatSync, openSync, writeFileSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { View } from '../../app/run/recorder.ts';
import type { AgentRunResult } from '../../app/run/run-agent.ts';
import { fileError, unwritable } from '../../lib/errors.ts';
import { forJson } from '../../lib/foreign-text.ts';
import type { Event } from '../../model/event.ts';
import { annotationLines } from '../../projections/github.ts';
import type { Io, Output } from '../command.ts';
import { createOutput, createTextFilter } from '../io.ts';
import { createPresenter, type PresentOptions } from '../present.ts';

export interface FileFlags {
  events?: string;
  jsonFile?: string;
  finalOutput?: string;
  junit?: string;
  /** Undefined: as the environment says. */
  github?: boolean;
}

/** The files that are written while the run happens, and the one for its final text. */
export class RunFiles {
  readonly views: View[] = [];
  readonly #flags: FileFlags;
  readonly #io: Io;
  readonly #fds: number[] = [];
  readonly #outputs: { path: string; output: Output }[] = [];
  readonly #final: number | null;

  /** Opened before the run, so that a path that cannot be written stops it early. */
  constructor(flags: FileFlags, io: Io, present: Omit<PresentOptions, 'output'>) {
    this.#flags = flags;
    this.#io = io;
    try {
      if (flags.events !== undefined) {
        const out = this.#output(flags.events);
        this.views.push({ name: '--events', take: (events) => out.json(linesOf(events)) });
      }
      if (flags.jsonFile !== undefined) {
        const out = this.#output(flags.jsonFile);
        const take = createPresenter({ ...io, out }, { ...present, output: 'json' });
        this.views.push({ name: '--json-file', take });
      }
      this.#final = flags.finalOutput === undefined ? null : this.#open(flags.finalOutput);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  #open(path: string): number {
    try {
      const fd = openSync(path, 'w', 0o600);
      this.#fds.push(fd);
      return fd;
    } catch (cause) {
      throw unwritable(cause, path, 'output');
    }
  }

  #output(path: string): Output {
    const output = createOutput(this.#open(path), (text) => text);
    this.#outputs.push({ path, output });
    return output;
  }

  /** After the run, with its final text. Returns the errors: the run is recorded, whatever happened to these files. */
  finish(text: string): (string | null)[] {
    const written = this.#outputs.map(({ path, output }) => outputError(output.failure, path));
    const fd = this.#final;
    if (fd === null) return written;
    // A file gets the exact text; a stream that people see gets it made harmless.
    const shown = () => (isShown(fd) ? createTextFilter(this.#io.env, () => false)(text) : text);
    return [...written, attempt(this.#flags.finalOutput, () => writeFileSync(fd, shown()))];
  }

  close(): void {
    for (const fd of this.#fds.splice(0)) closeSync(fd);
  }
}

const linesOf = (events: readonly Event[]) =>
  events.map((event) => `${JSON.stringify(event)}\n`).join('');

function outputError(cause: unknown, path: string | undefined): string | null {
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

/** The records of a run that did not start. Returns the error. */
export function writeRecords(path: string, text: string): string | null {
  return attempt(path, () => writeFileSync(path, forJson(text), { mode: 0o600 }));
}

/** GitHub Actions reads commands from both streams of a step: stdout is left to the run. Returns the errors. */
export async function reportToCi(
  result: AgentRunResult,
  { junit, github }: FileFlags,
  { env, err }: Io,
): Promise<(string | null)[]> {
  const in_github = github ?? env.GITHUB_ACTIONS === 'true';
  if (junit === undefined && !in_github) return [];
  const { annotationsOfRun, junitOfRun, summaryOfRun } = await import('./report.ts');
  const wrong: (string | null)[] = [];
  if (junit !== undefined)
    wrong.push(attempt(junit, () => writeFileSync(junit, junitOfRun(result))));
  if (!in_github) return wrong;
  let annotations = '';
  const annotate = () => {
    annotations = annotationLines(annotationsOfRun(result));
  };
  wrong.push(attempt('annotations', annotate));
  await err.own(annotations);
  const path = env.GITHUB_STEP_SUMMARY;
  if (path) wrong.push(attempt(path, () => appendFileSync(path, summaryOfRun(result))));
  return wrong;
}
