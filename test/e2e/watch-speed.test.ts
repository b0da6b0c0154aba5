/** The delay until a watcher has new records, and the order of the first import. The figures are in bench/watch.ts. */
import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { follow } from '../../src/store/journal/follow.ts';
import { testFolder } from '../fixtures/folder.ts';
import { verifies } from './verifies.ts';

const ROOT = join(import.meta.dirname, '../..');
const ID = '7e15eb39-6be6-4422-a6f5-9c0868fe7f65';
const FOLDER = '.claude/projects/-home-user-project';
const RECORDING = join(ROOT, 'src/agents/claude/testdata/bash-ok/session', FOLDER, `${ID}.jsonl`);
const TEXT = readFileSync(RECORDING, 'utf8');
/** Another machine may be much slower, and busy. */
const DELAY_MS_MOST = 5_000;

function watching() {
  const home = testFolder();
  const write = (n: number) => {
    const own = `${ID.slice(0, -4)}${1000 + n}`;
    const day = new Date(Date.UTC(2026, 0, 1 + n));
    const path = join(home, FOLDER, `${own}.jsonl`);
    mkdirSync(dirname(path), { recursive: true });
    const text = TEXT.replaceAll(ID, own);
    writeFileSync(path, text.replaceAll('2026-11-15', day.toISOString().slice(0, 10)));
    utimesSync(path, day, day);
    return path;
  };
  const start = () => {
    const env = { PATH: process.env.PATH, HOME: home, TACHO_HOME: join(home, 'state') };
    const command = [join(ROOT, 'bin/tacho.cjs'), 'watch', '--json'];
    const child = spawn(process.execPath, command, { env });
    onTestFinished(() => void child.kill('SIGKILL'));
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
    });
    const rows = () =>
      text
        .split(/(?<=\n)/)
        .filter((line) => line.endsWith('\n'))
        .map((line) => JSON.parse(line) as { path: string; state: string });
    return { rows };
  };
  return { home, write, start };
}

async function until(what: string, holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1200; tries++) {
    if (holds()) return;
    await sleep(50);
  }
  throw new Error(`it did not happen: ${what}`);
}

verifies(
  'WA-8',
  'what an agent writes is soon a durable event that a reader of the journal sees',
  async () => {
    const { home, write, start } = watching();
    const path = write(1);
    const { rows } = start();
    await until('the session', () => rows().length > 0);
    const delays: number[] = [];
    let written = { mark: '', at: 0 };
    const stop = new AbortController();
    const reading = (async () => {
      for await (const { body } of follow(join(home, 'state/journal'), {}, stop.signal))
        if (written.mark !== '' && body.includes(written.mark)) {
          delays.push(performance.now() - written.at);
          written = { mark: '', at: 0 };
        }
    })();
    const prompt = TEXT.split(/(?<=\n)/).find((line) => line.includes('"type":"user"')) ?? '';
    for (let n = 0; n < 10; n++) {
      written = { mark: `mark-${n}-`, at: performance.now() };
      const line = prompt.replaceAll(ID, path.slice(-42, -6));
      appendFileSync(path, line.replace(/"content":"[^"]*"/, `"content":"${written.mark}"`));
      await until('the event', () => delays.length === n + 1);
    }
    stop.abort();
    await reading;
    expect(delays.sort((a, b) => a - b)[5]).toBeLessThan(DELAY_MS_MOST);
  },
  120_000,
);

verifies(
  'WA-10',
  'the first start imports the newest sessions first, one after the other',
  async () => {
    const { write, start } = watching();
    const order = [3, 1, 4, 2, 5, 9, 7, 8, 6];
    const paths = new Map(order.map((n) => [n, write(n)]));
    const { rows } = start();
    await until('all sessions', () => rows().length === order.length);
    const newest = order.toSorted((a, b) => b - a).map((n) => paths.get(n));
    expect(rows().map(({ path }) => path)).toEqual(newest);
  },
  120_000,
);
