/** Foreign text in all command output: neither a terminal nor GitHub Actions executes it. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { bin, type Options, usePlace } from './cli.ts';
import { openPty } from './pty.ts';
import { verifies } from './verifies.ts';

const place = usePlace();

/** OSC 52 writes the clipboard, CSI moves, bidi marks reorder; each must be shown as text. */
const EVIL = 'x\u001b]52;c;ZXZpbA==\u0007\u009b31m\u202e\u2066\u2028\u0085\u007f\u061c';
const COMMANDS = '::add-mask::owned\n \t::error::owned ##[set-output name=deploy]owned';
const TEXT = `${EVIL}\n${COMMANDS}\r\n${COMMANDS}`;

const CONTROL =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
/** Commands of the runner, except for an annotation of tacho about a run that did not start. */
const OBEYED = /^\s*::(?!error title=tacho run [^:\n]*::).*owned|##\[/m;

const session = '7e15eb39-6be6-4422-a6f5-9c0868fe7f65';
const message = (content: object[]) => ({
  type: 'assistant',
  session_id: session,
  message: { id: 'm1', type: 'message', role: 'assistant', model: `m${EVIL}`, content, usage: {} },
});

const RECORDS: object[] = [
  { type: 'system', subtype: 'init', cwd: '/w', session_id: session, tools: [], model: `m${EVIL}` },
  message([{ type: 'text', text: TEXT }]),
  message([{ type: 'thinking', thinking: TEXT }]),
  message([{ type: 'tool_use', id: 'c1', name: `Bash${TEXT}`, input: { command: TEXT } }]),
  {
    type: 'user',
    session_id: session,
    message: {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'c1', content: TEXT, is_error: true }],
    },
  },
  {
    type: 'result',
    subtype: 'error',
    is_error: true,
    result: TEXT,
    session_id: session,
    total_cost_usd: 0.1,
    usage: { input_tokens: 1, output_tokens: 1 },
  },
];

let options: Options & { env: Record<string, string> };

/** The agent is a program in PATH that prints the records, and the same text on stderr. */
beforeEach(() => {
  const folder = join(place.folder, 'bin');
  mkdirSync(folder);
  const lines = RECORDS.map((record) => JSON.stringify(record)).join('\n');
  writeFileSync(join(folder, 'stdout'), `${lines}\n${TEXT}\n`);
  writeFileSync(join(folder, 'stderr'), `${TEXT}\n`);
  writeFileSync(
    join(folder, 'claude'),
    `#!/bin/sh\n[ "$1" = --version ] && { echo 9.9.9; exit 0; }\ncat "$0".err >&2 2>/dev/null; cat '${folder}/stderr' >&2; cat '${folder}/stdout'; exit 1\n`,
  );
  chmodSync(join(folder, 'claude'), 0o755);
  const PATH = [folder, dirname(process.execPath), process.env.PATH].join(delimiter);
  options = { env: { PATH, GITHUB_ACTIONS: 'true' } };
});

const run = (...more: string[]) =>
  place.tacho(['run', '--agent', 'claude', ...more, TEXT], { ...options, contract: 'none' });

const ownLines = (text: string) => text.split('\n').filter((line) => !line.startsWith('::'));

test('every command shows foreign text without its control sequences taking effect', async () => {
  const shown: Record<string, string> = {};
  for (const more of [[], ['--stream'], ['--github'], ['--no-github']]) {
    const { stdout, stderr } = await run(...more);
    shown[`run ${more}`] = `${stdout}\n${ownLines(stderr).join('\n')}`;
  }
  const evals = join(place.work, 'e.yaml');
  writeFileSync(
    evals,
    `tests:\n  - id: ${JSON.stringify(`t ${TEXT}`)}\n    input: ${JSON.stringify(TEXT)}\n    assertions:\n      - { type: equals, value: ${JSON.stringify(TEXT)} }\n`,
  );
  const results = join(place.folder, 'results.jsonl');
  const stream = join(place.folder, 'live.jsonl');
  const start = {
    type: TEXT,
    timestamp: TEXT,
    session_id: TEXT,
    message_id: TEXT,
    seq: 7,
    data: {},
  };
  writeFileSync(stream, `${JSON.stringify(start)}\n${JSON.stringify({ ...start, [TEXT]: 1 })}\n`);
  for (const args of [
    ['runs', 'list'],
    ['runs', 'show', 'last'],
    ['runs', 'verify', 'last'],
    ['runs', 'stats'],
    ['show', 'last', '--no-pager', '--full', '--thinking'],
    ['replay', 'last'],
    ['agents', 'claude'],
    ['doctor', '--state-dir', join(place.work, `s${TEXT.replaceAll('/', '')}`)],
    ['drift', 'claude', join(place.folder, 'bin', 'stdout')],
    ['validate', '--format', 'live', stream],
    ['validate', '--format', 'run-event', join(place.folder, 'bin', 'stdout')],
    ['eval', evals, '--agent', 'claude', '--no-github', '--results', results],
    ['eval', evals, '--agent', 'claude'],
  ]) {
    const { stdout, stderr } = await place.tacho(args, options);
    shown[args.join(' ')] = ownLines(`${stdout}\n${stderr}`).join('\n');
  }
  shown.results = readFileSync(results, 'utf8');
  expect(shown.results).toContain('\\u009b');
  for (const [command, text] of Object.entries(shown)) {
    expect(text, command).not.toMatch(CONTROL);
    expect(text, command).not.toMatch(OBEYED);
  }
  expect(shown['runs show last']).toContain('\\u{1b}]52;c;ZXZpbA==');
  expect(shown['runs show last']).toContain(':\\u{3a}add-mask::owned');
});

test('our own annotations are the only commands, each on one line', async () => {
  const { stderr, stdout } = await run('--github');
  const commands = stderr.split('\n').filter((line) => line.startsWith('::'));
  expect(commands.length).toBeGreaterThan(0);
  for (const line of commands) {
    expect(line).toMatch(/^::(error|warning|notice) [^:]*::/);
    expect(line).not.toMatch(CONTROL);
    expect(line).not.toContain('##[');
  }
  expect(stdout).not.toMatch(/^::/m);
});

verifies(
  ['RE-3', 'ST-10'],
  'JSON carries the same text in harmless characters, live and from the record',
  async () => {
    const events = join(place.folder, 'events.jsonl');
    const live = await run('--output', 'json', '--stream', '--events', events);
    const again = await place.tacho(['replay', 'last', '--output', 'json'], options);
    expect(again.stdout).toBe(live.stdout);
    const printed: Record<string, string> = {
      run: live.stdout,
      events: readFileSync(events, 'utf8'),
    };
    for (const args of [
      ['runs', 'list', '--json'],
      ['runs', 'show', 'last', '--json'],
      ['show', 'last', '--json'],
      ['drift', 'claude', '--json', join(place.folder, 'bin', 'stdout')],
      ...['events', 'run-event', 'live', 'outcome', 'transcript', 'agentv', 'atif'].map((to) => [
        'convert',
        '--agent',
        'claude',
        '--to',
        to,
        join(place.folder, 'bin', 'stdout'),
      ]),
    ])
      printed[args.join(' ')] = (await place.tacho(args, options)).stdout;
    for (const [command, text] of Object.entries(printed)) {
      expect(text, command).not.toMatch(CONTROL);
      expect(text, command).not.toContain('##[');
      if (!command.startsWith('drift')) expect(text, command).toContain('\\u009b');
    }
    expect(JSON.parse(printed['runs show last --json'] as string).message).toBe(TEXT);
  },
);

test('errors show foreign names and values safely, in every command', async () => {
  const named = join(place.work, `f${EVIL.replace('\u2028', '')}\n::error::owned.yaml`);
  writeFileSync(named, `tests: ${JSON.stringify(TEXT)}`);
  writeFileSync(
    join(place.work, 'tacho.yaml'),
    `targets: {t: {agent: claude, command: "nope${JSON.stringify(TEXT).slice(1, -1)}"}, ${JSON.stringify(TEXT)}: 1}\n`,
  );
  for (const args of [
    ['run', '--target', 't', 'hi'],
    ['run', '--target', TEXT, 'hi'],
    ['run', '--agent', TEXT, 'hi'],
    ['run', TEXT.replace('x', '--'), 'hi'],
    ['eval', named],
    ['show', named],
    ['runs', 'show', TEXT],
    ['convert', '--agent', 'claude', `${named}.none`],
    ['import', 'claude', `${named}.none`],
    ['validate', `${named}.none`],
    ['tail', '--to', TEXT],
    ['schema', TEXT],
    ['completion', TEXT],
    [TEXT],
  ]) {
    const { stdout, stderr, code } = await place.tacho(args, options);
    expect(code, args.join(' ')).not.toBe(0);
    expect(`${stdout}\n${stderr}`, args.join(' ')).not.toMatch(CONTROL);
    expect(`${stdout}\n${stderr}`, args.join(' ')).not.toMatch(OBEYED);
  }
});

test('the final text is exact in a file, and harmless when printed', async () => {
  const path = join(place.folder, 'final');
  await run('--output', 'json', '--final-output', path);
  expect(readFileSync(path, 'utf8')).toBe(TEXT);
  // Node gives its children sockets, which have no path to open.
  const under = ['sh', '-c', '"$@" | cat', 'sh'];
  const args = ['run', '--agent', 'claude', '--output', 'json', '--final-output', '/dev/stdout'];
  const { stdout } = await place.tacho([...args, '--junit', '/dev/stdout', TEXT], {
    ...options,
    under,
    contract: 'none',
  });
  expect(stdout).toContain('\n:\\u{3a}add-mask::owned');
  expect(stdout).toContain('\n:&#58;add-mask::owned');
  expect(stdout).not.toMatch(CONTROL);
  expect(stdout).not.toMatch(OBEYED);
});

test('a terminal gets our colours and no other sequence, also through the pager', async () => {
  await run();
  for (const [args, pager] of [
    [['replay', 'last'], 'cat'],
    [['show', 'last', '--full'], 'cat >&2; cat'],
  ] as const) {
    const env = ['env', `TACHO_HOME=${place.state}`, `PAGER=${pager}`, 'LANG=C.UTF-8'];
    const pty = openPty([...env, process.execPath, bin, ...args], { cols: 100, rows: 30 });
    try {
      await pty.ended;
      const rest = pty
        .bytes()
        .replace(/\u001b\[\d+m/g, '')
        .replaceAll('\r\n', '\n');
      expect(pty.bytes()).toContain('\u001b[1m');
      expect(rest).toContain(']52;c;ZXZpbA==');
      expect(rest).not.toMatch(CONTROL);
    } finally {
      pty.close();
    }
  }
});
