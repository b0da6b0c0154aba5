/** Runs the toy writer with its answers in a file, which remains after a kill. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { readSession } from '../../src/store/journal/read.ts';

const WRITER = join(import.meta.dirname, '..', 'fixtures', 'journal-writer.ts');

export interface Writer {
  child: ChildProcess;
  /** Resolves with the signal that ended it, or its exit code. */
  ended: Promise<NodeJS.Signals | number>;
}

export function startWriter(
  args: readonly string[],
  answers: string,
  env: Record<string, string> = {},
): Writer {
  const out = openSync(answers, 'a');
  const child = spawn(process.execPath, [WRITER, ...args], {
    stdio: ['ignore', out, 'inherit'],
    // Compiled once for all writers of a test.
    env: { ...process.env, NODE_COMPILE_CACHE: join(dirname(answers), 'compiled'), ...env },
  });
  closeSync(out);
  const ended = once(child, 'exit').then(
    ([code, signal]) => (signal ?? code) as NodeJS.Signals | number,
  );
  return { child, ended };
}

/** The last acknowledged number; fails when an answer is not a number. */
export function lastAnswer(answers: string): number {
  const lines = readFileSync(answers, 'utf8').split('\n').slice(0, -1);
  expect(lines.filter((line) => !/^\d+$/.test(line))).toEqual([]);
  return Math.max(0, ...lines.map(Number));
}

/** Every entry up to the last answer exists, once, in order and unchanged. */
export async function checkSession(
  dir: string,
  session: string,
  answered: number,
): Promise<number> {
  let count = 0;
  for await (const { source, seq, body } of readSession(dir, session)) {
    count += 1;
    const expected = JSON.stringify({ n: count, pad: 'é'.repeat((count * 37) % 500) });
    if (source !== 'main' || seq !== count || body !== expected) {
      expect({ source, seq, body }).toEqual({ source: 'main', seq: count, body: expected });
    }
  }
  expect(count).toBeGreaterThanOrEqual(answered);
  return count;
}
