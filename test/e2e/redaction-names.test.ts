/** Secrets in foreign names (ST-7): files, ids, targets and tests are redacted like texts, wherever they are stored or shown. */
import { chmodSync, cpSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect } from 'vitest';
import { createBoard } from '../../src/app/live/board.ts';
import { livePaths } from '../../src/app/live/paths.ts';
import { readText } from '../../src/live/protocol/messages.ts';
import { openJournal } from '../../src/store/journal/journal.ts';
import { openStateDir } from '../../src/store/state-dir.ts';
import { transcript } from '../build-transcript.ts';
import { bin, filesBelow, type Result, root, usePlace } from './cli.ts';
import { openPty } from './pty.ts';
import { verifies } from './verifies.ts';

const place = usePlace();

const SECRET = 'Zq81mKpXv0tRs5Wd9Lb2';
const MARK = /\[REDACTED:env:[0-9a-f]{8}\]/;
const tacho = (args: string[], input = '', env: Record<string, string> = {}) =>
  place.tacho(args, { env: { MY_API_KEY: SECRET, ...env }, contract: 'none', input });

/** Contract: the output mentions something redacted, and no secret. */
function expectSafe({ stdout, stderr }: Pick<Result, 'stdout' | 'stderr'>, what: unknown): void {
  expect([what, stdout + stderr]).toEqual([what, expect.stringMatching(MARK)]);
  expect([what, stdout + stderr]).toEqual([what, expect.not.stringContaining(SECRET)]);
}

/** A session of two files with the secret in both names and a bad line in each. */
function session(): string {
  const recorded = join(root, 'src/agents/claude/testdata/subagent/session');
  const path = join(place.folder, `sess-${SECRET}.jsonl`);
  const parts = join(place.folder, `sess-${SECRET}`, 'subagents');
  mkdirSync(parts, { recursive: true });
  for (const file of filesBelow(recorded).filter(({ path: name }) => name.endsWith('.jsonl'))) {
    const sub = file.path.includes('subagents');
    const to = sub ? join(parts, `agent-${SECRET}.jsonl`) : path;
    writeFileSync(to, `${file.bytes.toString('utf8').trimEnd()}\nno JSON ${sub}\n`);
    if (sub) cpSync(file.path.replace('.jsonl', '.meta.json'), to.replace('.jsonl', '.meta.json'));
  }
  return path;
}

verifies('ST-7', 'names of session files are redacted in everything made from them', async () => {
  const path = session();
  for (const form of ['events', 'run-event', 'live', 'outcome', 'transcript', 'agentv', 'atif']) {
    const args = ['--agent', 'claude', '--from', 'session', '--to', form, path];
    const result = await tacho(['convert', ...args]);
    expect([form, result.code]).toEqual([form, 0]);
    expect([form, result.stdout.includes(SECRET)]).toEqual([form, false]);
    if (form === 'events') expect(result.stdout).toMatch(/"file":"agent-\[REDACTED:env:/);
  }
  for (const more of [[], ['--json']])
    expectSafe(await tacho(['drift', 'claude', '--from', 'session', path, ...more]), more);
  for (const more of [['--verbose'], ['--json']])
    expectSafe(await tacho(['import', 'claude', path, ...more]), more);
  const kept = filesBelow(place.state);
  expect(kept.filter(({ bytes }) => bytes.includes(SECRET))).toEqual([]);
  expect((await tacho(['runs', 'show', 'last'])).stdout).toMatch(/agent-\[REDACTED:env:.* line /);
});

verifies('ST-7', 'names of session files are redacted in the record of a run', async () => {
  const printed = join(root, 'src/agents/claude/testdata/subagent/stdout.jsonl');
  const lines = readFileSync(printed, 'utf8').trimEnd().split('\n');
  const { session_id } = JSON.parse(lines[0] as string);
  const project = join(place.folder, 'config/projects/p');
  mkdirSync(project, { recursive: true });
  const path = session();
  renameSync(path, join(project, `${session_id}.jsonl`));
  renameSync(path.replace('.jsonl', ''), join(project, session_id));
  // As if it happened during the run.
  const timestamp = new Date(Date.now() + 60_000).toISOString();
  for (const file of filesBelow(project).filter(({ path: name }) => name.endsWith('.jsonl'))) {
    const text = file.bytes.toString('utf8');
    writeFileSync(file.path, text.replaceAll(/"timestamp":"[^"]+"/g, `"timestamp":"${timestamp}"`));
  }
  // The sub-agent's work is only in its session file.
  const own = lines.filter((line) => !JSON.parse(line).parent_tool_use_id);
  const stdout = join(place.folder, 'stdout');
  writeFileSync(stdout, `${own.join('\n')}\n`);
  const program = join(place.folder, 'claude');
  writeFileSync(program, `#!/bin/sh\n[ "$1" = --version ] && exec echo 9.9.9\ncat '${stdout}'\n`);
  chmodSync(program, 0o755);
  const PATH = [place.folder, process.env.PATH].join(delimiter);
  const env = { PATH, CLAUDE_CONFIG_DIR: join(place.folder, 'config') };
  await tacho(['run', '--agent', 'claude', 'x'], '', env);
  const kept = filesBelow(place.state);
  expect(kept.filter(({ bytes }) => bytes.includes(SECRET))).toEqual([]);
  expect(kept.some(({ bytes }) => bytes.includes('"file":"agent-[REDACTED:env:'))).toBe(true);
});

verifies(
  'ST-7',
  "a pattern that matches tacho's own words breaks no converted record",
  async () => {
    const path = join(root, 'src/agents/claude/testdata/read/stdout.jsonl');
    for (const form of ['outcome', 'transcript']) {
      const convert = ['convert', '--agent', 'claude', '--from', 'stdout', '--to', form, path];
      const fields = (text: string) => {
        const { schema_version, exit_reason, completeness, ...rest } = JSON.parse(text);
        return { schema_version, exit_reason, completeness, names: Object.keys(rest) };
      };
      const plain = await tacho(convert);
      const matched = await tacho([...convert, '--redact', 'tacho|ok|complete|status|calls']);
      expect([form, matched.code, fields(matched.stdout)]).toEqual([form, 0, fields(plain.stdout)]);
    }
  },
);

verifies('ST-7', 'an error message shows no secret from a file name', async () => {
  const path = join(place.folder, `none-${SECRET}.jsonl`);
  for (const args of [
    ['convert', '--agent', 'claude', path],
    ['drift', 'claude', path],
    ['import', 'claude', path],
    ['validate', path],
    ['eval', path],
    ['run', '--agent', 'demo', '--cwd', path, 'x', '--output', 'json'],
  ]) {
    const result = await tacho(args);
    expect([args, result.code === 0]).toEqual([args, false]);
    expectSafe(result, args);
  }
  // Unreadable settings hide no error.
  writeFileSync(join(place.work, 'tacho.yaml'), 'redact: 1\n');
  const result = await tacho(['convert', '--agent', 'claude', path]);
  expect(result.stderr).toMatch(/^error: .*tacho\.yaml/);
});

verifies(['ST-7', 'EV-7'], 'an eval shows no secret of a transcript that it grades', async () => {
  const tests = ['a', 'b'].map((id) => ({
    id,
    assertions: [{ type: 'contains', value: 'something else' }],
  }));
  writeFileSync(join(place.work, 'e.yaml'), JSON.stringify({ tests }));
  const named = `x-${SECRET}`;
  const runs = [
    transcript([], { test_id: 'a', target: named, agent: named, run_id: named }),
    transcript([], { test_id: named }),
  ];
  const path = `t-${SECRET}.jsonl`;
  writeFileSync(join(place.work, path), runs.map((run) => `${JSON.stringify(run)}\n`).join(''));
  const files = ['--junit', 'j.xml', '--results', 'r.jsonl'];
  for (const form of ['json', 'human']) {
    const given = ['--transcript', path, '--output', form, '--github', ...files];
    const result = await tacho(['eval', 'e.yaml', ...given]);
    expect([form, result.code]).toEqual([form, 2]);
    expectSafe(result, form);
    expect(result.stderr).toMatch(/is for the test "x-\[REDACTED:env:/);
    for (const name of ['j.xml', 'r.jsonl']) {
      const text = readFileSync(join(place.work, name), 'utf8');
      expect([name, text]).toEqual([name, expect.stringMatching(MARK)]);
      expect([name, text.includes(SECRET)]).toEqual([name, false]);
    }
    const [row] = readFileSync(join(place.work, 'r.jsonl'), 'utf8').split('\n');
    const { key, target, run_id, transcript: file } = JSON.parse(row as string);
    const [, , key_target, , key_run] = JSON.parse(key);
    expect([key_target, key_run]).toEqual([target, [file, 1, run_id]]);
  }
});

verifies('ST-7', 'emit shows no secret of a session that it could not send', async () => {
  const to = ['--to', `unix:${join(place.folder, 'nobody')}`, '--wait', '0'];
  const input = '{"type":"session_start","data":{"agent":"mine"}}\n';
  const result = await tacho(['emit', ...to, '--session', `s-${SECRET}`], input);
  expect(result.stderr).toContain('not delivered yet');
  expectSafe(result, to);
});

verifies('ST-7', 'the board and the review show no secret of a message', async () => {
  const paths = livePaths(place.state);
  const journal = openJournal(openStateDir(paths.dir).journal);
  const board = createBoard(paths);
  const session_id = `s-${SECRET}`;
  for (let seq = 1; seq <= 300; seq++) {
    const data = { call_id: `c-${SECRET}`, result: SECRET, error: null };
    const body = JSON.stringify({ type: 'tool_call_response', session_id, seq, data });
    await journal.append([{ session: session_id, source: 'live', seq, body }]);
    board.take(readText(body), { received_ms: null, connection: null });
  }
  board.close();
  await journal.close();
  for (const args of [
    ['validate', '--board'],
    ['validate', '--board', '--json'],
    ['validate', '--stored'],
    ['review', '--list'],
    ['review', '--json'],
  ])
    expectSafe(await tacho(args), args);
  // The review as a dialogue on a terminal.
  const env = ['env', `TACHO_HOME=${place.state}`, `MY_API_KEY=${SECRET}`];
  const pty = openPty([...env, process.execPath, bin, 'review'], { cols: 100, rows: 40 });
  try {
    await pty.until('the question', (lines) => lines.some((line) => line.startsWith('Accept, ')));
    pty.type('q\n');
    expect((await pty.ended).code).toBe(0);
    expectSafe({ stdout: pty.bytes(), stderr: '' }, 'review');
  } finally {
    pty.close();
  }
});
