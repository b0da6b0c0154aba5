/** The files that `tacho run` writes beside its output: --events, --json-file, --final-output, and reports for CI. */
import { appendFileSync, closeSync, fstatSync, openSync, writeFileSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { View } from '../../app/run/recorder.ts';
import type { AgentRunResult } from '../../app/run/run-agent.ts';
import { unwritable } from '../../lib/errors.ts';
import { forJson } from '../../lib/foreign-text.ts';
import type { Event } from '../../model/event.ts';
import { annotationLines } from '../../projections/github.ts';
import type { Io, Output } from '../command.ts';
import { createOutput, createTextFilter } from '../io.ts';
import { createPresenter, type PresentOptions } from '../present.ts';
import type { NotStarted } from './report.ts';

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
  readonly #outputs: { name: string; output: Output }[] = [];
  readonly #final: number | null;

  /** Opened before the run, so that a path that cannot be written stops it early. */
  constructor(flags: FileFlags, io: Io, present: Omit<PresentOptions, 'output'>) {
    this.#flags = flags;
    this.#io = io;
    try {
      if (flags.events !== undefined) {
        const out = this.#output(nameOf('--events', flags.events), flags.events);
        this.views.push({ name: '--events', take: (events) => out.json(linesOf(events)) });
      }
      if (flags.jsonFile !== undefined) {
        const out = this.#output(nameOf('--json-file', flags.jsonFile), flags.jsonFile);
        const take = createPresenter({ ...io, out }, { ...present, output: 'json' });
        this.views.push({ name: '--json-file', take });
      }
      const { finalOutput, junit } = flags;
      this.#final =
        finalOutput === undefined
          ? null
          : this.#open(nameOf('--final-output', finalOutput), finalOutput);
      // Written after the run, by its path. A file of an earlier run must not pass for the result of this one.
      if (junit !== undefined) this.#open(nameOf('--junit', junit), junit);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  #open(name: string, path: string): number {
    try {
      const fd = openSync(path, 'w', 0o600);
      this.#fds.push(fd);
      return fd;
    } catch (cause) {
      throw unwritable(cause, name, 'output');
    }
  }

  #output(name: string, path: string): Output {
    const output = createOutput(this.#open(name, path), (text) => text);
    this.#outputs.push({ name, output });
    return output;
  }

  /** After the run, with its final text. Returns the errors: the run is recorded, whatever happened to these files. */
  finish(text: string): (string | null)[] {
    const written = this.#outputs.map(({ name, output }) => outputError(output.failure, name));
    const fd = this.#final;
    if (fd === null) return written;
    // A file gets the exact text; a stream that people see gets it made harmless.
    const shown = () => (isShown(fd) ? createTextFilter(this.#io.env, () => false)(text) : text);
    const name = nameOf('--final-output', this.#flags.finalOutput ?? '');
    return [...written, attempt(name, () => writeFileSync(fd, shown()))];
  }

  close(): void {
    for (const fd of this.#fds.splice(0)) closeSync(fd);
  }
}

const linesOf = (events: readonly Event[]) =>
  events.map((event) => `${JSON.stringify(event)}\n`).join('');

/** A file in messages: paths alone do not show which of them is wrong. */
const nameOf = (flag: string, path: string) => `${flag} ${path}`;

function outputError(cause: unknown, name: string): string | null {
  return cause === null ? null : unwritable(cause, name, 'output').message;
}

function attempt(name: string, write: () => void): string | null {
  try {
    write();
    return null;
  } catch (cause) {
    return outputError(cause, name);
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
  const name = nameOf('--json-file', path);
  return attempt(name, () => writeFileSync(path, forJson(text), { mode: 0o600 }));
}

/** GitHub Actions reads commands from both streams of a step: stdout is left to the run. Returns the errors. */
export async function reportToCi(
  result: AgentRunResult | NotStarted,
  { junit, github }: FileFlags,
  { env, err }: Io,
): Promise<(string | null)[]> {
  const in_github = github ?? env.GITHUB_ACTIONS === 'true';
  if (junit === undefined && !in_github) return [];
  const { reportOf } = await import('./report.ts');
  const report = reportOf(result);
  const wrong: (string | null)[] = [];
  if (junit !== undefined)
    wrong.push(attempt(nameOf('--junit', junit), () => writeFileSync(junit, report.junit())));
  if (!in_github) return wrong;
  let annotations = '';
  const annotate = () => {
    annotations = annotationLines(report.annotations());
  };
  wrong.push(attempt('annotations', annotate));
  await err.own(annotations);
  const path = env.GITHUB_STEP_SUMMARY;
  const name = nameOf('GITHUB_STEP_SUMMARY', path ?? '');
  if (path) wrong.push(attempt(name, () => appendFileSync(path, report.summary())));
  return wrong;
}
