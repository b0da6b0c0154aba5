/** The chaos agent as a real process: every script, its output, its exit and its files. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/lib/limits.ts';
import { chaosAgent } from '../chaos-agent.ts';
import { shippedNames } from '../fixtures/agent/library.ts';
import { verifies } from './verifies.ts';

interface Played {
  code: number | null;
  signal: NodeJS.Signals | null;
  bytes: Buffer;
  stderr: string;
}
interface Given {
  prompt?: string | Buffer;
  /** Called with each piece of stdout. */
  seen?: (child: ChildProcess, sofar: string) => void;
}

let folder = '';
let cwd = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chaos-agent-'));
  cwd = mkdtempSync(join(folder, 'work-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function play(args: string[], given: Given = {}): Promise<Played> {
  const child = spawn(process.execPath, [chaosAgent, '--speed', '0', ...args], { cwd, env: {} });
  const pieces: Buffer[] = [];
  let stderr = '';
  child.stdout.on('data', (piece: Buffer) => {
    pieces.push(piece);
    given.seen?.(child, Buffer.concat(pieces).toString());
  });
  child.stderr.setEncoding('utf8').on('data', (piece) => {
    stderr += piece;
  });
  child.stdin.on('error', () => {});
  child.stdin.end(given.prompt ?? '');
  return new Promise((done) => {
    // Not `close`: a process it started may still hold stdout.
    child.on('exit', async (code, signal) => {
      await wait(30);
      done({ code, signal, bytes: Buffer.concat(pieces), stderr });
    });
  });
}

type Row = Record<string, unknown>;

function recordsOf({ bytes }: Played): Row[] {
  const lines = bytes.toString('utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

/** The record types after the greeting, equal neighbours merged. */
function typesOf(played: Played): string {
  const types = recordsOf(played).map((record) => String(record.t));
  return types.filter((type, index) => index > 0 && type !== types[index - 1]).join(' ');
}

const END = 'turn text turn_end end';

/** The output of each script after its greeting, its exit code, and its files. */
const plays: Record<
  string,
  { types: string; end: string | null; code?: number; files?: string[] }
> = {
  'agent-error': { types: END, end: 'agent_error', code: 1 },
  'approval-required': {
    types: 'turn text call permission decision call_end end',
    end: 'approval_required',
    code: 1,
  },
  background: {
    types:
      'turn text call call_start call_end call call_start call_end turn_end turn text turn_end call_late end',
    end: 'ok',
  },
  blocked: {
    types: 'turn text blocked call call_start call_end turn_end turn text turn_end end',
    end: 'ok',
  },
  budget: { types: 'turn text usage turn_end end', end: 'budget_exceeded', code: 1 },
  'call-retry': {
    types:
      'turn text call call_start call_retry call_output call_end turn_end turn text turn_end end',
    end: 'ok',
  },
  'command-timeout': {
    types: 'turn text call call_start call_output call_end turn_end turn text turn_end end',
    end: 'ok',
  },
  crash: { types: 'turn text call call_start', end: null, code: 1 },
  default: {
    types: [
      'turn think text usage call call_start call_end turn_end',
      'turn text usage call call_start call_end call call_start file call_end turn_end',
      'turn text usage call call_start call_output call_end turn_end',
      'turn think text usage call call_start call_end turn_end',
      'turn text usage call call_start file call_end call call_start call_output call_end turn_end',
      'turn text usage call call_start file call_end call call_start call_end turn_end',
      'turn text usage turn_end end',
    ].join(' '),
    end: 'ok',
    // A separate folder, so that trying tacho in a project does not overwrite its README.
    files: ['tacho-demo'],
  },
  denied: {
    types:
      'turn text call permission decision call_end call permission decision call_start file call_end turn_end turn text turn_end end',
    end: 'ok',
    files: ['tacho-demo'],
  },
  'denied-end': {
    types: 'turn text call permission decision call_end turn_end end',
    end: 'denied',
    code: 1,
  },
  'exit-code': { types: END, end: 'ok', code: 3 },
  'exit-early': { types: 'turn text turn_end', end: null },
  fixed: {
    types:
      'turn text usage call call_start file call_end call call_start call_output call_end turn_end turn text turn_end end',
    end: 'ok',
    files: ['tacho-demo'],
  },
  flood: { types: 'turn text turn_end text_delta turn text turn_end end', end: 'ok' },
  'max-steps': {
    types:
      'turn text call call_start call_end turn_end turn text call call_start call_end turn_end end',
    end: 'max_steps',
    code: 1,
  },
  parallel: {
    types: 'turn text call call_start call_end file call_end turn_end turn text turn_end end',
    end: 'ok',
    files: ['tacho-demo'],
  },
  'provider-error': {
    types: 'turn text turn_end api_retry api_error end',
    end: 'provider_error',
    code: 1,
  },
  'provider-retry': { types: 'api_retry turn text usage turn_end end', end: 'ok' },
  'session-only': {
    types: 'turn text call call_start call_end call call_end turn_end turn text turn_end end',
    end: 'ok',
  },
  stderr: { types: END, end: 'ok' },
  subagent: {
    types: [
      'turn text usage call call_start turn text call call_start call_end call call_start turn text usage',
      'call call_start file call_end turn_end turn text turn_end call_end turn_end turn text turn_end',
      'call_end turn_end turn text usage turn_end end',
    ].join(' '),
    end: 'ok',
    files: ['tacho-demo'],
  },
  words: {
    types: 'hook turn think text_delta text turn_end note skill turn text_delta text turn_end end',
    end: 'ok',
  },
};
/** Scripts with separate tests below. */
const special = [
  'child',
  'child-daemon',
  'cut',
  'garbage',
  'hang',
  'hang-polite',
  'hang-stubborn',
  'killed',
  'long-line',
  'long-line-open',
  'tools',
];

describe('each shipped script', () => {
  test('has a test', () => {
    expect([...Object.keys(plays), ...special].sort()).toEqual(shippedNames());
  });

  for (const [name, expected] of Object.entries(plays)) {
    test(`${name} behaves as documented`, async () => {
      const played = await play(['--script', name]);
      const last = recordsOf(played).at(-1);
      expect({
        types: typesOf(played),
        end: last?.t === 'end' ? last.reason : null,
        code: played.code,
        files: readdirSync(cwd).sort(),
      }).toEqual({ code: 0, files: [], ...expected });
    });
  }
});

describe('faults', () => {
  test('a crash exits like a crash', async () => {
    const played = await play(['--script', 'crash']);
    expect(played.stderr).toContain('Error: out of luck');
  });

  test('a killed agent has written all of its output so far', async () => {
    const played = await play(['--script', 'killed']);
    expect({ code: played.code, signal: played.signal, types: typesOf(played) }).toEqual({
      code: null,
      signal: 'SIGKILL',
      types: 'turn text call call_start',
    });
  });

  test('a cut line has no line end', async () => {
    const played = await play(['--script', 'cut', '--no-timestamps']);
    const last = played.bytes.toString().split('\n').at(-1) ?? '';
    expect([played.code, last]).toEqual([1, '{"t":"text","id":"half","text":"This sentence i']);
  });

  test('garbage between records is kept byte for byte', async () => {
    const played = await play(['--script', 'garbage', '--no-timestamps']);
    const lines = played.bytes.toString('latin1').split('\n').slice(1);
    const spoken = lines.filter((line) => !/^\{"t":"(turn|turn_end|text|end)"/.test(line));
    expect(spoken).toEqual([
      'Debugger attached.',
      '\xff\xfe\x00\xc3(',
      '\x1b[31m',
      '{"t":"from_the_future","answer":42}',
      '{"t":"call_end"}',
      '[1,2,3]',
      '',
      '',
    ]);
  });

  test('a long line has the scripted length, with and without a line end', async () => {
    const whole = await play(['--script', 'long-line', '--no-timestamps']);
    const longest = Math.max(...recordsOf(whole).map((record) => String(record.text ?? '').length));
    expect([whole.code, longest]).toEqual([0, 12_000_000]);
    expect(longest).toBeGreaterThan(LIMITS.line_bytes_max);
    const open = await play(['--script', 'long-line-open', '--no-timestamps']);
    const last = open.bytes.subarray(open.bytes.lastIndexOf('\n') + 1);
    expect([open.code, last.length]).toEqual([
      0,
      12_000_000 + '{"t":"text","id":"long","text":"'.length,
    ]);
  });

  test('stderr is written as well', async () => {
    const played = await play(['--script', 'stderr']);
    expect(played.stderr).toBe('warning: the demo writes to stderr\nerror: not really\n');
  });

  const whenSaid = (text: string, then: (child: ChildProcess) => void): Given => {
    let done = false;
    return {
      seen: (child, sofar) => {
        if (done || !sofar.includes(text)) return;
        done = true;
        // The agent sets its signal handlers right after its first output.
        setTimeout(() => then(child), 50);
      },
    };
  };

  test('SIGTERM stops a hanging agent; the stubborn one needs SIGKILL', async () => {
    const hang = await play(
      ['--script', 'hang'],
      whenSaid('call_start', (child) => child.kill()),
    );
    expect([hang.code, hang.signal]).toEqual([null, 'SIGTERM']);
    const stubborn = await play(
      ['--script', 'hang-stubborn'],
      whenSaid('turn_end', (child) => {
        child.kill('SIGTERM');
        child.kill('SIGINT');
        setTimeout(() => child.kill('SIGKILL'), 50);
      }),
    );
    expect([stubborn.code, stubborn.signal]).toEqual([null, 'SIGKILL']);
  });

  test('the polite agent reports that it was interrupted', async () => {
    const given = whenSaid('turn_end', (child) => child.kill('SIGINT'));
    const played = await play(['--script', 'hang-polite', '--no-timestamps'], given);
    expect(recordsOf(played).at(-1)).toEqual({
      t: 'end',
      reason: 'cancelled',
      error: 'interrupted',
      turns: 1,
    });
    expect(played.code).toBe(130);
  });

  for (const name of ['child', 'child-daemon']) {
    test(`${name} leaves a process running and reports its id`, async () => {
      const played = await play(['--script', name]);
      const note = recordsOf(played).find((record) => record.t === 'note');
      const pid = Number(/^pid (\d+)$/.exec(String(note?.text))?.[1]);
      expect([played.code, pid > 1]).toEqual([0, true]);
      process.kill(pid, 'SIGKILL');
    });
  }
});

describe('the tools', () => {
  test('do real work, inside the work folder only', async () => {
    const played = await play(['--script', 'tools']);
    const records = recordsOf(played);
    const answers = records.filter((record) => record.t === 'call_end');
    expect(
      answers.map(({ call, status, exit_code, output }) => [call, status, exit_code, output]),
    ).toEqual([
      ['c1', 'ok', null, 'created skills/greeting/SKILL.md (11 bytes)'],
      ['c2', 'ok', null, 'Say hello.\n'],
      ['c3', 'ok', null, 'modified skills/greeting/SKILL.md (14 bytes)'],
      ['c4', 'ok', 0, 'Say good day.\n'],
      ['c5', 'ok', null, 'skills/greeting/SKILL.md:1:Say good day.'],
      ['c6', 'ok', null, 'skills/greeting/SKILL.md'],
      ['c7', 'ok', null, 'greeting/'],
      ['c8', 'ok', null, 'Say good day.\n'],
      ['c9', 'error', null, 'there is no network here'],
      ['c10', 'error', null, 'there is no network here'],
      ['c11', 'ok', null, 'nothing done'],
      ['c12', 'ok', null, '2 items noted'],
      ['c13', 'error', null, 'nobody is here to answer'],
      ['c14', 'ok', null, 'noted'],
      ['c15', 'ok', null, 'hi'],
      ['c16', 'error', null, 'no such tool: conjure'],
      ['c17', 'error', null, '../outside.txt is outside the work folder'],
    ]);
    expect(readFileSync(join(cwd, 'skills/greeting/SKILL.md'), 'utf8')).toBe('Say good day.\n');
  });

  test('do not follow a link out of the work folder', async () => {
    symlinkSync(folder, join(cwd, 'way-out'));
    const script = join(folder, 'my.yaml');
    const call = '{ tool: write_file, input: { path: way-out/x.txt, text: x } }';
    writeFileSync(script, `steps: [{ calls: [${call}] }]\n`);
    const records = recordsOf(await play(['--script', script]));
    expect(records.find((record) => record.t === 'call_end')?.output).toBe(
      'way-out/x.txt is outside the work folder',
    );
    expect(readdirSync(folder)).not.toContain('x.txt');
  });

  test('the default script runs no existing program', async () => {
    const proof = join(folder, 'proof');
    writeFileSync(join(folder, 'foreign.sh'), `touch ${proof}\n`);
    mkdirSync(join(cwd, 'tacho-demo'));
    symlinkSync(join(folder, 'foreign.sh'), join(cwd, 'tacho-demo', 'greet.sh'));
    const played = await play([]);
    expect([played.code, existsSync(proof)]).toEqual([1, false]);
  });

  test('an unmet expectation fails the agent', async () => {
    const script = join(folder, 'my.yaml');
    const call = '{ tool: run, input: { cmd: exit 2 }, expect: { exit_code: 0 } }';
    writeFileSync(script, `timestamps: false\nsteps: [{ calls: [${call}] }]\n`);
    const played = await play(['--script', script]);
    const error = 'call c1 (run): exit_code is 2, the script expects 0';
    expect(recordsOf(played).at(-1)).toEqual({ t: 'end', reason: 'agent_error', error, turns: 1 });
    expect(played.code).toBe(1);
  });
});

describe('the program', () => {
  test('prints the same bytes for the same script and seed', async () => {
    const tidy = () =>
      readdirSync(cwd).forEach((name) => void rmSync(join(cwd, name), { recursive: true }));
    const first = await play(['--script', 'fixed']);
    tidy();
    expect((await play(['--script', 'fixed'])).bytes.equals(first.bytes)).toBe(true);
    expect(first.bytes.toString()).not.toContain('"at"');
    tidy();
    const seeded = await play(['--seed', 'x']);
    tidy();
    expect((await play(['--seed', 'x'])).bytes.equals(seeded.bytes)).toBe(true);
  });

  verifies('AG-18', 'gets the exact prompt, of any length', async () => {
    const prompts = ['it\'s "quoted" $HOME `x`\r\n\u2028 ąęś 👩‍🚀', 'long '.repeat(1_000_000)];
    const sums = prompts.map((text) => createHash('sha256').update(text).digest('hex'));
    const short = await play(['--script', 'stderr'], { prompt: prompts[0] ?? '' });
    const { text, sha256 } = recordsOf(short)[1] ?? {};
    expect([text, sha256]).toEqual([prompts[0], sums[0]]);
    const long = await play(['--script', 'stderr'], { prompt: prompts[1] ?? '' });
    expect(recordsOf(long)[1]?.text).toBe(`5000000 bytes, sha256 ${sums[1]}`);
  });

  test('keeps a session file that a later run resumes', async () => {
    const args = ['--script', 'subagent', '--session-dir', join(folder, 'kept'), '--resume', 'one'];
    const first = await play(args);
    const kept = () =>
      readFileSync(join(folder, 'kept', 'one.jsonl'), 'utf8')
        .trim()
        .split('\n');
    const shown = recordsOf(first).filter((record) => record.parent === undefined);
    expect(kept().map((line) => JSON.parse(line))).toEqual(shown);
    const below = recordsOf(first).filter((record) => record.parent === 'c3');
    const file = readFileSync(join(folder, 'kept', 'one', 'c3.jsonl'), 'utf8');
    const lines = file.trim().split('\n');
    expect(lines.map((line) => ({ ...JSON.parse(line), parent: 'c3' }))).toEqual(below);
    const second = await play(args);
    expect(kept().length).toBe(2 * shown.length);
    const ids = [...recordsOf(first), ...recordsOf(second)].filter((record) => record.t === 'call');
    expect(new Set(ids.map((record) => record.id)).size).toBe(8);
  });

  test('asks only when the approval mode does not cover the call', async () => {
    const sources = async (mode: string) => {
      const records = recordsOf(await play(['--script', 'denied', '--approve', mode]));
      const decisions = records.filter((record) => record.t === 'decision');
      return decisions.map(({ decision, source }) => `${decision} by ${source}`);
    };
    expect(await sources('default')).toEqual(['deny by user', 'allow by user']);
    expect(await sources('edits')).toEqual(['deny by user', 'allow by mode']);
    expect(await sources('all')).toEqual(['deny by user', 'allow by mode']);
  });

  test('streams every text on request', async () => {
    const records = recordsOf(await play(['--script', 'stderr', '--stream']));
    const deltas = records.filter((record) => record.t === 'text_delta');
    expect(deltas.map((record) => record.text)).toEqual(['Quiet', ' here.']);
  });

  test('reports wrong arguments and scripts', async () => {
    writeFileSync(join(cwd, 'bad.yaml'), 'steps:\n  - say: 5\n');
    const failure = async (...args: string[]) => {
      const { code, stderr, bytes } = await play(args);
      return [code, stderr, bytes.length];
    };
    expect(await failure('--script', 'bad.yaml')).toEqual([
      2,
      'error: bad.yaml:2:5: steps[0].say must be a string\n',
      0,
    ]);
    expect(await failure('--script', 'nowhere')).toEqual([
      2,
      'error: nowhere: no such script; use --list to list the shipped ones\n',
      0,
    ]);
    expect((await failure('--approve', 'never'))[0]).toBe(2);
    expect((await failure('--colour'))[0]).toBe(2);
  });

  test('lists its scripts and its version', async () => {
    const list = (await play(['--list'])).bytes.toString().trim().split('\n');
    expect(list.map((line) => line.split(' ')[0])).toEqual(shippedNames());
    expect((await play(['--version'])).bytes.toString()).toBe('1.0.0\n');
  });

  test('stops when its output is closed', async () => {
    let closed = false;
    const played = await play(['--script', 'flood'], {
      seen: (child) => {
        if (!closed) child.stdout?.destroy();
        closed = true;
      },
    });
    expect(played.code).not.toBe(0);
  });
});
