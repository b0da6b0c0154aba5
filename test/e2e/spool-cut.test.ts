/** Redirections to /dev/stdout and /dev/stderr: no shell output is lost, and any other loss is recorded. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { prepareRun } from '../../src/app/run/request.ts';
import { startRun } from '../../src/app/run/run.ts';
import { drainsFor, settleDrains } from '../../src/capture/source/drain.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import type { Event } from '../../src/model/event.ts';
import { finished, isRunning, kill, linesOf, type Row, spools, until, usePlace } from './cli.ts';
import { can } from './needs.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const { tacho } = place;
const linux = existsSync('/proc/self/stat');

const S = '"session_id":"7e15eb39-6be6-4422-a6f5-9c0868fe7f65"';
const INIT = `{"type":"system","subtype":"init","cwd":"/w",${S},"tools":[],"model":"m"}`;
const use = (n: number) =>
  `{"type":"assistant","message":{"id":"m${n}","role":"assistant","model":"m","content":[{"type":"tool_use","id":"c${n}","name":"Bash","input":{"command":"echo ${n}"}}],"usage":{}},${S}}`;
const answer = (n: number) =>
  `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"c${n}","type":"tool_result","content":"out ${n}"}]},${S}}`;
const RESULT = `{"type":"result","subtype":"success","is_error":false,"result":"done","stop_reason":"end_turn",${S},"total_cost_usd":0.1,"usage":{"input_tokens":1,"output_tokens":1}}`;
const CALLS = [1, 2, 3, 4, 5, 6].flatMap((n) => [use(n), answer(n)]);
const says = (lines: readonly string[], where = '') =>
  lines.map((line) => `printf '%s\\n' '${line}'${where}`).join('\n');
const ERRORS = Array.from({ length: 10 }, (_, n) => `plain stderr line ${n + 1}`);

/** Adds a program to a folder that is first on the PATH. */
function program(text: string, name = 'claude'): Record<string, string> {
  const folder = join(place.folder, 'bin');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), text);
  chmodSync(join(folder, name), 0o755);
  return { PATH: [folder, dirname(process.execPath), process.env.PATH].join(delimiter) };
}

const events = () => join(place.folder, 'events.jsonl');
const RUN = () => ['run', '--agent', 'claude', '--output', 'json', '--events', events(), 'p'];

interface Played {
  calls: number;
  stderr: string[];
  problems: Row[];
  grade: string;
  gaps: string[];
}

function played(records: Row[]): Played {
  const all = linesOf(readFileSync(events(), 'utf8'));
  const { grade, gaps } = finished({ records } as never).completeness;
  return {
    calls: records.filter((record) => record.type === 'tool_exec_finished').length,
    stderr: all
      .filter((event) => event.kind === 'notice' && event.data.code === 'stderr')
      .flatMap((event) => event.data.text.split('\n')),
    problems: all.filter((event) => event.kind === 'problem').map((event) => event.data),
    grade,
    gaps,
  };
}

async function play(text: string): Promise<Played> {
  const { records } = await tacho(RUN(), { env: program(text) });
  return played(records);
}

const script = (cut: string, interpreter = '/bin/sh') =>
  [`#!${interpreter}`, says(ERRORS, ' >&2'), says([INIT, ...CALLS]), cut, says([RESULT])].join(
    '\n',
  );

for (const [what, cut, noted] of [
  ['echo > /dev/stderr', "echo 'note' > /dev/stderr", ['note']],
  ['echo > /dev/stdout', "echo '' > /dev/stdout", []],
  ['tee /dev/stderr', "echo 'note' | tee /dev/stderr > /dev/null", ['note']],
  ['tee /dev/stdout', "echo '' | tee /dev/stdout > /dev/null", []],
  ['cat > /dev/stdout', "echo '' | cat > /dev/stdout", []],
  ['> /proc/self/fd/1', "echo '' > /proc/self/fd/1", []],
  [
    'a writer with its own file position',
    `(echo ''; sleep 0.2; echo '') > /dev/stdout &\n${says(ERRORS, ' >&2')}\nwait`,
    ERRORS,
  ],
  [
    'a writer of stderr with its own file position',
    "(echo 'a'; sleep 0.2; echo 'b') > /dev/stderr",
    ['a', 'b'],
  ],
  ['an empty redirection', ': > /dev/stderr; : > /dev/stdout', []],
] as const)
  verifies('ST-3', `a shell agent loses no byte through ${what}`, async () => {
    expect(await play(script(cut))).toEqual({
      calls: 6,
      stderr: [...ERRORS, ...noted],
      problems: [],
      grade: 'complete',
      gaps: [],
    });
  });

for (const interpreter of ['/usr/bin/env bash', '/usr/bin/env -S bash -e', '/bin/bash'])
  test(`#!${interpreter} is recognised as a shell`, async () => {
    if (!can('bash', 'redirections of bash')) return;
    const { stderr, grade } = await play(script('echo note > /dev/stderr', interpreter));
    expect([stderr, grade]).toEqual([[...ERRORS, 'note'], 'complete']);
  });

test('a script without a shebang line is run by the shell, and loses nothing', async () => {
  const text = script('echo note > /dev/stderr').split('\n').slice(1).join('\n');
  const { stderr, grade } = await play(text);
  expect([stderr, grade]).toEqual([[...ERRORS, 'note'], 'complete']);
});

test('1 MiB from a shell agent that exits immediately is recorded', async () => {
  const text = script(`i=0; while [ $i -lt 1024 ]; do printf '%1023d\\n' $i >&2; i=$((i+1)); done`);
  const { stderr, grade } = await play(text);
  expect([stderr.length, Number(stderr.at(-1)), grade]).toEqual([1034, 1023, 'complete']);
});

/** A Node program that has made its stderr non-blocking once the file `ready` exists, and keeps running. */
const NONBLOCKING = `'${process.execPath}' -e 'console.error("node"); fs.writeFileSync("ready", ""); setInterval(() => {}, 999)' & node=$!`;
const LINES = `i=0; while [ $i -lt 300 ]; do printf '%0500d\\n' $i; i=$((i+1)); done > lines`;

verifies('ST-3', 'a Node program in a shell agent costs other programs no output', async () => {
  if (!linux) return;
  const wait = 'while [ ! -e ready ]; do sleep 0.05; done; sleep 0.5';
  const text = script(
    [NONBLOCKING, LINES, wait, 'cat lines lines lines lines lines lines >&2', 'kill $node'].join(
      '\n',
    ),
  );
  const { stderr, ...rest } = await play(text);
  expect(stderr).toHaveLength(ERRORS.length + 1801);
  expect(rest).toEqual({ calls: 6, problems: [], grade: 'complete', gaps: [] });
});

verifies('ST-3', 'output that a non-blocking pipe may have refused is a problem', async () => {
  if (!linux) return;
  const write = 'until [ -e ready ] && [ $((n+=1)) -gt 20 ]; do cat lines >&2; sleep 0.02; done';
  const text = script([LINES, NONBLOCKING, 'n=0', write, 'kill $node'].join('\n'));
  const { problems, grade } = await play(text);
  expect(problems).toEqual([
    expect.objectContaining({ code: 'output_refused', detail: expect.stringContaining('stderr') }),
  ]);
  expect(grade).toBe('complete');
});

verifies('ST-3', 'a pipe that was made non-blocking just before the end is a problem', async () => {
  if (!linux) return;
  const [stdout_path, stderr_path, text] = ['stdout', 'stderr', 'text'].map((name) =>
    join(place.folder, name),
  ) as [string, string, string];
  for (const path of [stdout_path, stderr_path]) writeFileSync(path, '');
  writeFileSync(text, `${'0'.repeat(1023)}\n`.repeat(1024));
  const plan = { command: '/bin/sh', args: [], env: {}, cwd: '/', stdin_path: null };
  const drains = drainsFor({ ...plan, stdout_path, stderr_path }) ?? [];
  // All of it between two checks of the pipe: this process does nothing else meanwhile.
  const node = `'${process.execPath}' -e 'process.stderr; process.kill(process.pid, "SIGKILL")'`;
  const [, err = 0] = drains.map(({ pipe }) => pipe.fd);
  spawnSync('/bin/sh', ['-c', `${node}; cat '${text}' >&2`], { stdio: ['ignore', 'ignore', err] });
  for (const { pipe } of drains) pipe.close();
  const { signal } = new AbortController();
  const problems = await settleDrains(drains, { stdout: signal, stderr: signal });
  expect(problems.map(({ data }) => data.code)).toEqual(['output_refused']);
});

/** A Node agent with files as stdout and stderr: it writes, a shell that it starts truncates, it continues to write. */
const nodeAgent = (cut: string, more = '') => `#!${process.execPath}
const { writeSync } = require('node:fs');
const { execFileSync } = require('node:child_process');
const say = (fd, lines) => { for (const line of lines) writeSync(fd, line + '\\n'); };
say(2, ${JSON.stringify(ERRORS)});
say(1, ${JSON.stringify([INIT, ...CALLS])});
execFileSync('/bin/sh', ['-c', ${JSON.stringify(cut)}], { stdio: ['ignore', 'inherit', 'inherit'] });
${more}
say(1, ${JSON.stringify([RESULT])});
`;

for (const [what, cut, more] of [
  ['> /dev/stdout', "echo '' > /dev/stdout", ''],
  ['> /dev/stderr', 'echo note > /dev/stderr', ''],
  [
    '> /dev/stderr, and a file that has grown again',
    'echo note > /dev/stderr',
    `say(2, Array.from({ length: 100 }, (_, i) => 'later line ' + i));`,
  ],
  ['> /dev/stdout, after all of it was read', "sleep 1; echo '' > /dev/stdout", ''],
  [
    '> /dev/stdout in the middle of a line',
    "printf '{\"type\":'; sleep 1; echo '' > /dev/stdout",
    '',
  ],
] as const)
  verifies('ST-3', `a loss in the output of any other agent is recorded: ${what}`, async () => {
    if (!linux) return;
    const { problems, grade, gaps } = await play(nodeAgent(cut, more));
    expect(problems.map(({ code }) => code)).toContain('spool_truncated');
    expect([grade, gaps]).toEqual(['partial', expect.arrayContaining(['spool_truncated:1'])]);
  });

test('a line torn by a truncation is in the problem, with its size', async () => {
  if (!linux) return;
  const cut = `printf '{"type":"half'; sleep 1; echo '' > /dev/stdout`;
  const { problems, calls } = await play(nodeAgent(cut));
  expect(problems.find(({ code }) => code === 'spool_truncated')).toMatchObject({
    bytes: 13,
    excerpt: '{"type":"half',
    detail: expect.stringContaining('unread bytes are lost'),
  });
  expect(calls).toBe(6);
});

verifies(
  'ST-3',
  'a shell agent continues after tacho is killed, and recovery has all of its output',
  async () => {
    if (!linux) return;
    const go = join(place.folder, 'go');
    const wait = `while [ ! -e '${go}' ]; do sleep 0.05; done; echo note > /dev/stderr`;
    const { pid, done } = place.start(RUN(), { env: program(script(wait)), contract: 'none' });
    let run = '';
    await until(() => {
      run = spools(place)[0] ?? '';
      const path = join(place.state, 'spool', run, 'stderr');
      return run !== '' && existsSync(path) && statSync(path).size > 100;
    }, 'the first output');
    const meta = () =>
      JSON.parse(readFileSync(join(place.state, 'spool', run, 'meta.json'), 'utf8'));
    await until(() => meta().agent !== null, 'the note of the agent');
    const { agent, drains } = meta();
    kill(pid);
    await done;
    expect(drains.map((drain: Row) => isRunning(drain.pid))).toEqual([true, true]);
    writeFileSync(go, '');
    await until(() => !isRunning(agent.pid), 'the end of the agent');
    await until(() => drains.every((drain: Row) => !isRunning(drain.pid)), 'the end of the drains');
    expect((await tacho(['runs', 'recover'])).code).toBe(0);
    const { stdout } = await tacho(['replay', run, '--output', 'json']);
    const records = linesOf(stdout);
    expect(records.filter((record) => record.type === 'tool_exec_finished').length).toBe(6);
    expect(finished({ records } as never).completeness).toEqual({
      grade: 'partial',
      gaps: ['recovered:1'],
      filled: [],
    });
  },
);

/** meta.json, once it names the agent. */
async function noted(): Promise<Row> {
  let meta: Row = null;
  await until(() => {
    const path = join(place.state, 'spool', spools(place)[0] ?? '', 'meta.json');
    meta = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null;
    return meta?.agent != null;
  }, 'the note of the agent');
  return meta;
}

verifies('ST-3', 'recovery waits for a drain that still has output of a dead agent', async () => {
  if (!linux) return;
  const go = join(place.folder, 'go');
  const text = script(`while [ ! -e '${go}' ]; do sleep 0.05; done; echo note > /dev/stderr`);
  const { pid, done } = place.start(RUN(), { env: program(text), contract: 'none' });
  const meta = await noted();
  kill(pid);
  await done;
  const { agent, drains, run_id } = meta;
  for (const drain of drains) kill(drain.pid, 'SIGSTOP');
  writeFileSync(go, '');
  await until(() => !isRunning(agent.pid), 'the end of the agent');
  const recovery = place.start(['runs', 'recover']);
  const lock = join(place.state, 'spool', run_id, 'recovering');
  await until(() => existsSync(lock), 'the recovery');
  await sleep(500);
  for (const drain of drains) kill(drain.pid, 'SIGCONT');
  expect((await recovery.done).code).toBe(0);
  const { stdout } = await tacho(['replay', run_id, '--output', 'json']);
  const records = linesOf(stdout);
  expect(records.filter((record) => record.type === 'tool_exec_finished').length).toBe(6);
  expect(finished({ records } as never).completeness.gaps).toEqual(['recovered:1']);
});

/** Truncates its stdout when a file appears, and exits when another does. */
const cutsWhenTold = (cut: string, end: string) => `#!${process.execPath}
const { existsSync, writeSync } = require('node:fs');
const { execFileSync } = require('node:child_process');
const say = (lines) => { for (const line of lines) writeSync(1, line + '\\n'); };
const when = (path, then) => {
  const timer = setInterval(() => { if (existsSync(path)) { clearInterval(timer); then(); } }, 20);
};
say(${JSON.stringify([INIT, ...CALLS.slice(0, 6)])});
when(${JSON.stringify(cut)}, () => {
  execFileSync('/bin/sh', ['-c', ': > /dev/stdout'], { stdio: ['ignore', 'inherit', 'inherit'] });
  say(${JSON.stringify(CALLS.slice(6))});
  when(${JSON.stringify(end)}, () => say(${JSON.stringify([RESULT])}));
});
`;

for (const [when, dead] of [
  ['while tacho is dead', true],
  ['before tacho is killed', false],
] as const)
  verifies(
    'ST-3',
    `a file truncated ${when} is recovered once, and the loss is recorded`,
    async () => {
      if (!linux) return;
      const [cut, end] = [join(place.folder, 'cut'), join(place.folder, 'end')];
      const env = program(cutsWhenTold(cut, end));
      const { pid, done } = place.start(RUN(), { env, contract: 'none' });
      const shown = (text: string) =>
        existsSync(events()) ? readFileSync(events(), 'utf8').split(text).length - 1 : 0;
      await until(() => shown('"kind":"call_finished"') === 3, 'three calls');
      if (!dead) {
        writeFileSync(cut, '');
        await until(() => shown('"kind":"call_finished"') === 6, 'six calls');
        expect(shown('"spool_truncated"')).toBe(1);
      }
      kill(pid);
      await done;
      writeFileSync(cut, '');
      writeFileSync(end, '');
      expect((await tacho(['runs', 'recover'])).code).toBe(0);
      const { stdout } = await tacho(['replay', '--output', 'json', 'last']);
      const records = linesOf(stdout);
      expect(records.filter((record) => record.type === 'tool_exec_finished').length).toBe(6);
      const { exit_reason, completeness } = finished({ records } as never);
      expect([exit_reason, completeness.gaps]).toEqual([
        'ok',
        ['recovered:1', 'spool_truncated:1'],
      ]);
    },
  );

test("Ctrl-C reaches tacho and not the drains: the agent's last output is recorded", async () => {
  if (!linux || !can('setsid', 'a signal to a process group')) return;
  const ready = join(place.folder, 'ready');
  const text = [
    '#!/bin/sh',
    "trap 'sleep 0.5; echo goodbye >&2; exit 0' INT",
    says([INIT, ...CALLS]),
    `touch '${ready}'`,
    'i=0; while [ $i -lt 1200 ]; do sleep 0.05; i=$((i+1)); done',
  ].join('\n');
  // As on a terminal: the signal is sent to every process of the group.
  const { pid, done } = place.start(RUN(), { env: program(text), under: ['setsid'] });
  await until(() => existsSync(ready), 'the calls');
  kill(-pid, 'SIGINT');
  const { stderr, gaps } = played((await done).records);
  expect(stderr).toContain('goodbye');
  expect(gaps.filter((gap) => gap.startsWith('drain_failed'))).toEqual([]);
});

test("a drain is the system's cat, whatever is first on the PATH", async () => {
  if (!linux) return;
  const proof = join(place.folder, 'proof');
  program(`#!/bin/sh\ntouch '${proof}'\nexec /bin/cat "$@"\n`, 'cat');
  program(`#!/bin/sh\ntouch '${proof}'\nexec /usr/bin/mkfifo "$@"\n`, 'mkfifo');
  const { calls, grade } = await play(script(''));
  expect([calls, grade, existsSync(proof)]).toEqual([6, 'complete', false]);
});

test('a process that escapes and keeps the output open stops only the drain, and that is recorded', async () => {
  if (!linux || !can('setsid', 'a process that escapes')) return;
  const pid_file = join(place.folder, 'pid');
  const escapes = `setsid env -i /bin/sh -c 'echo $$ > ${pid_file}; exec sleep 300' &\nsleep 0.5`;
  const { grade, gaps, calls } = await play(script(escapes));
  kill(Number(readFileSync(pid_file, 'utf8')));
  expect([grade, gaps, calls]).toEqual(['partial', ['drain_failed:2'], 6]);
});

/** Writes faster than the reader. It exits after some GB, so that a fault does not fill a disk. */
const FLOOD = 'yes "$(printf %01023d 0)" | head -c 4000000000';
/** Prints its process group to a file, for the test to kill. */
const escaped = (pid_file: string) =>
  `setsid env -i PATH="$PATH" /bin/sh -c 'echo $$ > ${pid_file}; ${FLOOD}'`;

verifies('RE-22', 'a fast writer left by a shell agent is killed, and the run ends', async () => {
  if (!linux || !can('yes', 'a fast writer')) return;
  const pid_file = join(place.folder, 'pid');
  const writer = `sh -c 'echo $$ > ${pid_file}; exec yes "$(printf %01023d 0)"' &`;
  const started = `while [ ! -s '${pid_file}' ]; do sleep 0.01; done`;
  // How much it writes before it is killed depends on its speed, and so does whether that is too much.
  const { calls } = await play([script(''), writer, started, 'exit 0'].join('\n'));
  expect([calls, isRunning(Number(readFileSync(pid_file, 'utf8')))]).toEqual([6, false]);
});

/** Blocks the whole process. */
const waitHere = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

verifies(
  'RE-22',
  'processes that outlive the agent are killed while its last output is read',
  async () => {
    if (!linux) return;
    const pid_file = join(place.folder, 'pid');
    // The first output after the agent's exit is blank: the calls are its last output.
    const rest = join(place.folder, 'rest');
    const blank = '\n'.repeat(4 * LIMITS.read_chunk_bytes);
    writeFileSync(rest, `${blank}${[...CALLS, RESULT].join('\n')}\n`);
    const env = program(`#!${process.execPath}
const { readFileSync, writeFileSync, writeSync } = require('node:fs');
writeSync(1, ${JSON.stringify(`${INIT}\n`)});
const { pid } = require('node:child_process').spawn('sleep', ['300'], { stdio: 'ignore' });
writeFileSync(1, readFileSync(${JSON.stringify(rest)}));
writeFileSync(${JSON.stringify(pid_file)}, process.pid + ' ' + pid + ' ');
process.exit();
`);
    const pids = () => readFileSync(pid_file, 'utf8').split(' ').map(Number) as [number, number];
    const slow = Promise.withResolvers<void>();
    const take = async (events: readonly Event[]) => {
      const kinds = new Set(events.map(({ kind }) => kind));
      // Nothing more is read before the agent has exited, and then the calls are not processed for a while.
      if (kinds.has('session_started'))
        while (!existsSync(pid_file) || isRunning(pids()[0])) waitHere(20);
      if (kinds.has('call_requested')) await slow.promise;
    };
    const [cwd, stateDir] = [place.work, place.state];
    const request = await prepareRun({
      agent: 'claude',
      prompt: 'p',
      cwd,
      stateDir,
      env: { ...env, TACHO_HOME: place.state },
    });
    const { result } = await startRun(request, [{ name: 'a slow view', take }]);
    try {
      await until(
        () => existsSync(pid_file) && !isRunning(pids()[1]),
        'the end of the leftover process',
      );
    } finally {
      slow.resolve();
    }
    const { outcome } = await result;
    expect([outcome.success, outcome.tool_calls.length]).toEqual([true, 6]);
  },
);

for (const [what, agent] of [
  ['a shell agent', (escapes: string) => [script(''), `${escapes} &`, 'sleep 0.2'].join('\n')],
  [
    'any other agent',
    (escapes: string) =>
      `${nodeAgent('')}execFileSync('/bin/sh', ['-c', ${JSON.stringify(`${escapes} & sleep 0.2`)}], { stdio: 'inherit' });\n`,
  ],
] as const)
  verifies('RE-22', `the run of ${what} ends although a fast writer has escaped`, async () => {
    if (!linux || !can('yes', 'a fast writer') || !can('setsid', 'a process that escapes')) return;
    const pid_file = join(place.folder, 'pid');
    try {
      const { calls, problems } = await play(agent(escaped(pid_file)));
      expect(calls).toBe(6);
      expect(problems.map(({ code }) => code)).toContain('drain_failed');
    } finally {
      kill(-Number(readFileSync(pid_file, 'utf8')));
    }
  });

verifies('ST-3', 'a recovery ends although a fast writer has outlived the agent', async () => {
  if (!linux || !can('yes', 'a fast writer') || !can('setsid', 'a process that escapes')) return;
  const pid_file = join(place.folder, 'pid');
  const go = join(place.folder, 'go');
  const wait = `while [ ! -e '${go}' ]; do sleep 0.05; done`;
  const text = [script(wait), `${escaped(pid_file)} &`].join('\n');
  const { pid, done } = place.start(RUN(), { env: program(text), contract: 'none' });
  const meta = await noted();
  kill(pid);
  await done;
  writeFileSync(go, '');
  try {
    await until(() => !isRunning(meta.agent.pid), 'the end of the agent');
    await until(() => existsSync(pid_file), 'the writer');
    expect((await tacho(['runs', 'recover'])).code).toBe(0);
    const records = linesOf((await tacho(['replay', meta.run_id, '--output', 'json'])).stdout);
    expect(records.filter((record) => record.type === 'tool_exec_finished').length).toBe(6);
    expect(finished({ records } as never).completeness.gaps).toContainEqual(
      expect.stringMatching('drain_failed'),
    );
  } finally {
    kill(-Number(readFileSync(pid_file, 'utf8')));
  }
});

test('a killed drain is recorded as a loss', async () => {
  if (!linux) return;
  const meta = '"$TACHO_HOME/spool/$TACHO_RUN_ID/meta.json"';
  const first = `sed -n 's/.*"drains":\\[{"pid":\\([0-9]*\\).*/\\1/p' ${meta}`;
  const { problems, grade } = await play(script(`sleep 0.5; kill -9 $(${first}); sleep 0.2`));
  expect(problems).toContainEqual(
    expect.objectContaining({ code: 'drain_failed', detail: expect.stringContaining('SIGKILL') }),
  );
  expect(grade).toBe('partial');
});
