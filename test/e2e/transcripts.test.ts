/** Transcripts and logs: the readable files of every run, and how they are read. */
import {
  appendFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { record } from '../../src/index.ts';
import { checkTranscript } from '../../src/model/generated/checks.ts';
import { call, transcript } from '../build-transcript.ts';
import { chaosAgent, played } from '../chaos-agent.ts';
import { bin, demo, filesBelow, fixture, kill, type Row, root, usePlace } from './cli.ts';
import { openPty } from './pty.ts';
import { verifies } from './verifies.ts';

const place = usePlace({ trust: true });
const { tacho } = place;
const testdata = (agent: string, scenario: string) =>
  join(root, 'src/agents', agent, 'testdata', scenario);
const recording = (agent: string, scenario: string) =>
  join(testdata(agent, scenario), 'stdout.jsonl');

const SECRET = 'inherited-value-7Qz81mKpXv';

function script(steps: object[]): string {
  const path = join(place.folder, 'script.yaml');
  writeFileSync(path, JSON.stringify({ steps }));
  return path;
}

const twoSteps = () =>
  script([
    {
      think: 'I wonder.',
      say: 'I look.',
      calls: [{ tool: 'run', input: { cmd: 'printenv MY_API_TOKEN; exit 3' } }],
    },
    { say: `It is ${SECRET}.` },
  ]);

const transcripts = (agent: string) => join(place.state, 'transcripts', agent);
const filesOf = (agent: string) => {
  const folder = transcripts(agent);
  return existsSync(folder) ? readdirSync(folder).sort() : [];
};
const only = (agent: string): string => {
  const [name = ''] = filesOf(agent);
  return join(transcripts(agent), name);
};
const lastId = async (): Promise<string> =>
  (await tacho(['runs', 'list', '--json'])).records[0].run_id;

function target(more: string): void {
  const command = JSON.stringify([process.execPath, fixture('prints-file.mjs')]);
  const text = `targets:\n  toy:\n    agent: claude\n    command: ${command}\n${more}`;
  writeFileSync(join(place.work, 'tacho.yaml'), text);
}

const runTarget = (file: string, env: Record<string, string> = {}) =>
  tacho(['run', '--target', 'toy', '--output', 'json', 'hello'], {
    env: { FILE: file, ...env },
  });
const logs = () => filesBelow(join(place.state, 'logs'));

verifies(
  'TR-1',
  'a run writes one line with all texts and calls, readable by its owner only',
  async () => {
    const run = await tacho(demo(twoSteps()), { env: { MY_API_TOKEN: SECRET } });
    expect(run.code).toBe(0);
    const run_id = await lastId();
    expect(filesOf('demo')).toEqual([`${run_id}.transcript.jsonl`]);
    const path = only('demo');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(transcripts('demo')).mode & 0o777).toBe(0o700);
    const text = readFileSync(path, 'utf8');
    expect([text.indexOf('\n'), text.includes(SECRET)]).toEqual([text.length - 1, false]);
    const made = JSON.parse(text);
    expect(checkTranscript(made)).toBe(true);
    expect(made).toMatchObject({ run_id, agent: 'demo', source: { kind: 'run' } });
    expect(
      made.messages.map(({ role, content, thinking, tool_calls }: Row) => [
        role,
        content.replace(/\[REDACTED:.*?\]/, 'MARK'),
        thinking,
        tool_calls.map((call: Row) => [call.name, call.status, call.exit_code]),
      ]),
    ).toEqual([
      ['user', 'please', null, []],
      ['assistant', 'I look.', 'I wonder.', [['Bash', 'error', 3]]],
      ['assistant', 'It is MARK.', null, []],
    ]);
    expect((await tacho(['show', 'last', '--json'])).stdout).toBe(text);
  },
);

verifies('TR-1', 'a recording of SDK messages writes one too', async () => {
  const text = readFileSync(recording('claude', 'read'), 'utf8').trimEnd();
  const messages = text.split('\n').map((line) => JSON.parse(line));
  const options = { prompt: 'Read it.', stateDir: place.state };
  const { run_id } = await record({ agent: 'claude', messages, ...options }).outcome;
  const made = JSON.parse(readFileSync(only('claude'), 'utf8'));
  expect(made).toMatchObject({ run_id, source: { kind: 'record' } });
  expect(made.messages.map(({ content }: Row) => content)).toEqual([
    'Read it.',
    'I will read it.',
    '',
    'It defines greet().',
  ]);
});

verifies('TR-1', 'the transcript of an import is made on first use', async () => {
  cpSync(join(testdata('claude', 'skill'), 'session/.claude'), join(place.folder, '.claude'), {
    recursive: true,
  });
  expect((await tacho(['import', 'claude', '--all'])).code).toBe(0);
  expect((await tacho(['runs', 'verify', 'last'])).code).toBe(0);
  expect((await tacho(['runs', 'reindex'])).code).toBe(0);
  expect(existsSync(transcripts('claude'))).toBe(false);
  const asked = await tacho(['show', 'last', '--json']);
  const test = { id: 'any', input: 'x', assertions: [{ type: 'contains', value: 'e' }] };
  writeFileSync(join(place.work, 'any.yaml'), JSON.stringify({ tests: [test] }));
  expect((await tacho(['eval', 'any.yaml', '--run', 'last'])).code).toBe(0);
  expect(readFileSync(only('claude'), 'utf8')).toBe(asked.stdout);
  expect((await tacho(['runs', 'verify', 'last'])).code).toBe(0);
  const made = JSON.parse(readFileSync(only('claude'), 'utf8'));
  expect(checkTranscript(made)).toBe(true);
  expect(made.source.kind).toBe('import');
  expect(made.source.path).toMatch(/\.jsonl$/);
  expect(made.skills_used).toEqual(['greeting-style']);
});

verifies(
  'TR-1',
  'a transcript is checked, made again when it is lost, and removed with its run',
  async () => {
    await tacho(demo(twoSteps()));
    const path = only('demo');
    const text = readFileSync(path, 'utf8');
    expect((await tacho(['runs', 'verify', 'last'])).code).toBe(0);
    appendFileSync(path, ' ');
    const changed = await tacho(['runs', 'verify', 'last']);
    expect([changed.code, changed.stdout]).toEqual([
      1,
      expect.stringContaining('does not match the journal'),
    ]);
    rmSync(path);
    expect((await tacho(['runs', 'verify', 'last'])).stdout).toContain('its transcript is missing');
    expect((await tacho(['show', 'last', '--json'])).stdout).toBe(text);
    expect((await tacho(['runs', 'reindex'])).code).toBe(0);
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect((await tacho(['runs', 'rm', await lastId()])).code).toBe(0);
    expect(filesOf('demo')).toEqual([]);
  },
);

verifies('TR-1', 'labels set by hand do not make a run an import', async () => {
  const labels = ['--label', 'imported=x', '--label', `imported_sha256=${'0'.repeat(64)}`];
  await tacho(demo(twoSteps(), ...labels));
  const path = only('demo');
  const text = readFileSync(path, 'utf8');
  rmSync(path);
  const { code, stdout } = await tacho(['runs', 'verify', 'last']);
  expect([code, stdout]).toEqual([1, expect.stringContaining('its transcript is missing')]);
  expect((await tacho(['runs', 'reindex'])).code).toBe(0);
  expect(readFileSync(path, 'utf8')).toBe(text);
});

verifies(
  'TR-1',
  'a run with a killed recorder has its transcript and its log after recovery',
  async () => {
    const steps = [
      { say: 'I wait.', calls: [{ tool: 'run', input: { cmd: 'sleep 2; echo waited' } }] },
      { say: 'Done.' },
    ];
    const args = JSON.stringify(played(script(steps)));
    const text = `targets:\n  toy:\n    agent: demo\n    command: ${chaosAgent}\n    stream_log: raw\n    args: ${args}\n`;
    writeFileSync(join(place.work, 'tacho.yaml'), text);
    await tacho(['run', '--target', 'toy', '--output', 'json', 'wait'], {
      contract: 'cut',
      seen: (sofar, child) => {
        if (sofar.includes('tool_exec_started')) kill(child.pid as number);
      },
    });
    expect(filesOf('demo')).toEqual([]);
    expect((await tacho(['runs', 'recover'])).stdout).toContain('recovered, ok');
    expect((await tacho(['runs', 'verify', 'last'])).code).toBe(0);
    const made = JSON.parse(readFileSync(only('demo'), 'utf8'));
    expect(made.messages.map(({ content }: Row) => content)).toEqual(['wait', 'I wait.', 'Done.']);
    expect(logs()[0]?.bytes.toString('utf8').trimEnd().split('\n').length).toBeGreaterThan(5);
  },
);

verifies('TR-2', 'without stream_log there is no log', async () => {
  target('');
  expect((await runTarget(recording('claude', 'read'))).code).toBe(0);
  expect(logs()).toEqual([]);
  expect(filesOf('claude').length).toBe(1);
});

verifies('TR-2', 'a raw log has the agent’s exact bytes, and nothing else', async () => {
  target('    stream_log: raw\n');
  const bytes = Buffer.concat([
    readFileSync(recording('claude', 'read')),
    Buffer.from('no json \xff\xfe\r\n\n', 'latin1'),
    Buffer.from('{"torn":'),
  ]);
  const file = join(place.folder, 'agent-output');
  writeFileSync(file, bytes);
  await runTarget(file);
  const [log, ...more] = logs();
  expect(more).toEqual([]);
  expect(log?.path).toMatch(/logs\/claude\/r_[0-9a-z]{26}\.log$/);
  expect(log?.bytes.equals(bytes)).toBe(true);
  expect(statSync(log?.path ?? '').mode & 0o777).toBe(0o600);
  await tacho(['runs', 'rm', await lastId()]);
  expect(logs()).toEqual([]);
});

verifies(
  'TR-2',
  'a raw log has marks in place of secrets, even escaped or split over records',
  async () => {
    target('    stream_log: raw\n');
    const secret = 'ghp_1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R';
    const delta = (text: string) =>
      JSON.stringify({
        type: 'stream_event',
        event: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
      });
    const pieces = ['Here: ', ...(secret.match(/.{1,5}/g) ?? []), ' was it.'].map(delta);
    const env = { MY_API_TOKEN: 'quote"and\\slash-3141592653' };
    const escaped = JSON.stringify({ type: 'user', note: env.MY_API_TOKEN });
    const clean = readFileSync(recording('claude', 'text'), 'utf8').trimEnd().split('\n');
    const file = join(place.folder, 'agent-output');
    writeFileSync(file, `${[...clean, ...pieces, escaped, `plain ${secret}`].join('\n')}\n`);
    await runTarget(file, env);
    const text = logs()[0]?.bytes.toString('utf8') ?? '';
    const lines = text.trimEnd().split('\n');
    expect(lines.slice(0, clean.length)).toEqual(clean);
    expect(lines.length).toBe(clean.length + pieces.length + 2);
    expect(text).not.toContain(escaped.slice(24, -2));
    expect(lines.at(-1)).toMatch(/^plain \[REDACTED:\w+:[0-9a-f]{8}\]$/);
    const deltas = lines.slice(clean.length, -2).map((line) => JSON.parse(line).event.delta.text);
    expect(secret.includes(deltas.slice(1, -1).join(''))).toBe(false);
    for (const piece of secret.match(/.{1,5}/g) ?? []) expect(deltas).not.toContain(piece);
  },
);

verifies('TR-2', 'a summary log has readable lines', async () => {
  target('    stream_log: summary\n');
  await runTarget(recording('claude', 'bash-fail'));
  const text = logs()[0]?.bytes.toString('utf8') ?? '';
  expect(text).toContain('It failed with exit code 3; trying another.');
  expect(text).toMatch(/✗ Bash .*exit 3/);
  expect(text).not.toContain('\u001b');
});

verifies('TR-3', 'log_format works like stream_log, with one warning that names it', async () => {
  target('    log_format: json\n');
  const file = recording('claude', 'read');
  const run = await runTarget(file);
  expect(run.stderr).toBe(
    'warning: targets.toy.log_format is deprecated: write "stream_log: raw" instead\n',
  );
  expect(logs()[0]?.bytes.equals(readFileSync(file))).toBe(true);
  target('    log_format: summary\n');
  expect((await runTarget(file)).stderr).toContain('"stream_log: summary"');
  expect(logs().length).toBe(2);
});

verifies(
  'TR-3',
  'log_format together with stream_log, or with an unknown value, is an error',
  async () => {
    target('    log_format: json\n    stream_log: raw\n');
    const both = await runTarget(recording('claude', 'read'));
    expect([both.code, both.stderr]).toEqual([
      2,
      expect.stringContaining(
        'tacho.yaml:5:5: targets.toy.log_format is the old name of stream_log: give stream_log alone',
      ),
    ]);
    target('    stream_log: everything\n');
    const wrong = await runTarget(recording('claude', 'read'));
    expect(wrong.stderr).toContain('targets.toy.stream_log must be one of false, summary, raw');
    expect(filesOf('claude')).toEqual([]);
  },
);

verifies('TR-5', 'convert writes transcripts, AgentV rows and ATIF', async () => {
  const file = recording('codex', 'read');
  const convert = async (to: string, ...more: string[]) => {
    const result = await tacho(['convert', '--agent', 'codex', '--to', to, ...more, file]);
    expect([result.code, result.stderr]).toEqual([0, '']);
    return result.records;
  };
  const [made, ...others] = await convert('transcript');
  expect([checkTranscript(made), others]).toEqual([true, []]);
  expect(made.source).toEqual({ kind: 'convert', path: file, cwd: null });
  const rows = await convert('agentv', '--test-id', 'reads');
  expect(rows.map(({ test_id, target, content }) => [test_id, target, content])).toEqual([
    ['reads', 'codex', 'I will read the file.'],
    ['reads', 'codex', 'It has three lines.'],
  ]);
  expect(rows[0].tool_calls).toMatchObject([{ tool: 'Read', id: 'item_1', status: 'ok' }]);
  const [trajectory] = await convert('atif');
  expect(trajectory).toMatchObject({ schema_version: 'ATIF-v1.7', agent: { name: 'codex' } });
  expect(trajectory.steps.map((step: Row) => step.step_id)).toEqual([1, 2]);
});

test('texts beyond ASCII are the same in every format', async () => {
  const made = await tacho([
    'convert',
    '--agent',
    'pi',
    '--to',
    'transcript',
    recording('pi', 'text'),
  ]);
  const atif = await tacho(['convert', '--agent', 'pi', '--to', 'atif', recording('pi', 'text')]);
  expect(made.records[0].final_output).toContain('日本語 ✓');
  expect(made.records[0].messages.at(-1).content).toBe(made.records[0].final_output);
  expect(atif.records[0].steps.at(-1).message).toBe(made.records[0].final_output);
});

const long = () =>
  script([
    {
      think: 'A secret thought.',
      say: 'I count \u001b[2J.',
      calls: [
        { tool: 'run', input: { cmd: 'seq 1 500' } },
        { tool: 'write_file', input: { path: 'out.txt', text: 'word '.repeat(100) } },
      ],
    },
    { say: 'Done.' },
  ]);

test('show folds long texts and says how much is left', async () => {
  await tacho(demo(long()));
  const { stdout, code } = await tacho(['show', '--last']);
  expect(code).toBe(0);
  expect(stdout).toContain('user\n  please\n');
  expect(stdout).toContain('  I count \\u{1b}[2J.\n');
  expect(stdout).toMatch(/ 8\n.*\.\.\. 492 more lines, 1\.9k characters \(--full\)\n/);
  expect(stdout).toMatch(/\(thinking, 17 characters: --thinking\)/);
  expect(stdout).not.toContain('A secret thought.');
  expect(stdout).not.toContain('\u001b');
  expect(stdout).toMatch(/text: 500 characters \(--full shows it\)|content: 500 characters/);
  expect(stdout).toMatch(/^run {7}r_\w{26}\nagent {5}demo /);
  expect(stdout.trimEnd().split('\n').at(-1)).toBe('ok - 2 steps - 2 calls');
});

test('show --full, --thinking and --tool show more, or only one tool', async () => {
  await tacho(demo(long()));
  const full = (await tacho(['show', 'last', '--full', '--thinking'])).stdout;
  expect(full).toContain('\n      500\n');
  expect(full).toContain('A secret thought.');
  expect(full).toContain('"cmd": "seq 1 500"');
  const one = (await tacho(['show', 'last', '--tool', 'Bash'])).stdout;
  expect(one).toContain('Bash seq 1 500');
  expect([one.includes('Write'), one.includes('Done.')]).toEqual([false, false]);
  expect((await tacho(['show', 'last', '--tool', 'Nope'])).stdout).toContain('No calls of Nope.');
});

test('show takes a beginning of an id or a transcript file, and says what it does not find', async () => {
  await tacho(demo(twoSteps()));
  const id = await lastId();
  const shown = (await tacho(['show', id.slice(0, 20)])).stdout;
  expect(shown).toContain('I look.');
  // A transcript has no warnings of the outcome, such as the one about a folder without git.
  const without = shown.replace(/^warning .*\n/gm, '');
  expect((await tacho(['show', only('demo')])).stdout).toBe(without);
  const none = await tacho(['show', 'r_zzz']);
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('no run "r_zzz"')]);
  writeFileSync(join(place.work, 'broken.jsonl'), '{"schema_version":"tacho.transcript.v1"}\n');
  const broken = await tacho(['show', 'broken.jsonl']);
  expect([broken.code, broken.stderr]).toEqual([
    2,
    expect.stringContaining('broken.jsonl:1: is not a transcript'),
  ]);
});

test('show without a name is the last run; --at begins at a step, a call or an event', async () => {
  await tacho(demo(twoSteps(), '--label', 'build=7'));
  const all = (await tacho(['show'])).stdout;
  expect(all).toContain('labels    build=7\n');
  expect(all).toContain('I look.');
  const [requested] =
    readFileSync(only('demo'), 'utf8').match(/"tool_calls":\[\{"id":"[^"]+/) ?? [];
  const call = requested?.split('"').at(-1) as string;
  const at = async (point: string) => tacho(['show', '--at', point]);
  for (const point of ['1', call]) {
    const shown = (await at(point)).stdout;
    expect([shown.includes('\nuser\n'), shown.includes('I look.')]).toEqual([false, true]);
  }
  for (const point of ['2', 'seq:9999', '3', 'nope']) {
    const { code, stdout, stderr } = await at(point);
    if (point === '2') {
      expect([code, stdout.includes('I look.'), stdout.includes('It is ')]).toEqual([
        0,
        false,
        true,
      ]);
      expect(stdout).toContain('(2 earlier messages not shown)');
    } else expect([code, stderr]).toEqual([2, expect.stringContaining(`--at ${point}: `)]);
  }
  expect((await at('seq:2')).code).toBe(0);
  const summary = (await tacho(['show', '--summary'])).stdout;
  expect(summary).toBe((await tacho(['runs', 'show', 'last'])).stdout);
  expect([summary.includes('1 failed'), summary.includes('I look.')]).toEqual([true, false]);
  const outcome = (await tacho(['show', '--summary', '--json'])).stdout;
  expect(outcome).toBe((await tacho(['runs', 'show', 'last', '--json'])).stdout);
});

test('show refuses a transcript that is nested too deep, and names its line', async () => {
  const path = join(place.work, 'deep.jsonl');
  const line = JSON.stringify(transcript([call('Bash', { a: 'DEEP' })]));
  const deep = (depth: number) => line.replace('"DEEP"', '['.repeat(depth) + ']'.repeat(depth));
  writeFileSync(path, `${deep(200)}\n`);
  expect((await tacho(['show', path, '--json'])).code).toBe(0);
  writeFileSync(path, `${deep(1)}\n${deep(20_000)}\n`);
  for (const more of [['--json'], []]) {
    const { code, stderr } = await tacho(['show', path, ...more]);
    expect([code, stderr]).toEqual([2, `error: ${path}:2: nests deeper than 220\n`]);
  }
});

test('show uses the pager on a terminal, and not with --no-pager', async () => {
  await tacho(demo(twoSteps()));
  const shown = async (...more: string[]) => {
    const env = [`TACHO_HOME=${place.state}`, 'PAGER=sed s/^/paged:/', 'LC_ALL=C.UTF-8'];
    const pty = openPty(['env', ...env, process.execPath, bin, 'show', 'last', ...more]);
    const { code } = await pty.ended;
    const lines = pty.lines().join('\n');
    pty.close();
    return [code, lines] as const;
  };
  const [code, paged] = await shown();
  expect([code, /^paged:.*I look\.$/m.test(paged)]).toEqual([0, true]);
  const [, plain] = await shown('--no-pager');
  expect([plain.includes('paged:'), plain.includes('I look.')]).toEqual([false, true]);
});
