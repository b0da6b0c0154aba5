/** `tacho run --output json` as a program reads it: the contract `openagent.run_event.v1`, on every path. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { checkEvent } from '../../src/model/generated/checks.ts';
import { CHAOS, played } from '../chaos-agent.ts';
import { demo, finished, linesOf, type Row, root, until, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace({ trust: true });
const { tacho } = place;
const FIXED = { TACHO_FIXED_TIME: '2025-03-02T20:11:23Z', TACHO_ID_SEED: 'seed' };
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/;

const typesOf = (records: Row[]) => records.map((record) => record.type);

test('run_json_mode_emits_parseable_event_stream', async () => {
  const { code, stdout } = await tacho(demo('default'));
  const records = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(code).toBe(0);
  expect([...new Set(typesOf(records))].sort()).toEqual([
    'run_finished',
    'run_started',
    'step_started',
    'tool_call_detected',
    'tool_exec_finished',
    'tool_exec_started',
  ]);
});

test('run_json_mode_includes_final_record', async () => {
  const { records } = await tacho(demo('default'));
  expect(records.at(-1)).toMatchObject({
    schema_version: 'openagent.run_event.v1',
    sequence: records.length,
    type: 'run_finished',
    data: {
      exit_reason: 'ok',
      ok: true,
      error: null,
      model: 'demo-1',
      tool_calls: 10,
      terminal_evidence: 'native_result',
      completeness: { grade: 'complete', gaps: [] },
      agent_exit_code: 0,
      agent_signal: null,
    },
  });
  expect(finished({ records } as never).final_output).toMatch(
    /^Done\. `tacho-demo\/greet\.sh` greets/,
  );
});

test('run_json_mode_is_stable_for_fixed_mock_inputs', async () => {
  const once = await tacho(demo('fixed'), { env: FIXED });
  rmSync(join(place.work, 'tacho-demo', 'same.txt'));
  const twice = await tacho(demo('fixed', '--state-dir', join(place.folder, 'other')), {
    env: FIXED,
  });
  expect(once.records.length).toBeGreaterThan(5);
  expect(twice.stdout).toBe(once.stdout);
});

test('run_json_mode_stdout_contains_only_json_lines', async () => {
  for (const script of ['words', 'garbage', 'stderr']) {
    const { stdout } = await tacho(demo(script));
    expect(stdout).not.toMatch(CONTROL);
    expect(stdout.endsWith('}\n')).toBe(true);
    for (const line of stdout.slice(0, -1).split('\n')) expect(line).toMatch(/^\{.*\}$/u);
  }
});

test('run_json_mode_emits_monotonic_sequence_numbers', async () => {
  const { records } = await tacho(demo('tools', '--stream'));
  expect(records.map((record) => record.sequence)).toEqual(records.map((_, index) => index + 1));
});

test('run_json_mode_emits_exactly_one_terminal_run_finished', async () => {
  for (const script of ['fixed', 'exit-early', 'crash', 'killed', 'cut']) {
    const types = typesOf((await tacho(demo(script))).records);
    expect(types.filter((type) => type === 'run_finished')).toHaveLength(1);
    expect(types.at(-1)).toBe('run_finished');
  }
});

test('run_json_mode_suppresses_human_final_output_print', async () => {
  const json = await tacho(demo('fixed'));
  const human = await tacho(['run', ...CHAOS, 'please', '--', ...played('fixed')]);
  expect(human.stdout).toContain('Still the same.');
  expect(json.stdout.split('\n').filter((line) => line.startsWith('Still'))).toEqual([]);
  expect(json.stdout.match(/Still the same\./g)).toHaveLength(1);
});

test('run_json_mode_rejects_tui_with_clear_error', async () => {
  const { code, stdout, stderr } = await tacho(demo('fixed', '--tui'));
  expect({ code, stdout, stderr }).toEqual({
    code: 2,
    stdout: '',
    stderr: 'error: --output json cannot be combined with --tui\n',
  });
  expect(readdirSync(place.folder)).toEqual(['work']);
});

verifies('RE-24', 'the ten tests named in the contract exist under their names', () => {
  const names = [
    'run_json_mode_emits_parseable_event_stream',
    'run_json_mode_includes_final_record',
    'run_json_mode_is_stable_for_fixed_mock_inputs',
    'run_json_mode_stdout_contains_only_json_lines',
    'run_json_mode_emits_monotonic_sequence_numbers',
    'run_json_mode_emits_exactly_one_terminal_run_finished',
    'run_json_mode_suppresses_human_final_output_print',
    'run_json_mode_rejects_tui_with_clear_error',
    'run_json_projection_ignores_unmapped_internal_event_kinds',
    'run_json_projection_truncates_large_fields_with_metadata',
  ];
  const sources = ['src', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => readFileSync(join(root, folder, name), 'utf8')),
  );
  const missing = names.filter(
    (name) => !sources.some((source) => new RegExp(`(test|it)\\(\\s*'${name}'`).test(source)),
  );
  expect(missing).toEqual([]);
});

verifies('RE-1', '--output accepts human or json, and nothing else', async () => {
  const wrong = await tacho(['run', '--agent', 'demo', '--output', 'xml', 'please']);
  expect({ code: wrong.code, stdout: wrong.stdout }).toEqual({ code: 2, stdout: '' });
  expect(wrong.stderr).toContain("'xml' is invalid. Allowed choices are human, json");
  const byDefault = await tacho(['run', ...CHAOS, 'please', '--', ...played('fixed')]);
  expect(byDefault.code).toBe(0);
  expect(byDefault.stdout).not.toContain('openagent.run_event.v1');
});

verifies(
  'RE-2',
  '--tui with --output json is refused with this message, in any order of flags',
  async () => {
    for (const args of [
      ['run', '--tui', '--output', 'json', '--agent', 'demo', 'x'],
      ['run', '--output=json', '--agent', 'demo', 'x', '--tui'],
    ]) {
      const { code, stdout, stderr } = await tacho(args);
      const text = 'error: --output json cannot be combined with --tui\n';
      expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: text });
    }
  },
);

verifies('RE-3', "the agent's stderr and tacho's own notes never reach stdout", async () => {
  const { stdout, records } = await tacho(demo('stderr'));
  expect(records.length).toBe(stdout.trimEnd().split('\n').length);
  const words = await tacho(demo('words', '--stream'));
  expect(words.stdout).not.toMatch(CONTROL);
  expect(words.stdout).not.toMatch(/[\u2028\u2029\p{Surrogate}]/u);
});

verifies('RE-5', 'ts is RFC 3339 in UTC with milliseconds and never goes back', async () => {
  const { records } = await tacho(demo('parallel'));
  const times: string[] = records.map((record) => record.ts);
  for (const ts of times) expect(ts).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(times).toEqual([...times].sort());
});

verifies(
  'RE-6',
  'run_id is the same for a whole run, sorts by time and finds the stored run',
  async () => {
    const first = (await tacho(demo('fixed'))).records;
    const second = (await tacho(demo('fixed'))).records;
    const ids = [first, second].map((records) => [...new Set(records.map((r) => r.run_id))]);
    expect(ids.map((of) => of.length)).toEqual([1, 1]);
    const [[a], [b]] = ids as [[string], [string]];
    expect(a < b).toBe(true);
    const shown = await tacho(['runs', 'show', b, '--json']);
    expect(JSON.parse(shown.stdout).run_id).toBe(b);
  },
);

verifies(
  'RE-7',
  "step is 0 before the first turn and counts the root agent's turns only",
  async () => {
    const { records } = await tacho(demo('subagent'));
    expect(records[0]).toMatchObject({ type: 'run_started', step: 0 });
    const steps = records.filter((record) => record.type === 'step_started');
    expect(steps.map((record) => [record.step, record.data.step_index])).toEqual(
      steps.map((_, index) => [index + 1, index + 1]),
    );
    expect(finished({ records } as never).ok).toBe(true);
  },
);

verifies(
  'RE-11',
  'a call that the agent never ended is finished as cancelled before the end',
  async () => {
    const { records } = await tacho(demo('killed'));
    const ends = records.filter((record) => record.type === 'tool_exec_finished');
    expect(ends.at(-1)).toMatchObject({ data: { ok: false, status: 'cancelled' } });
    expect(typesOf(records).slice(-2)).toEqual(['tool_exec_finished', 'run_finished']);
    const parallel = (await tacho(demo('parallel'))).records;
    const order = parallel.filter((record) => record.data.tool_call_id !== undefined);
    const calls = new Set(order.map((record) => record.data.tool_call_id));
    for (const call of calls) {
      expect(typesOf(order.filter((record) => record.data.tool_call_id === call))).toEqual([
        'tool_call_detected',
        'tool_exec_started',
        'tool_exec_finished',
      ]);
    }
  },
);

/** Script, then the expected end: exit_reason, exit code, the agent's own code and signal. */
const ENDS: [string, string, number, number | null, string | null][] = [
  ['fixed', 'ok', 0, 0, null],
  ['exit-code', 'ok', 0, 3, null],
  ['denied', 'ok', 0, 0, null],
  ['child', 'ok', 0, 0, null],
  ['agent-error', 'agent_error', 1, 1, null],
  ['exit-early', 'incomplete', 1, 0, null],
  ['crash', 'incomplete', 1, 1, null],
  ['cut', 'incomplete', 1, 1, null],
  ['killed', 'incomplete', 1, null, 'SIGKILL'],
  ['provider-error', 'provider_error', 3, 1, null],
  ['denied-end', 'denied', 4, 1, null],
  ['approval-required', 'approval_required', 4, 1, null],
  ['max-steps', 'max_steps', 5, 1, null],
  ['budget', 'budget_exceeded', 5, 1, null],
];

verifies(
  ['RE-12', 'RE-21'],
  'every end of an agent has its exit reason and exit code',
  async () => {
    const found: unknown[] = [];
    for (const [script] of ENDS) {
      const result = await tacho(demo(script));
      const { exit_reason, ok, agent_exit_code, agent_signal } = finished(result);
      expect(ok).toBe(exit_reason === 'ok');
      found.push([script, exit_reason, result.code, agent_exit_code, agent_signal]);
    }
    expect(found).toEqual(ENDS);
  },
);

verifies(
  ['RE-12', 'RE-21', 'RE-22'],
  'a time limit stops the run: timeout, 124, no process left',
  async () => {
    const result = await tacho(demo('hang', '--timeout', '1'));
    expect(result.code).toBe(124);
    expect(finished(result)).toMatchObject({
      exit_reason: 'timeout',
      ok: false,
      agent_exit_code: null,
    });
    expect(place.left()).toEqual([]);
  },
);

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 143],
] as const) {
  verifies(
    ['RE-12', 'RE-21', 'RE-22'],
    `${signal} cancels the run: ${code}, no process left`,
    async () => {
      let sent = false;
      const result = await tacho(demo('hang'), {
        seen(sofar, child) {
          if (sent || !sofar.includes('tool_exec_started')) return;
          sent = child.kill(signal);
        },
      });
      expect(result.code).toBe(code);
      expect(finished(result)).toMatchObject({
        exit_reason: 'cancelled',
        ok: false,
        error: `cancelled by ${signal}`,
      });
      expect(place.left()).toEqual([]);
      expect((await tacho(['runs', 'verify', 'last'])).code).toBe(0);
    },
  );
}

verifies('RE-22', 'a signal during the start of a run stops it in the same way', async () => {
  for (const ms of [60, 90, 120, 160, 200]) {
    const run = place.start(demo('hang'), { contract: 'none' });
    await new Promise((done) => setTimeout(done, ms));
    process.kill(run.pid, 'SIGTERM');
    const result = await run.done;
    // Before our first code runs, only the system's default handling applies.
    if (result.signal === null) {
      expect([result.code, finished(result)?.exit_reason]).toEqual([143, 'cancelled']);
    } else expect(result.stdout).toBe('');
    expect(place.left()).toEqual([]);
  }
});

verifies(
  'RE-22',
  'an agent that ignores TERM is killed after its grace period, with its daemons',
  async () => {
    let sent = false;
    const result = await tacho(demo('hang-stubborn'), {
      seen(sofar, child) {
        if (!sent && sofar.includes('step_started')) sent = child.kill('SIGTERM');
      },
    });
    expect([result.code, finished(result).agent_signal]).toEqual([143, 'SIGKILL']);
    expect(place.left()).toEqual([]);
    const daemon = await tacho(demo('child-daemon'));
    expect([daemon.code, finished(daemon).exit_reason]).toEqual([0, 'ok']);
    expect(place.left()).toEqual([]);
  },
);

verifies(
  ['RE-12', 'RE-13'],
  'an agent that is not installed gives one record without a run, and exit code 127',
  async () => {
    const args = ['run', '--agent', 'claude', '--output', 'json', 'please'];
    const env = { PATH: join(root, 'test/fixtures') };
    const once = await tacho(args, { env });
    const twice = await tacho(args, { env });
    expect(once.code).toBe(127);
    expect(once.records).toEqual([
      {
        schema_version: 'openagent.run_event.v1',
        sequence: 1,
        ts: expect.any(String),
        run_id: '',
        step: 0,
        type: 'run_finished',
        data: expect.objectContaining({ ok: false, exit_reason: 'pre_run_error' }),
      },
    ]);
    expect(finished(once).error).toMatch(
      /is not installed: "claude" is not on the PATH; npm install/,
    );
    expect(finished(twice)).toEqual(finished(once));
    expect(once.stderr).toBe(`error: ${finished(once).error}\n`);
  },
);

verifies(
  'RE-13',
  'a run that cannot start prints one record: missing folder, unusable state folder',
  async () => {
    const cwd = await tacho(demo('fixed', '--cwd', '/nowhere/at/all'));
    expect([cwd.code, cwd.records.length, finished(cwd).error]).toEqual([
      70,
      1,
      'cannot work in /nowhere/at/all: there is no such folder',
    ]);
    const file = join(place.folder, 'file');
    writeFileSync(file, '');
    const state = await tacho(demo('fixed', '--state-dir', file));
    expect([state.code, state.records.length]).toEqual([70, 1]);
    expect(finished(state)).toMatchObject({ exit_reason: 'pre_run_error' });
    expect(finished(state).error).toContain(file);
  },
);

verifies(
  'RE-14',
  'wrong arguments are reported on stderr with exit code 2, never as records',
  async () => {
    const wrong = [
      ['run', '--output', 'json', '--agent', 'nobody', 'x'],
      ['run', '--output', 'json', 'x'],
      ['run', '--output', 'json', '--agent', 'demo', '--timeout', 'soon', 'x'],
      ['run', '--output', 'json', '--agent', 'demo', '--timeout', '0', 'x'],
      ['run', '--output', 'json', '--agent', 'demo', '--timeout', '9999999', 'x'],
      ['run', '--output', 'json', '--agent', 'demo', '--no-such-flag', 'x'],
      ['run', '--output', 'json', '--agent', 'demo', '--env', 'NOVALUE', 'x'],
      ['run', '--output', 'json', '--agent', 'demo', '--target', 'none', 'x'],
      ['run', '--output', 'json', '--agent', 'demo', '--redact', '(', 'x'],
      ['run', '--output', 'json', '--agent', 'demo', '-'],
    ];
    for (const args of wrong) {
      const { code, stdout, stderr } = await tacho(args);
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
      expect(stderr).toMatch(/^error: /);
      expect(stderr).not.toMatch(/\n {4}at /);
    }
  },
);

verifies('RE-15', 'each mode prints only its own format', async () => {
  const json = await tacho(demo('default'));
  const human = await tacho(['run', ...CHAOS, 'please', '--', ...played('default')], {
    cwd: place.folder,
  });
  expect(json.records).toHaveLength(json.stdout.trimEnd().split('\n').length);
  expect(human.code).toBe(0);
  expect(human.stdout).not.toContain('schema_version');
  expect(human.stdout).not.toMatch(/\u001b/);
  expect(human.records).toEqual([]);
});

verifies('RE-16', '--events writes the same internal events in either mode', async () => {
  const bare = (path: string) =>
    linesOf(readFileSync(path, 'utf8')).map((event) => {
      expect(checkEvent(event)).toBe(true);
      if (event.kind === 'run_started') event.data.config = null;
      if (event.kind === 'run_finished') event.data.digest = null;
      return event;
    });
  const json = join(place.folder, 'json.jsonl');
  const human = join(place.folder, 'human.jsonl');
  await tacho(demo('fixed', '--events', json), { env: FIXED });
  rmSync(join(place.work, 'tacho-demo', 'same.txt'));
  const state = ['--state-dir', join(place.folder, 'other')];
  const args = ['run', ...CHAOS, '--events', human, ...state, 'please'];
  await tacho([...args, '--', ...played('fixed')], { env: FIXED });
  expect(bare(human)).toEqual(bare(json));
  expect(bare(json).map((event) => event.seq)).toEqual(bare(json).map((_, index) => index + 1));
});

verifies(
  'RE-17',
  '--stream prints deltas: as records in json mode, as text in human mode, otherwise none',
  async () => {
    writeFileSync(
      join(place.work, 'talk.yaml'),
      'steps:\n  - say: one two three four five\n    stream: ["one t", "wo th", "ree four fi", "ve"]\n',
    );
    const json = await tacho(demo('./talk.yaml', '--stream'));
    const deltas = json.records.filter((record) => record.type === 'model_delta');
    expect(deltas.map((record) => record.data.text).join('')).toBe('one two three four five');
    expect(new Set(deltas.map((record) => record.data.message_id)).size).toBe(1);
    const quiet = await tacho(demo('./talk.yaml'));
    expect(typesOf(quiet.records)).not.toContain('model_delta');
    const args = ['run', ...CHAOS, '--stream', 'please', '--', ...played('./talk.yaml')];
    const human = await tacho(args);
    expect(human.stdout.match(/one two three four five/g)?.length).toBeGreaterThanOrEqual(1);
  },
);

verifies(
  'RE-18',
  'the fingerprint covers behaviour only, and output_mode is stored next to it',
  async () => {
    const print = async (args: string[], env: Record<string, string> = {}) => {
      const { records } = await tacho(args, { env });
      return records[0].data.fingerprint as string;
    };
    const other = join(place.folder, 'elsewhere');
    const base = await print(demo('fixed'));
    expect(base).toMatch(/^[0-9a-f]{64}$/);
    expect(await print(demo('fixed', '--stream', '--events', join(place.folder, 'e')))).toBe(base);
    expect(await print(demo('fixed', '--state-dir', other, '--cwd', place.folder))).toBe(base);
    expect(await print(demo('fixed', '--label', 'a=b'))).toBe(base);
    const scripts = ['a/talk.yaml', 'b/talk.yaml', 'b/other.yaml'].map((name) => {
      const path = join(place.folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, 'steps:\n  - say: one\n');
      return path;
    });
    // The folder of an argument's file does not count.
    const [here, there, another] = await Promise.all(scripts.map((path) => print(demo(path))));
    expect([there, another === here]).toEqual([here, false]);
    expect(await print(demo('fixed', '--model', 'other'))).not.toBe(base);
    expect(await print(demo('fixed', '--approve', 'all'))).not.toBe(base);
    expect(await print(demo('fixed', '--timeout', '99'))).not.toBe(base);
    expect(await print(demo('fixed', '--env', 'WORD=1'))).not.toBe(base);
    expect(
      await print(['run', ...CHAOS, '--output', 'json', 'other', '--', ...played('fixed')]),
    ).not.toBe(base);
    await tacho(['run', ...CHAOS, 'please', '--', ...played('fixed')]);
    const human = JSON.parse((await tacho(['runs', 'show', 'last', '--json'])).stdout);
    expect(human.metadata).toMatchObject({ output_mode: 'human', fingerprint: base });
  },
);

verifies(
  'RE-18',
  'the record names the program, and the fingerprint includes it without its folder',
  async () => {
    const run = async (command: string[] | null) => {
      const targets = { toy: { agent: 'demo', ...(command && { command }) } };
      writeFileSync(join(place.work, 'tacho.yaml'), JSON.stringify({ targets }));
      const args = ['run', '--target', 'toy', '--output', 'json', 'please'];
      const { records } = await tacho(args, { contract: 'none' });
      return records[0].data as { command: string[]; fingerprint: string };
    };
    const tool = (folder: string, name: string) => {
      const path = join(place.folder, folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, '#!/bin/sh\ncat >/dev/null\n', { mode: 0o755 });
      return path;
    };
    const [here, there, other] = [tool('a', 'x'), tool('b', 'x'), tool('a', 'y')];
    const own = await run(null);
    const runs = [await run([here, '-q']), await run([there, '-q']), await run([other, '-q'])];
    expect([own, ...runs].map(({ command }) => command)).toEqual([
      [process.execPath],
      [here, '-q'],
      [there, '-q'],
      [other, '-q'],
    ]);
    const prints = runs.map(({ fingerprint }) => fingerprint);
    expect(prints[0]).toBe(prints[1]);
    expect(new Set([own.fingerprint, prints[0], prints[2]]).size).toBe(3);
  },
);

function target(file: string): void {
  const command = JSON.stringify([process.execPath, join(root, 'test/fixtures/prints-file.mjs')]);
  const text = `targets:\n  toy:\n    agent: claude\n    command: ${command}\n    env: { FILE: ${JSON.stringify(file)} }\n`;
  writeFileSync(join(place.work, 'tacho.yaml'), text);
}

verifies(
  'RE-19',
  'the same input gives the same bytes, however the agent chunks its output',
  async () => {
    const recorded = (name: string) =>
      join(root, 'src/agents/claude/testdata', name, 'stdout.jsonl');
    for (const name of ['write-edit', 'parallel']) {
      target(recorded(name));
      const outputs = new Set<string>();
      for (const [index, bytes] of ['1', '7', '4096', '1048576', '1048576'].entries()) {
        const state = ['--state-dir', join(place.folder, `${name}-${index}`)];
        const args = ['run', '--target', 'toy', '--output', 'json', '--stream', ...state];
        const { code, stdout } = await tacho([...args, '--env', `BYTES=${bytes}`, 'please'], {
          env: FIXED,
        });
        expect(code).toBe(0);
        outputs.add(stdout);
      }
      expect(outputs.size).toBe(1);
    }
  },
);

verifies(
  'RE-20',
  'a reader that disconnects neither kills the run nor loses the record',
  async () => {
    for (const [script, take] of [
      ['default', 'head -1'],
      ['flood', 'head -c 10'],
      ['flood', 'true'],
    ] as const) {
      const pipe = `"$@" | ${take}; exit \${PIPESTATUS[0]}`;
      const result = await tacho(demo(script, '--stream'), {
        under: ['bash', '-c', pipe, 'sh'],
        contract: 'none',
      });
      expect([result.code, result.stderr]).toEqual([0, '']);
      expect((await tacho(['runs', 'verify', 'last'])).code).toBe(0);
      const replayed = await tacho(['replay', 'last', '--output', 'json'], {
        contract: 'none',
      });
      expect(finished(replayed).exit_reason).toBe('ok');
    }
  },
);

verifies(
  'RE-20',
  'a closed stdout counts as a reader that disconnected before the start',
  async () => {
    const under = ['bash', '-c', '"$@" >&-', 'sh'];
    const result = await tacho(demo('fixed'), { under, contract: 'none' });
    expect([result.code, result.stdout, result.stderr]).toEqual([0, '', '']);
    expect((await tacho(['runs', 'verify', 'last'])).code).toBe(0);
  },
);

verifies('RE-20', 'a slow reader loses nothing', async () => {
  const slow =
    'process.stdin.on("data", (piece) => { process.stdin.pause(); process.stdout.write(piece); setTimeout(() => process.stdin.resume(), 2); });';
  const pipe = `"$@" | "$0" -e '${slow}'; exit \${PIPESTATUS[0]}`;
  const result = await tacho(demo('flood', '--stream'), {
    under: ['bash', '-c', pipe, process.execPath],
  });
  expect(result.code).toBe(0);
  const replayed = await tacho(['replay', 'last', '--output', 'json'], { contract: 'none' });
  expect(result.records.length).toBeGreaterThan(500);
  expect(result.stdout).toBe(replayed.stdout);
});

verifies('RE-23', '--final-output has the complete final text, which the records cut', async () => {
  const text = `${'Ä long answer. '.repeat(2_000)}end`;
  writeFileSync(join(place.work, 'long.yaml'), `steps:\n  - say: ${JSON.stringify(text)}\n`);
  const path = join(place.folder, 'final.txt');
  const result = await tacho(demo('./long.yaml', '--final-output', path));
  expect(readFileSync(path, 'utf8')).toBe(text);
  const data = finished(result);
  expect([data.truncated, data.original_bytes]).toEqual([true, Buffer.byteLength(text)]);
  const shown = JSON.parse((await tacho(['runs', 'show', 'last', '--json'])).stdout);
  expect(shown.message).toBe(text);
  const failed = await tacho(demo('agent-error', '--final-output', path));
  expect(failed.code).toBe(1);
  expect(readFileSync(path, 'utf8')).toBe('I cannot do this.');
});

verifies('RE-25', 'tacho schema run-event prints the committed schema', async () => {
  const { code, stdout } = await tacho(['schema', 'run-event']);
  expect(code).toBe(0);
  expect(stdout).toBe(readFileSync(join(root, 'schema/run-event.json'), 'utf8'));
});

verifies('RE-22', 'a second signal does not wait for the grace period', async () => {
  const run = place.start(demo('hang-stubborn'), {});
  const at: number[] = [];
  const seen = new Promise<void>((done) => {
    run.child.stdout?.on('data', (piece: Buffer) => piece.includes('step_started') && done());
  });
  await seen;
  for (const pause_ms of [0, 600]) {
    await new Promise((done) => setTimeout(done, pause_ms));
    at.push(performance.now());
    run.child.kill('SIGINT');
  }
  const result = await run.done;
  expect(performance.now() - (at[1] ?? 0)).toBeLessThan(4_000);
  expect([result.code, finished(result).agent_signal]).toEqual([130, 'SIGKILL']);
  expect(place.left()).toEqual([]);
});

verifies(
  ['RE-20', 'RE-22'],
  'a stalled reader delays neither the time limit nor the end of the agent',
  async () => {
    const pieces = JSON.stringify(Array.from({ length: 4_000 }, (_, index) => `${index} `));
    writeFileSync(join(place.work, 'much.yaml'), `steps:\n  - stream: ${pieces}\n  - hang: true\n`);
    const run = place.start(demo('./much.yaml', '--stream', '--timeout', '1.5'));
    run.child.stdout?.pause();
    await until(() => place.left().length === 2, 'the agent');
    await until(() => place.left().length === 1, 'the end of the agent');
    run.child.stdout?.resume();
    const result = await run.done;
    expect([result.code, finished(result).exit_reason]).toEqual([124, 'timeout']);
    expect(result.records.filter((record) => record.type === 'model_delta')).toHaveLength(4_000);
  },
);
