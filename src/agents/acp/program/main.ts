/**
 * The client program: starts an agent, sends it one prompt, and writes every message of both directions to stdout.
 * Arguments: `--approve MODE [--model NAME] [--resume SESSION] [--input] -- PROGRAM [ARGUMENT…]`. The prompt is read
 * from stdin, or with `--input` one line per prompt (`InputLine` in ../input.ts) until the end of stdin.
 * Exit: 0 the prompt was answered · 1 it was refused · 2 usage · 127 no such program · otherwise the agent's exit.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createFdWriter } from '../../../lib/fd-writer.ts';
import { APPROVE_MODES } from '../../../model/words.ts';
import { Client, Refused, type Wanted } from './client.ts';
import { Failed, type Recorder } from './connection.ts';
import { Inbox } from './inbox.ts';

const CLIENT_VERSION = '1';
const STDOUT = 1;
/** In total shorter than the time that a process tree has to exit. */
const CANCEL_WAIT_MS = 2_000;
const CANCELLED_EXIT_WAIT_MS = 1_500;
const TERM_WAIT_MS = 1_000;
/** An agent may have something to save when its stdin is closed. */
const EXIT_WAIT_MS = 3_000;
/** How long a process left behind by the agent may hold its stdout open. */
const DRAIN_WAIT_MS = 500;

class Usage extends Error {}

function givenBy(argv: string[]) {
  const options = {
    approve: { type: 'string', default: 'default' },
    model: { type: 'string' },
    resume: { type: 'string' },
    input: { type: 'boolean', default: false },
  } as const;
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  const [command, ...args] = positionals;
  const approve = APPROVE_MODES.find((mode) => mode === values.approve);
  if (command === undefined || approve === undefined)
    throw new Usage('no program, or an unknown mode');
  const { model = null, resume = null, input } = values;
  const wanted = { approve, model, resume, cwd: process.cwd(), env: process.env };
  return { command, args, wanted, input };
}

const writer = createFdWriter(STDOUT);

const record: Recorder = (dir, json) => {
  const head = Buffer.from(`{"dir":"${dir}","at_ms":${Date.now()},"msg":`);
  const body = typeof json === 'string' ? Buffer.from(json) : json;
  return writer.write(Buffer.concat([head, body, Buffer.from('}\n')]));
};

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Stops the agent by closing its stdin, then with a signal, then by killing it. */
async function end(child: ChildProcess, exited: Promise<Exit>, first_ms: number): Promise<Exit> {
  child.stdin?.end();
  const steps = [
    [first_ms, 'SIGTERM'],
    [TERM_WAIT_MS, 'SIGKILL'],
  ] as const;
  for (const [wait_ms, signal] of steps) {
    const left = await Promise.race([exited, sleep(wait_ms, null, { ref: false })]);
    if (left !== null) return left;
    try {
      process.kill(-(child.pid as number), signal);
    } catch {
      // The process is already gone.
    }
  }
  return exited;
}

/**
 * Communicates with the agent until the prompt is answered, the agent has exited, or a cancelled turn takes too long.
 * `code`: the exit code; null: the agent exited without an answer.
 */
async function speak(child: ChildProcess, wanted: Wanted, exited: Promise<Exit>) {
  const { stdout: from, stdin: to } = child;
  if (from === null || to === null) throw new Error('the agent has no pipes');
  const drained = once(from, 'end').catch(() => {});
  const client = new Client({ from, to }, record, wanted);
  const given_up = Promise.withResolvers<number>();
  let cancelled = false;
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (cancelled || !client.cancel()) given_up.resolve(1);
      cancelled = true;
      setTimeout(() => given_up.resolve(1), CANCEL_WAIT_MS).unref();
    });
  }
  const talked = client.run(CLIENT_VERSION).then(
    () => 0,
    (error: unknown) => {
      if (error instanceof Refused) process.stderr.write(`${error.message}\n`);
      else if (!(error instanceof Failed)) throw error;
      return 1;
    },
  );
  // The agent's output is first read to its end.
  const gone = exited
    .then(() => Promise.race([drained, sleep(DRAIN_WAIT_MS, null, { ref: false })]))
    .then(() => sleep(0, null));
  const code = await Promise.race([talked, given_up.promise, gone]);
  return { code, cancelled };
}

async function main(argv: string[]): Promise<number> {
  const { command, args, wanted, input } = givenBy(argv);
  const inbox = input ? new Inbox(process.stdin) : null;
  const prompt = inbox === null ? String(await buffer(process.stdin)) : await inbox.next();
  // A writer that wrote nothing, or died while writing, requested nothing.
  if (prompt === null) throw new Usage('no prompt');
  // In its own process group: our interrupt must not reach the agent, which is asked to cancel first.
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  try {
    await once(child, 'spawn');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    process.stderr.write(`cannot start ${command}: ${code}\n`);
    return code === 'ENOENT' ? 127 : 126;
  }
  const exited = once(child, 'exit').then(([code, signal]): Exit => ({ code, signal }));
  const { code, cancelled } = await speak(child, { ...wanted, inbox, prompt }, exited);
  const exit = await end(child, exited, cancelled ? CANCELLED_EXIT_WAIT_MS : EXIT_WAIT_MS);
  child.stdout?.destroy();
  await record('exit', JSON.stringify(exit));
  if (code !== null) return code;
  for (const signal of SIGNALS) process.removeAllListeners(signal);
  if (exit.signal !== null) process.kill(process.pid, exit.signal);
  return exit.code || 1;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Usage)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
} finally {
  // An open stdin must not keep this process alive.
  process.stdin.destroy();
}
