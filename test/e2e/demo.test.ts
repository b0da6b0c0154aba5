/** The demo agent's own program as a real process. */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Row, root, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();

function play(args: string[], { prompt = 'please', env = {} } = {}) {
  const program = join(root, 'dist/demo-agent.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, '--speed=0', ...args], {
    cwd: place.work,
    input: prompt,
    env,
    encoding: 'utf8',
  });
  const records: Row[] = stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  return { status, stdout, stderr, records };
}

const typesOf = (records: Row[]) => records.map(({ t }) => t).join(' ');
const greeting = () => readFileSync(join(place.work, 'tacho-demo/greet.sh'), 'utf8');

describe('the story', () => {
  test('writes a script, sees it fail, repairs it, and succeeds', () => {
    const { status, stderr, records } = play([]);
    expect([status, stderr]).toEqual([0, '']);
    expect(typesOf(records)).toBe(
      [
        'hello prompt',
        'turn text usage call call_start file call_end turn_end',
        'turn text usage call call_start call_end turn_end',
        'turn think text usage call call_start call_end turn_end',
        'turn text usage call call_start file call_end call call_start call_end turn_end',
        'turn text usage turn_end end',
      ].join(' '),
    );
    const ends = records.filter(({ t }) => t === 'call_end');
    expect(ends.map(({ status }) => status)).toEqual(['ok', 'error', 'ok', 'ok', 'ok']);
    expect(ends.at(-1)).toMatchObject({ exit_code: 0, output: 'Hello, Ada!\nHello, Grace!\n' });
    expect(records.at(-1)).toMatchObject({ reason: 'ok', error: null, turns: 5 });
    expect(greeting()).toContain('$name!');
    expect(readdirSync(place.work)).toEqual(['tacho-demo']);
  });

  test('can be repeated in the same folder', () => {
    play([]);
    const { status, records } = play([]);
    expect(status).toBe(0);
    const files = records.filter(({ t }) => t === 'file');
    expect(files.map(({ operation }) => operation)).toEqual(['modified', 'modified']);
  });

  test('neither writes nor runs a file through a link', () => {
    const proof = join(place.folder, 'proof');
    const foreign = join(place.folder, 'foreign');
    mkdirSync(foreign);
    writeFileSync(join(foreign, 'greet.sh'), `touch ${proof}\n`);
    symlinkSync(foreign, join(place.work, 'tacho-demo'));
    const folder = play([]);
    rmSync(join(place.work, 'tacho-demo'));
    mkdirSync(join(place.work, 'tacho-demo'));
    symlinkSync(join(foreign, 'greet.sh'), join(place.work, 'tacho-demo/greet.sh'));
    const file = play([]);
    for (const { status, records } of [folder, file]) {
      const error = 'c1: tacho-demo/greet.sh leads elsewhere';
      expect([status, records.at(-1)]).toEqual([
        1,
        expect.objectContaining({ reason: 'agent_error', error }),
      ]);
    }
    expect(readFileSync(join(foreign, 'greet.sh'), 'utf8')).toBe(`touch ${proof}\n`);
    expect(existsSync(proof)).toBe(false);
  });
});

describe('the arguments', () => {
  test('--end selects the end', () => {
    const ends = ['agent_error', 'provider_error', 'denied', 'none'].map((reason) => {
      const { status, records } = play(['--end', reason]);
      return [status, records.at(-1).t, records.at(-1).reason];
    });
    expect(ends).toEqual([
      [1, 'end', 'agent_error'],
      [1, 'end', 'provider_error'],
      [1, 'end', 'denied'],
      [0, 'turn_end', 'calls'],
    ]);
  });

  test('--seed gives the same bytes', () => {
    const [first, second] = [play(['--seed', 'x']), play(['--seed', 'y'])];
    rmSync(join(place.work, 'tacho-demo'), { recursive: true });
    const again = play(['--seed', 'x']);
    expect([again.stdout === first.stdout, again.stdout === second.stdout]).toEqual([true, false]);
  });

  test('--stream prints the text in pieces first', () => {
    const { records } = play(['--stream']);
    const pieces = records.filter(({ t, id }) => t === 'text_delta' && id === 'm2');
    expect(pieces.map(({ text }) => text)).toEqual(['Now', " I'll", ' run', ' it.']);
  });

  test('a session file has the records of stdout, and a resumed session has other ids', () => {
    const folder = join(place.folder, 'kept');
    const kept = () => readFileSync(join(folder, 'one.jsonl'), 'utf8');
    const first = play(['--resume', 'one'], { env: { TACHO_DEMO_SESSIONS: folder } });
    expect(kept()).toBe(first.stdout);
    rmSync(join(place.work, 'tacho-demo'), { recursive: true });
    const second = play(['--resume', 'one', '--session-dir', folder]);
    expect(kept()).toBe(first.stdout + second.stdout);
    const ids = [...first.records, ...second.records].filter(({ t }) => t === 'call');
    expect(new Set(ids.map(({ id }) => id)).size).toBe(10);
  });

  test('mistakes are reported on stderr', () => {
    const said = (...args: string[]) => {
      const { status, stderr, stdout } = play(args);
      return [status, stderr, stdout];
    };
    expect(said('--end', 'soon')).toEqual([
      2,
      'error: --end must be one of ok, agent_error, provider_error, denied, approval_required, max_steps, budget_exceeded, cancelled, none\n',
      '',
    ]);
    expect(said('--speed', 'fast')).toEqual([
      2,
      'error: --speed must be a number of at least 0\n',
      '',
    ]);
    expect(said('--resume', '../x')).toEqual([2, 'error: --resume: no such session\n', '']);
    expect(said('--colour')[0]).toBe(2);
  });
});

verifies('AG-18', 'a prompt is repeated exactly; a long one by its size and hash', () => {
  const prompt = 'it\'s "quoted" $HOME `x`\r\n\u2028 ąęś 👩‍🚀';
  expect(play([], { prompt }).records[1]).toMatchObject({ t: 'prompt', text: prompt });
  const long = play([], { prompt: 'long '.repeat(1_000_000) }).records[1];
  expect(long).toMatchObject({ t: 'note', code: 'long_prompt' });
  expect(long.text).toMatch(/^5000000 bytes, sha256 [0-9a-f]{64}$/);
  expect(play([], { prompt: '' }).records[1].t).toBe('turn');
});
