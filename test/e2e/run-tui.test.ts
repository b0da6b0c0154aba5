/** `tacho run --tui`, in a real pseudo-terminal and without one. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { CHAOS, played } from '../chaos-agent.ts';
import { bin, usePlace } from './cli.ts';
import { openPty, type Pty } from './pty.ts';

const place = usePlace();
let pty: Pty | null = null;

afterEach(() => {
  pty?.close();
  pty = null;
});

const has = (part: string) => (lines: string[]) => lines.some((line) => line.includes(part));

function watch(script: string, size = { cols: 80, rows: 24 }): Pty {
  const work = join(place.folder, 'watched');
  mkdirSync(work, { recursive: true });
  const flags = ['run', ...CHAOS, '--tui', '--cwd', work, '--state-dir', place.state];
  pty = openPty([process.execPath, bin, ...flags, 'go', '--', '--script', script], size);
  return pty;
}

test('the view stays when the run ends: a call is opened, searched and closed; then the summary is printed', async () => {
  const terminal = watch('default', { cols: 100, rows: 40 });
  await terminal.until('the outcome', (lines) => /^ ✓ ok .* · 10 calls/.test(lines[0] ?? ''));
  expect(terminal.alternate()).toBe(true);
  expect(terminal.lines()[1]).toMatch(/^ go .*watched$/);
  expect(terminal.lines().at(-1)).toMatch(/^ q quit · Enter open/);
  terminal.type('?');
  await terminal.until('the keys', has('fold or unfold a sub-agent'));
  terminal.type('q/GRACE\r');
  await terminal.until('the match', (lines) =>
    lines.some((line) => line.startsWith('› ✗ Bash') && line.includes('Ada Grace')),
  );
  terminal.type('/$name\r\r');
  await terminal.until('the diff', has('✓ Edit · ok'));
  expect(terminal.lines().slice(2).join('\n')).toMatch(
    /✓ Edit · ok .*greet\.sh.*\ndiff\n.*-.*\n.*\+.*\$name/s,
  );
  terminal.type('\u001b');
  await terminal.until('the list', has('q quit'));
  terminal.type('q');
  const { code } = await terminal.ended;
  expect(code).toBe(0);
  expect(terminal.alternate()).toBe(false);
  expect(has('10 calls')(terminal.lines())).toBe(true);
  expect(has('Its usage is described in')(terminal.lines())).toBe(true);
});

/** An agent that works until a file appears. */
function waiting(): { script: string; go: () => void } {
  const go = join(place.folder, 'go');
  const script = join(place.folder, 'waiting.yaml');
  const cmd = `while [ ! -e ${go} ]; do sleep 0.05; done`;
  const steps = [{ say: 'I wait.', calls: [{ tool: 'run', input: { cmd } }] }];
  writeFileSync(script, JSON.stringify({ about: 'waits', steps }));
  return { script, go: () => writeFileSync(go, '') };
}

test('q leaves the view and the run continues; v returns to it; Ctrl-C asks first', async () => {
  const { script, go } = waiting();
  const terminal = watch(script);
  await terminal.until('the run', has('running'));
  terminal.type('q');
  await terminal.until('plain text', has('return to the view'));
  expect(terminal.alternate()).toBe(false);
  terminal.type('\u0003');
  await terminal.until('the question', has('Cancel the run? y/n'));
  terminal.type('n');
  await terminal.until('the answer', has('The run continues.'));
  terminal.type('v');
  await terminal.until('the view', has('following'));
  terminal.type('\u0003');
  await terminal.until('the question in the view', has('Cancel the run? y/n'));
  terminal.type('n');
  await terminal.until('no question', has('q leave'));
  terminal.type('q');
  go();
  const { code } = await terminal.ended;
  expect(code).toBe(0);
  expect(has('ok')(terminal.lines())).toBe(true);
});

test('Ctrl-C and y stop the agent: cancelled, 130, the terminal restored', async () => {
  const terminal = watch('hang');
  await terminal.until('the run', has('demo 1.0.0'));
  terminal.type('\u0003');
  await terminal.until('the question', has('Cancel the run? y/n'));
  terminal.type('y');
  const { code } = await terminal.ended;
  expect(code).toBe(130);
  expect(terminal.alternate()).toBe(false);
  expect(has('cancelled')(terminal.lines())).toBe(true);
});

test('SIGTERM ends the run and the view without a key', async () => {
  const terminal = watch('hang');
  await terminal.until('the run', has('demo 1.0.0'));
  terminal.signal('SIGTERM');
  const { code } = await terminal.ended;
  expect(code).toBe(143);
  expect(terminal.alternate()).toBe(false);
});

test('tacho runs lists past runs, filters them and opens one', async () => {
  for (const script of ['default', 'agent-error'])
    await place.tacho([
      'run',
      ...CHAOS,
      '--cwd',
      place.work,
      `play ${script}`,
      '--',
      ...played(script),
    ]);
  pty = openPty([process.execPath, bin, 'runs', '--state-dir', place.state]);
  const terminal = pty;
  await terminal.until('the runs', (lines) =>
    /^› .* agent_error .*play agent/.test(lines[2] ?? ''),
  );
  expect(terminal.lines()[3]).toMatch(/^ {2}\w{10} .* demo +ok .*play default/);
  terminal.type('f');
  await terminal.until('failed runs', has('1 run · failed runs'));
  terminal.type('ff/default\r');
  await terminal.until('the filter', (lines) => /^› .* ok .*play default/.test(lines[2] ?? ''));
  terminal.type('\r');
  await terminal.until('the run', (lines) => /^ ✓ ok .* · 10 calls/.test(lines[0] ?? ''));
  expect(terminal.lines()[1]).toMatch(/^ play default .*work$/);
  terminal.type('/$name\r\r');
  await terminal.until('its diff', has('+$name!'));
  terminal.type('qq');
  await terminal.until('the list', has('q quit'));
  terminal.type('q');
  expect((await terminal.ended).code).toBe(0);
  expect(terminal.alternate()).toBe(false);
  const piped = await place.tacho(['runs']);
  expect({ code: piped.code, stdout: piped.stdout }).toEqual({ code: 2, stdout: '' });
  expect(piped.stderr).toContain('Usage: tacho runs');
});

test('the list shows runs that end while it is open; Ctrl-Z suspends it and fg returns', async () => {
  const run = (prompt: string) =>
    place.tacho(['run', ...CHAOS, '--cwd', place.work, prompt, '--', ...played('default')]);
  await run('the first');
  const line = `"$0" "$1" runs --state-dir "$2"; echo suspended; fg > /dev/null`;
  pty = openPty(['bash', '-mc', line, process.execPath, bin, place.state]);
  const terminal = pty;
  await terminal.until('a run', has('1 run '));
  await run('the second');
  await terminal.until('both runs', (lines) => lines[2]?.includes('the second') === true);
  expect(terminal.lines()[3]).toMatch(/^› .*the first$/);
  terminal.type('\u001a');
  await terminal.until('the view again', () => terminal.bytes().includes('suspended'));
  await terminal.until(
    'the view again',
    () => terminal.alternate() && has('2 runs')(terminal.lines()),
  );
  terminal.type('q');
  expect((await terminal.ended).mode).toMatch(/(?<!-)\bicanon\b/);
  expect(terminal.alternate()).toBe(false);
  expect(has('suspended')(terminal.lines())).toBe(true);
});

test('a closed terminal ends the run and its record', async () => {
  const terminal = watch('hang');
  await terminal.until('the run', has('demo 1.0.0'));
  terminal.close();
  pty = null;
  await expect
    .poll(async () => (await place.tacho(['runs', 'list'])).stdout, { timeout: 60_000 })
    .toContain('cancelled');
});

test('a dumb terminal cannot show the view, and the message says so', async () => {
  const command = [process.execPath, bin, 'run', '--agent', 'demo', '--tui', 'go'];
  pty = openPty(['env', 'TERM=dumb', ...command], { cols: 100, rows: 10 });
  expect((await pty.ended).code).toBe(2);
  expect(pty.alternate()).toBe(false);
  expect(has('TERM is "dumb": run the command without --tui')(pty.lines())).toBe(true);
});

test('without a terminal the live view is refused with a clear message, and nothing is started', async () => {
  const args = ['run', '--agent', 'demo', '--tui', 'go'];
  const { code, stdout, stderr } = await place.tacho(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('--tui needs a terminal');
});
