/** `tacho search` over the agents' recordings, with known answers, and while the store changes. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { demo, kill, linesOf, type Result, root, until, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace({ trust: true });
const { tacho } = place;

const RECORDINGS = {
  claude: ['read', 'bash-fail', 'write-edit', 'reasoning', 'provider-error', 'mcp', 'subagent'],
  codex: ['read', 'write-edit', 'parallel', 'reasoning', 'denied'],
} as const;

/** The session of a recording, not of its sub-agents. */
const sessionIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.jsonl') && !name.includes('subagents'))
    .map((name) => join(folder, name))[0] as string;

/** Imports the recordings. Returns the names of runs, such as `claude/read`. */
async function importAll(): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const [agent, scenarios] of Object.entries(RECORDINGS))
    for (const scenario of scenarios) {
      const folder = join(root, 'src/agents', agent, 'testdata', scenario, 'session');
      const { records } = await tacho(['import', agent, sessionIn(folder), '--json']);
      names.set(records[0].run_id, `${agent}/${scenario}`);
    }
  return names;
}

const ALL = ['--json', '--limit', 'all', '--hits', 'all'];
const search = (query: string, ...more: string[]) =>
  tacho(['search', ...ALL, ...more, '--', query]);

/** The hits as `agent/scenario:seq`, sorted. */
const answers = ({ stdout }: Result, names: ReadonlyMap<string, string>) =>
  linesOf(stdout)
    .map(({ run_id, seq }) => `${names.get(run_id) ?? run_id}:${seq}`)
    .sort();

/** Query → numbers of the events, by run. */
const KNOWN: Readonly<Record<string, Readonly<Record<string, number[]>>>> = {
  // Prompts and answers.
  failing: { 'claude/bash-fail': [2] },
  '"read it"': { 'claude/read': [5], 'claude/write-edit': [9, 16] },
  '"i will read"': { 'claude/read': [5], 'codex/read': [5] },
  // Thinking.
  '"tool confirms"': { 'claude/reasoning': [13] },
  planning: { 'codex/reasoning': [5] },
  zaden: { 'claude/reasoning': [5] },
  // Inputs and outputs of tools.
  recovered: { 'claude/bash-fail': [13, 16, 18] },
  '"partial output"': { 'claude/bash-fail': [5, 9] },
  greet: { 'claude/read': [10, 18], 'claude/write-edit': [2, 5, 9, 10, 12, 16, 17, 19] },
  'boom -exit': { 'claude/bash-fail': [] },
  aes: { 'claude/bash-fail': [5, 9] },
  czesc: { 'claude/write-edit': [5] },
  'unic*': { 'claude/read': [12], 'codex/read': [9] },
  // CJK.
  日本語: { 'claude/read': [16], 'codex/parallel': [12] },
  テキスト: { 'claude/read': [16] },
  本: { 'claude/read': [16], 'codex/parallel': [12] },
  // Parts of identifiers, and phrases across punctuation.
  main: { 'claude/read': [10] },
  __main__: { 'claude/read': [10] },
  '"name main"': { 'claude/read': [10] },
  CreateProcess: { 'codex/denied': [7] },
  process: { 'codex/denied': [7] },
  '"src hello"': { 'claude/read': [2, 7], 'codex/denied': [5, 7], 'codex/read': [3, 6] },
  // Paths.
  'file:greet.txt': { 'claude/write-edit': [5, 10, 12, 17, 19] },
  'file:notes': { 'claude/read': [12], 'codex/write-edit': [5, 9, 16, 18, 22] },
  'file:src/math.js': { 'codex/write-edit': [15] },
  // Errors.
  '"bad request"': { 'claude/provider-error': [5, 6] },
  rejected: { 'codex/denied': [7] },
  '"not found in file"': { 'claude/write-edit': [22] },
  // Fields.
  'tool:Bash agent:codex': {
    'codex/parallel': [5, 6, 10, 14],
    'codex/reasoning': [6, 9],
    'codex/denied': [5, 7],
  },
  'tool:Read hello -agent:claude': { 'codex/read': [6] },
  'tool:mcp__toybox__add_numbers sum': { 'claude/mcp': [9] },
  'tool:add_numbers numbers': { 'claude/mcp': [15] },
  'tool:Task toy': { 'claude/subagent': [23] },
  'toy agent:claude': { 'claude/subagent': [15, 21, 23, 25] },
  'answer model:opus': { 'claude/reasoning': [2, 15] },
  'answer project:/home/user/project': { 'claude/reasoning': [2, 15], 'codex/reasoning': [11, 12] },
  'is:failed': { 'claude/provider-error': [1] },
  'status:provider_error request': { 'claude/provider-error': [5, 6] },
  // Those of Codex are computed.
  'cost:>0.02': {
    'claude/write-edit': [1],
    'claude/subagent': [1],
    'codex/denied': [1],
    'codex/parallel': [1],
    'codex/read': [1],
    'codex/reasoning': [1],
    'codex/write-edit': [1],
  },
  'todo until:2026-11-14': {},
  'todo since:2026-11-14': { 'codex/write-edit': [3, 5, 8, 9, 11, 14, 16, 18, 21, 22] },
  'label:imported=8e89f723-0a6b-41e4-9b43-aba204f5e6ad.jsonl defines': { 'claude/read': [18] },
};

verifies(
  ['SE-1', 'SE-2'],
  'known answers in the recordings',
  async () => {
    const names = await importAll();
    for (const [query, expected] of Object.entries(KNOWN)) {
      const result = await search(query);
      const wanted = Object.entries(expected).flatMap(([name, seqs]) =>
        seqs.map((seq) => `${name}:${seq}`),
      );
      expect(answers(result, names), `${query}\n${result.stderr}`).toEqual(wanted.sort());
      expect(result.code, query).toBe(wanted.length > 0 ? 0 : 1);
    }
  },
  180_000,
);

verifies('SE-2', 'hits are grouped by run, with marks, totals and a hint', async () => {
  const folder = join(root, 'src/agents/claude/testdata/bash-fail/session');
  await tacho(['import', 'claude', sessionIn(folder)]);
  const { stdout, code } = await tacho(['search', 'recovered', '--hits', '2'], {
    env: { TZ: 'UTC' },
  });
  expect(code).toBe(0);
  expect(stdout.split('\n')).toEqual([
    expect.stringMatching(/^01m7ecbt13 {2}2026-11-15 01:\d\d {2}claude {2}project {2}ok$/),
    '    18  message_finished    **Recovered**.',
    '    13  call_requested Bash  echo **recovered**',
    '        and 1 more hit',
    '',
    '3 hits in 1 run',
    'tacho show RUN --at seq:N opens a run at an event',
    '',
  ]);
  const shown = await tacho(['show', '01m7ecbt13', '--at', 'seq:11']);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toContain('recovered');
  const coloured = await tacho(['search', 'recovered'], { env: { FORCE_COLOR: '1' } });
  expect(coloured.stdout).toContain('echo \u001b[1mrecovered\u001b[22m');
});

verifies('SE-1', 'a mistake in the query is shown with its position', async () => {
  await tacho(demo('fixed'));
  const human = await tacho(['search', 'timeout colour:red']);
  expect(human).toMatchObject({ code: 2, stdout: '' });
  expect(human.stderr.split('\n').slice(1)).toEqual([
    '  timeout colour:red',
    '          ^^^^^^^',
    '',
  ]);
  const json = await tacho(['search', '--json', '日本 "open']);
  expect(json.code).toBe(2);
  expect(json.records).toEqual([
    { error: { code: 'usage', message: expect.stringContaining('quote'), offset: 3, length: 1 } },
  ]);
  const none = await tacho(['search', 'nosuchword']);
  expect(none).toMatchObject({ code: 1, stdout: 'Nothing found.\n' });
});

/** Arguments of a run of the chaos agent with these steps. */
function demoOf(steps: readonly object[]): string[] {
  const script = join(place.folder, 'script.yaml');
  writeFileSync(script, JSON.stringify({ steps }));
  return demo(script);
}

/** All words of the search index. */
function indexedWords(): string[] {
  const db = new DatabaseSync(join(place.state, 'search.db'));
  db.exec(`CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab('main', 'text', 'row')`);
  const words = db.prepare('SELECT term FROM temp.vocabulary').all();
  db.close();
  return words.map(({ term }) => String(term));
}

verifies(
  'SE-3',
  'redacted text is not in the index, and removed runs are erased from it',
  async () => {
    const secret = 'Zq81mKpXv0tRs5Wd9Lb2';
    const script = (word: string) =>
      demoOf([
        { say: `The key is ${secret} and the word is ${word}.` },
        { calls: [{ tool: 'run', input: { cmd: `echo ${secret}` } }] },
      ]);
    const env = { MY_API_KEY: secret };
    const first = (await tacho(script('aubergine'), { env })).records[0].run_id as string;
    await tacho(script('zucchini'), { env });
    expect((await search('"the word is"')).records).toHaveLength(2);
    const words = indexedWords();
    expect(words).toContain('aubergine');
    expect(words.filter((word) => word.includes('zq81') || word.includes('9lb2'))).toEqual([]);
    expect((await search(secret)).code).toBe(1);

    expect((await tacho(['runs', 'rm', first, '--yes'])).code).toBe(0);
    expect(indexedWords()).not.toContain('aubergine');
    for (const name of readdirSync(place.state).filter((name) => name.startsWith('search.db')))
      expect(readFileSync(join(place.state, name), 'latin1')).not.toContain('aubergine');
    expect((await search('aubergine')).code).toBe(1);
    expect((await search('zucchini')).records).toHaveLength(1);
  },
);

verifies(
  'SE-3',
  'a live run is found within a second after its event',
  async () => {
    const script = join(place.work, 'script.json');
    writeFileSync(script, '');
    const run = place.start(demoOf([{ say: 'The pomegranate is ripe.' }, { hang: true }]), {
      contract: 'cut',
    });
    let found: Result | null = null;
    const end = performance.now() + 30_000;
    while (found?.code !== 0 && performance.now() < end) found = await search('pomegranate');
    expect(found?.records[0]).toMatchObject({ exit_reason: null, kind: 'message_finished' });
    kill(run.pid);
    await run.done;
  },
  60_000,
);

verifies(
  'SE-3',
  'a search that is killed while it builds the index loses nothing',
  async () => {
    const names = await importAll();
    const complete = answers(await search('the'), names);
    await tacho(['runs', 'reindex']);
    for (let at = 0; at < 8; at++) {
      const started = place.start(['search', 'the']);
      await new Promise((resolve) => setTimeout(resolve, 60 + at * 20));
      kill(started.pid);
      await started.done;
    }
    expect(answers(await search('the'), names)).toEqual(complete);
  },
  120_000,
);

test('searches at the same time all get the same answer', async () => {
  const names = await importAll();
  const results = await Promise.all(Array.from({ length: 4 }, () => search('read')));
  const [first] = results.map((result) => answers(result, names));
  expect(first?.length).toBeGreaterThan(0);
  for (const result of results) expect(answers(result, names)).toEqual(first);
  await until(() => place.left().length === 0);
}, 120_000);
