/** The demo's tools really work: on the files below its work folder and with commands run there. */

import { spawn } from 'node:child_process';
import {
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import { LIMITS } from '../../../lib/limits.ts';
import { own } from '../../../lib/own.ts';
import { cutUtf8 } from '../../../lib/utf8.ts';
import { type EndStatus, textOf } from '../native.ts';
import type { Mapping } from './shapes.ts';

export interface Result {
  status: EndStatus;
  exit_code: number | null;
  output: string;
  file?: { path: string; operation: 'created' | 'modified'; size: number };
}
export interface WorkSetup {
  cwd: string;
  timeout_ms: number | null;
  /** Gets a command's output as it comes, line by line. */
  progress: ((line: string) => void) | null;
}
type Work = (input: Mapping, setup: WorkSetup) => Result | Promise<Result>;

const FOUND_MAX = 200;
const CLOSE_WAIT_MS = 200;

const ok = (output: string): Result => ({ status: 'ok', exit_code: null, output });
const failed = (output: string): Result => ({ status: 'error', exit_code: null, output });

const WORK: Readonly<Record<string, Work>> = {
  read_file: (input, { cwd }) => ok(readText(inside(cwd, need(input, 'path')))),
  write_file(input, { cwd }) {
    const path = need(input, 'path');
    return save(inside(cwd, path), path, need(input, 'text'));
  },
  edit_file(input, { cwd }) {
    const path = need(input, 'path');
    const whole = readText(inside(cwd, path));
    const find = need(input, 'find');
    const pieces = find === '' ? [] : whole.split(find);
    if (pieces.length !== 2) {
      return failed(
        `${path}: the text to replace is there ${Math.max(0, pieces.length - 1)} times, not once`,
      );
    }
    return save(inside(cwd, path), path, pieces.join(need(input, 'replace')));
  },
  run: (input, setup) => runCommand(need(input, 'cmd'), setup),
  list(input, { cwd }) {
    const entries = readdirSync(inside(cwd, textOf(input, 'path') ?? '.'), { withFileTypes: true });
    const shown = entries.filter((entry) => !entry.name.startsWith('.'));
    const names = shown.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
    return ok(names.length === 0 ? '(empty)' : names.sort().slice(0, FOUND_MAX).join('\n'));
  },
  find_files: (input, { cwd }) => ok(filesBelow(cwd, need(input, 'glob')).join('\n')),
  search(input, { cwd }) {
    const query = need(input, 'query');
    const found: string[] = [];
    for (const path of filesBelow(cwd, textOf(input, 'path') ?? '**/*')) {
      const lines = readText(inside(cwd, path)).split('\n');
      lines.forEach((line, index) => {
        if (line.includes(query) && found.length < FOUND_MAX)
          found.push(`${path}:${index + 1}:${line}`);
      });
    }
    return ok(found.length === 0 ? 'nothing found' : found.join('\n'));
  },
  use_skill(input, { cwd }) {
    return ok(readText(inside(cwd, `skills/${need(input, 'name')}/SKILL.md`)));
  },
  fetch: () => failed('there is no network here'),
  look_up: () => failed('there is no network here'),
  spawn: () => ok('done'),
  todo: (input) => ok(`${Array.isArray(input.items) ? input.items.length : 0} items noted`),
  ask: () => failed('nobody is here to answer'),
  checkpoint: () => ok('noted'),
};

/** Does what a call asks. Never throws: what goes wrong is the call's result. */
export async function doWork(tool: string, input: Mapping, setup: WorkSetup): Promise<Result> {
  const work = own(WORK, tool);
  if (!work) return failed(`no such tool: ${tool}`);
  try {
    return await work(input, setup);
  } catch (error) {
    return failed((error as Error).message);
  }
}

function need(input: Mapping, field: string): string {
  const value = textOf(input, field);
  if (value === null) throw new Error(`${field} is missing`);
  return value;
}

/** The path in the work folder, links resolved as far as it exists. Throws when it leads out. */
function inside(cwd: string, path: string): string {
  const root = realpathSync(cwd);
  const whole = resolve(root, path);
  let known = whole;
  while (!statSync(known, { throwIfNoEntry: false }) && dirname(known) !== known)
    known = dirname(known);
  const real = resolve(realpathSync(known), relative(known, whole));
  for (const place of [whole, real]) {
    const way = relative(root, place);
    if (way === '..' || way.startsWith('../') || isAbsolute(way)) {
      throw new Error(`${path} is outside the work folder`);
    }
  }
  return real;
}

function readText(path: string): string {
  const found = statSync(path);
  if (found.size > LIMITS.command_output_bytes_max) throw new Error('the file is too large');
  return readFileSync(path, 'utf8');
}

function filesBelow(cwd: string, glob: string): string[] {
  const found = globSync(glob, { cwd, exclude: ['.git', '.tacho', 'node_modules'] });
  const files = found.filter((path) => {
    try {
      return statSync(inside(cwd, path)).isFile();
    } catch {
      return false;
    }
  });
  return files.sort().slice(0, FOUND_MAX);
}

function save(place: string, path: string, content: string): Result {
  const operation = statSync(place, { throwIfNoEntry: false }) ? 'modified' : 'created';
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(place, content);
  const size = Buffer.byteLength(content);
  return { ...ok(`${operation} ${path} (${size} bytes)`), file: { path, operation, size } };
}

/** Both of the command's streams come through one pipe, so that their order is the order of writing. */
function runCommand(command: string, { cwd, timeout_ms, progress }: WorkSetup): Promise<Result> {
  const child = spawn('/bin/sh', ['-c', 'exec /bin/sh -c "$1" 2>&1', 'sh', command], {
    cwd,
    // Its own group, so that a timeout ends everything the command started.
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const output = collect(progress);
  let timed_out = false;
  const end = () => {
    timed_out = true;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  };
  const timer = timeout_ms === null ? null : setTimeout(end, timeout_ms);
  child.stdout.setEncoding('utf8').on('data', output.add);
  return new Promise((done) => {
    child.on('error', (error) => done(failed(error.message)));
    child.on('exit', () => {
      if (timer !== null) clearTimeout(timer);
      // A process that the command left behind may hold the pipe open.
      setTimeout(() => child.stdout.destroy(), CLOSE_WAIT_MS).unref();
    });
    child.on('close', (code, signal) => {
      const exit_code = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
      if (timed_out) done({ status: 'timeout', exit_code: null, output: output.whole() });
      else done({ status: exit_code === 0 ? 'ok' : 'error', exit_code, output: output.whole() });
    });
  });
}

function collect(progress: ((line: string) => void) | null) {
  let kept = '';
  let shown = 0;
  const show = (end: number) => {
    if (progress && end > shown) progress(kept.slice(shown, end));
    shown = end;
  };
  return {
    add(piece: string) {
      kept = cutUtf8(kept + piece, LIMITS.command_output_bytes_max);
      for (let next = kept.indexOf('\n', shown); next >= 0; next = kept.indexOf('\n', shown)) {
        show(next + 1);
      }
    },
    whole() {
      show(kept.length);
      return kept;
    },
  };
}
