/** `tacho run --tui` itself, in a real pseudo-terminal and without one. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { CHAOS } from '../chaos-agent.ts';
import { bin, usePlace } from './cli.ts';
import { openPty, type Pty } from './pty.ts';

const place = usePlace();
let pty: Pty | null = null;

afterEach(() => {
  pty?.close();
  pty = null;
});

const has = (part: string) => (lines: string[]) => lines.some((line) => line.includes(part));

function watch(script: string, ...more: string[]): Pty {
  const work = join(place.folder, 'watched');
  mkdirSync(work, { recursive: true });
  const flags = ['run', ...CHAOS, '--tui', '--cwd', work, '--state-dir', place.state];
  pty = openPty([process.execPath, bin, ...flags, 'go', '--', '--script', script, ...more]);
  return pty;
}

test('a run is watched to its end, and its summary stays on the screen', async () => {
  const terminal = watch('default');
  await terminal.until('the header', has('demo 1.0.0'));
  expect(terminal.alternate()).toBe(true);
  const { code } = await terminal.ended;
  expect(code).toBe(0);
  expect(terminal.alternate()).toBe(false);
  expect(has('10 calls')(terminal.lines())).toBe(true);
  expect(has('How to use it is in')(terminal.lines())).toBe(true);
});

test('q ends the agent: cancelled, 130, the terminal as it was', async () => {
  const terminal = watch('hang');
  await terminal.until('the run', has('demo 1.0.0'));
  terminal.type('q');
  const { code } = await terminal.ended;
  expect(code).toBe(130);
  expect(terminal.alternate()).toBe(false);
  expect(has('cancelled')(terminal.lines())).toBe(true);
});

test('without a terminal the live view is refused in a clear word, and nothing is started', async () => {
  const args = ['run', '--agent', 'demo', '--tui', 'go'];
  const { code, stdout, stderr } = await place.tacho(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('--tui needs a terminal');
});
