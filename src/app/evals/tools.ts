/** The effects that graders may have: match a pattern in bounded time, run a command, ask a model. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { endTree, RUN_ID_VARIABLE, startOf } from '../../capture/source/process-tree.ts';
import type { CommandResult, Tools } from '../../evals/types.ts';
import { durationText } from '../../lib/figures.ts';
import { APP_LIMITS } from '../limits.ts';
import { askModel } from './ask-model.ts';

/** A pattern that runs forever cannot be interrupted, so it runs in a worker that can be ended. */
const MATCHER = `
const { parentPort } = require('node:worker_threads');
parentPort.on('message', ({ pattern, flags, texts }) => {
  try {
    const matched = texts.map((text) => new RegExp(pattern, flags).test(text));
    parentPort.postMessage({ matched, failure: null });
  } catch (error) {
    parentPort.postMessage({ matched: [], failure: 'the pattern failed: ' + error.message });
  }
});`;

type Match = Awaited<ReturnType<Tools['matches']>>;

class Matcher {
  #worker: Worker | null = null;
  #queue: Promise<unknown> = Promise.resolve();

  /** One at a time, so that the time limit applies to this pattern only. */
  match(pattern: string, flags: string, texts: readonly string[]): Promise<Match> {
    const result = this.#queue.then(() => this.#match({ pattern, flags, texts }));
    this.#queue = result;
    return result;
  }

  async #match(job: { pattern: string; flags: string; texts: readonly string[] }): Promise<Match> {
    this.#worker ??= new Worker(MATCHER, { eval: true, stdout: false });
    const worker = this.#worker;
    const { promise, resolve } = Promise.withResolvers<Match>();
    const fail = (why: string) => resolve({ matched: [], failure: why });
    const onError = (error: Error) => fail(`the pattern failed: ${error.message}`);
    const timer = setTimeout(
      () => fail(`the pattern took more than ${APP_LIMITS.regex_ms_max} ms`),
      APP_LIMITS.regex_ms_max,
    );
    worker.on('message', resolve).on('error', onError);
    worker.postMessage(job);
    const match = await promise;
    clearTimeout(timer);
    worker.off('message', resolve).off('error', onError);
    if (match.failure !== null) await this.close();
    return match;
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }
}

/** The last bytes of a stream, at most `bytes_max`. */
function collect(stream: NodeJS.ReadableStream, bytes_max: number, onFull: () => void) {
  const pieces: Buffer[] = [];
  let held = 0;
  let dropped = 0;
  stream.on('data', (piece: Buffer) => {
    pieces.push(piece);
    held += piece.length;
    if (held > bytes_max) onFull();
    while (held - (pieces[0]?.length ?? 0) >= bytes_max) {
      const first = (pieces.shift() as Buffer).length;
      held -= first;
      dropped += first;
    }
  });
  return {
    text: () => Buffer.concat(pieces).subarray(-bytes_max).toString('utf8'),
    dropped: () => dropped + Math.max(0, held - bytes_max),
  };
}

/** A missing folder looks like a missing program. */
function startError(error: NodeJS.ErrnoException, cwd: string | null): string {
  if (cwd !== null && !existsSync(cwd)) return `there is no folder ${cwd}`;
  return error.code === 'ENOENT' ? 'there is no such program' : error.message;
}

/** Variables that programs usually need. Any other may be a secret: a grader gets it only by name. */
const USUAL =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|TMP|TEMP|SYSTEMROOT|WINDIR|COMSPEC|PATHEXT|USERPROFILE)$/i;

function graderEnvironment(env: NodeJS.ProcessEnv, names: readonly string[]): NodeJS.ProcessEnv {
  const given = Object.entries(env).filter(([name]) => USUAL.test(name) || names.includes(name));
  return Object.fromEntries(given);
}

type CommandRequest = Parameters<Tools['run']>[0];

/**
 * The verdict is complete when the grader itself has ended. Processes that it left are then ended: its group, its
 * session, and daemons, which carry its mark.
 */
function runCommand(
  { command, cwd, timeout_ms, input, env: names, much_output }: CommandRequest,
  env: NodeJS.ProcessEnv,
): Promise<CommandResult> {
  const [program = '', ...args] = command;
  const run_id = `grader-${randomUUID()}`;
  const child = spawn(program, args, {
    cwd: cwd ?? process.cwd(),
    env: { ...graderEnvironment(env, names), [RUN_ID_VARIABLE]: run_id },
    stdio: ['pipe', 'pipe', 'pipe'],
    // In its own group, so that its children end with it.
    detached: true,
  });
  const root = { pid: child.pid ?? 0, run_id, start: startOf(child.pid ?? 0) };
  let failure: string | null = null;
  const end = (why: string) => {
    failure ??= why;
    // The grader itself immediately; the rest of its tree when it has ended.
    child.kill('SIGKILL');
  };
  const most = APP_LIMITS.grader_output_bytes_max;
  const refuse = () => end(`printed more than ${most} bytes`);
  const stdout = collect(child.stdout, most, much_output === 'refuse' ? refuse : () => {});
  const stderr = collect(child.stderr, most, () => {});
  const timer = setTimeout(() => end(`timed out after ${durationText(timeout_ms)}`), timeout_ms);
  // A grader that does not read its input may still answer.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const result = (code: number | null, why: string | null): CommandResult => {
    clearTimeout(timer);
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    const dropped = stdout.dropped() + stderr.dropped();
    return { failure: why, code, stdout: stdout.text(), stderr: stderr.text(), dropped };
  };
  return new Promise<CommandResult>((resolve) => {
    const closed = new Promise<void>((done) => child.on('close', () => done()));
    child.on('error', (error) =>
      resolve(result(null, `could not be started: ${startError(error, cwd)}`)),
    );
    child.on('exit', async (code, signal) => {
      clearTimeout(timer);
      await endTree(root, { grace_ms: 0, signal: 'SIGTERM' }).catch(() => {});
      // Its output is in the pipes; a process that still holds them open is not waited for.
      await Promise.race([closed, sleep(APP_LIMITS.grader_drain_ms, undefined, { ref: false })]);
      const killed = code === null ? `was ended by ${signal}` : null;
      resolve(result(code, failure ?? killed));
    });
  });
}

export interface OpenTools extends Tools {
  close(): Promise<void>;
}

export function openTools(env: NodeJS.ProcessEnv): OpenTools {
  const matcher = new Matcher();
  return {
    safe: (value) => value,
    matches: (pattern, flags, texts) => matcher.match(pattern, flags, texts),
    run: (request) => runCommand(request, env),
    ask: (request) => askModel(request, env),
    close: () => matcher.close(),
  };
}
