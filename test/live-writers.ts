/** Processes that send for one session, killed and restarted, and the messages they sent. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import type { RandomSource } from '../src/lib/ids.ts';
import { linesOf, until } from './e2e/cli.ts';

const WRITER = join(import.meta.dirname, 'fixtures/live-writer.ts');

/** A program that sends more and more messages in a session, restarted repeatedly. */
export class Writers {
  readonly name: string;
  readonly #folder: string;
  readonly #url: string;

  constructor(session: string, folder: string, url: string) {
    this.name = session;
    this.#folder = folder;
    this.#url = url;
  }

  /** `more`: the number of messages before the session end; without it, messages are sent forever. */
  start(...more: string[]): { child: ChildProcess; ended: Promise<unknown[]> } {
    const out = openSync(this.#answers, 'a');
    const args = [WRITER, this.#url, join(this.#folder, 'outbox'), this.name, ...more];
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', out, 'inherit'],
      // Compiled once for all of them.
      env: { ...process.env, NODE_COMPILE_CACHE: join(this.#folder, 'compiled') },
    });
    closeSync(out);
    onTestFinished(() => void child.kill('SIGKILL'));
    return { child, ended: once(child, 'exit') };
  }

  get #answers(): string {
    return join(this.#folder, `${this.name}.answers`);
  }

  /** The numbers that are certain to be in the outbox. */
  get numbers(): number[] {
    return linesOf(readFileSync(this.#answers, 'utf8'));
  }

  async killed(times: number, random: RandomSource): Promise<void> {
    for (let cycle = 0; cycle < times; cycle++) {
      const before = cycle === 0 ? 0 : this.numbers.length;
      const { child, ended } = this.start();
      const [wait = 0, early = 0] = random(2);
      // One in four at any moment since its start, the others while they send.
      if (early >= 64) await until(() => this.numbers.length > before, 'its first message');
      await sleep(wait / 4);
      child.kill('SIGKILL');
      expect((await ended)[1]).toBe('SIGKILL');
    }
    expect((await this.start('1').ended)[0]).toBe(0);
  }

  /** Every message from the outbox is stored: once, in order, unchanged. */
  compareWith(stored: ReadonlyMap<string, readonly string[]>): void {
    const lines = (stored.get(this.name) ?? []).map((line) => JSON.parse(line));
    const { numbers } = this;
    // A repeated number would mean that its first message was lost.
    expect(numbers.filter((seq, i) => seq <= (numbers[i - 1] ?? 0))).toEqual([]);
    expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, i) => i + 1));
    expect(lines.length).toBe((numbers.at(-1) ?? 0) + 1);
    expect(lines.at(-1)?.type).toBe('session_end');
    const messages = lines.slice(0, -1);
    expect(messages.filter(({ seq, data }) => data.delta.length !== (seq * 37) % 500)).toEqual([]);
  }
}
