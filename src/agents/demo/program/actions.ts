/** The actions of a script: faults of every sort, and what else an agent may say between its turns. */
import { spawn } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import { END_REASONS, flagOf, integerOf, numberOf, textOf, wordOf } from '../native.ts';
import { writeAll } from './output.ts';
import type { Action, ActionName } from './script.ts';
import type { Mapping } from './shapes.ts';
import { Ending, fill, finish, type Stage } from './stage.ts';

type Perform = (args: Mapping, stage: Stage, parent: string | null) => void | Promise<void>;

const STDOUT = 1;
const STDERR = 2;
const CHUNK_BYTES = 64 * 1024;
const HOLD_MS = 2 ** 30;

const PERFORM: Readonly<Record<ActionName, Perform>> = {
  hang,
  crash(args) {
    throw new Error(textOf(args, 'message') ?? 'the demo crashes, as its script says');
  },
  exit(args, stage) {
    const code = integerOf(args, 'code') ?? 0;
    if (flagOf(args, 'without_end')) throw new Ending(code);
    const error = code === 0 ? null : `the script exits with ${code}`;
    finish(stage, code === 0 ? 'ok' : 'agent_error', error, code);
  },
  async die(args) {
    process.kill(process.pid, (textOf(args, 'signal') ?? 'SIGKILL') as NodeJS.Signals);
    await wait(HOLD_MS);
  },
  garbage(args) {
    const bytes = textOf(args, 'bytes_hex');
    const text = textOf(args, 'text') ?? 'this line is no record';
    writeAll(STDOUT, bytes === null ? text : Buffer.from(bytes, 'hex'));
    writeAll(STDOUT, '\n');
  },
  half_line(args, { output }) {
    const text =
      textOf(args, 'text') ?? 'This sentence is cut in the middle, as a killed agent would.';
    const line = output.line({ t: 'text', id: 'half', text });
    writeAll(STDOUT, line.slice(0, Math.ceil(line.length / 2)));
  },
  flood(args, { output }, parent) {
    const text = 'x'.repeat(integerOf(args, 'bytes') ?? 100);
    const records = integerOf(args, 'records') ?? 1000;
    for (let n = 0; n < records; n++) output.emit({ t: 'text_delta', id: 'flood', text }, parent);
  },
  long_line(args) {
    writeAll(STDOUT, '{"t":"text","id":"long","text":"');
    const chunk = 'x'.repeat(CHUNK_BYTES);
    for (let left = integerOf(args, 'bytes') ?? 0; left > 0; left -= CHUNK_BYTES) {
      writeAll(STDOUT, left < CHUNK_BYTES ? chunk.slice(0, left) : chunk);
    }
    if (flagOf(args, 'newline') !== false) writeAll(STDOUT, '"}\n');
  },
  stderr: (args) => writeAll(STDERR, `${textOf(args, 'text') ?? 'a word on stderr'}\n`),
  retry_provider(args, { output }, parent) {
    const attempts = integerOf(args, 'attempts') ?? 1;
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const wait_ms = integerOf(args, 'wait_ms') ?? 100 * 2 ** (attempt - 1);
      const max = integerOf(args, 'max') ?? attempts + 1;
      output.emit({ t: 'api_retry', attempt, max, ...failure(args, 429), wait_ms }, parent);
    }
  },
  provider_error(args, stage, parent) {
    const message = textOf(args, 'message') ?? 'the model is overloaded';
    const retryable = flagOf(args, 'retryable') ?? false;
    stage.output.emit({ t: 'api_error', ...failure(args, 529), retryable, message }, parent);
    if (flagOf(args, 'final') !== false) finish(stage, 'provider_error', message);
  },
  block(args, { output, turn_id }, parent) {
    const reason = textOf(args, 'reason') ?? 'the policy blocks this step';
    output.emit({ t: 'blocked', reason, tool: textOf(args, 'tool'), turn: turn_id }, parent);
  },
  child: leaveChild,
  max_steps: (args, stage) => finish(stage, 'max_steps', error(args, 'the turn limit is reached')),
  budget: (args, stage) => finish(stage, 'budget_exceeded', error(args, 'the budget is used up')),
  approval_required: (args, stage) =>
    finish(stage, 'approval_required', error(args, 'nobody is here to approve this')),
  denied_end: (args, stage) => finish(stage, 'denied', error(args, 'a permission was refused')),
  end(args, stage) {
    const reason = wordOf(args, 'reason', END_REASONS) ?? 'ok';
    finish(stage, reason, textOf(args, 'error'), integerOf(args, 'exit_code') ?? undefined);
  },
  sleep_ms: (args) => wait(integerOf(args, 'ms') ?? 0),
  raw({ line }) {
    writeAll(STDOUT, `${typeof line === 'string' ? line : JSON.stringify(line)}\n`);
  },
  note(args, stage, parent) {
    const text = fill(stage, textOf(args, 'text') ?? '');
    stage.output.emit({ t: 'note', code: textOf(args, 'code') ?? 'note', text }, parent);
  },
  hook: (args, { output }, parent) =>
    void output.emit({ t: 'hook', name: 'hook', outcome: 'ok', ...args }, parent),
  skill: (args, { output }, parent) =>
    void output.emit({ t: 'skill', name: textOf(args, 'name') ?? 'demo' }, parent),
};

export async function perform(action: Action, stage: Stage, parent: string | null): Promise<void> {
  await PERFORM[action.name](action.args, stage, parent);
}

const error = (args: Mapping, otherwise: string): string => textOf(args, 'error') ?? otherwise;

function failure(args: Mapping, status: number) {
  const kind = textOf(args, 'kind') ?? (status === 429 ? 'rate_limit' : 'overloaded');
  return { kind, status: integerOf(args, 'status') ?? status };
}

/** Until somebody ends it. */
async function hang(args: Mapping, stage: Stage): Promise<void> {
  const told = new Promise<number>((heard) => {
    if (flagOf(args, 'ignore_term')) {
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {});
    } else if (flagOf(args, 'end_on_term')) {
      process.once('SIGTERM', () => heard(143));
      process.once('SIGINT', () => heard(130));
    }
  });
  const hold = setInterval(() => {}, HOLD_MS);
  const exit_code = await told;
  clearInterval(hold);
  finish(stage, 'cancelled', 'interrupted', exit_code);
}

/** A process that outlives the demo. Its id is in a note. */
function leaveChild(args: Mapping, { output }: Stage, parent: string | null): void {
  const seconds = numberOf(args, 'seconds') ?? 60;
  const trap = flagOf(args, 'ignore_term') ? "trap '' TERM INT HUP; " : '';
  const child = spawn('/bin/sh', ['-c', `${trap}exec sleep ${seconds}`], {
    detached: flagOf(args, 'detach') ?? false,
    stdio: ['ignore', flagOf(args, 'hold_stdout') ? 'inherit' : 'ignore', 'ignore'],
  });
  child.unref();
  output.emit({ t: 'note', code: 'child', text: `pid ${child.pid}` }, parent);
}
