import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { CONFIG, createMaker, type MakeEvent } from '../../../test/build-events.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { journalLine } from '../../../test/fixtures/edit-journal.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { useLimits } from '../../../test/use-limits.ts';
import type { Event } from '../../model/event.ts';
import { SEARCH_LIMITS } from '../../store/search/limits.ts';
import { openStateDir, type StateDir } from '../../store/state-dir.ts';
import { openStore, type Store } from '../runs/open-store.ts';
import { QueryError } from './query-error.ts';
import { updateSearch } from './search.ts';
import type { SearchOptions } from './search-for-program.ts';

const HEADER = `${JSON.stringify({ v: 1, pid: 1_073_741_824, ticks: 1, space: null })}\n`;
const runId = (at: number) => `r_01m7ek9wah${String(at).padStart(16, '0')}`;
const DAY_MS = 86_400_000;

interface Made {
  state: StateDir;
  store: Store;
  notices: string[];
  /** Adds a segment with these events. */
  add(segment: number, events: readonly Event[]): void;
  /** Hits as `run:seq`, in the order of the result. */
  hits(query: string, options?: SearchOptions): Promise<string[]>;
}

function newStore(): Made {
  const state = openStateDir(join(testFolder(), 'state'));
  const notices: string[] = [];
  const store = openStore({ stateDir: state.path, onNotice: (text) => notices.push(text) });
  return {
    ...{ state, store, notices },
    add(segment, events) {
      const lines = events.map((event) =>
        journalLine({ s: event.run_id, o: 'capture', n: event.seq, e: event }),
      );
      const name = `${String(segment).padStart(26, '0')}.jsonl`;
      const bytes = Buffer.concat([Buffer.from(HEADER), ...lines]);
      writeFileSync(join(state.journal, name), bytes, { mode: 0o600 });
    },
    async hits(query, options = {}) {
      const page = await store.search(query, { limit: 100, hits: 100, ...options });
      return page.hits.map(({ run_id, seq }) => `${Number(run_id.slice(-6))}:${seq}`);
    },
  };
}

type Body = (make: MakeEvent) => Event[];

interface RunMade {
  agent?: string;
  model?: string;
  labels?: Record<string, string>;
  project?: string;
  cost?: number;
  failed?: true;
  prompt?: string;
  open?: true;
}

/** The events of a run, each a day after the other. */
function runOf(at: number, body: Body, made: RunMade = {}): Event[] {
  const { agent = 'demo', model = 'toy', labels = {}, failed, cost } = made;
  const maker = createMaker();
  const own = { run_id: runId(at), at_ms: 1_780_000_000_000 + at * DAY_MS };
  const make = ((kind: never, data: never) => maker(kind, data, own)) as unknown as MakeEvent;
  const project = { path: made.project ?? '/home/user/shop', remote: null };
  const config = { ...CONFIG, agent, labels };
  const started = make('run_started', {
    agent,
    model,
    config,
    project,
    prompt: made.prompt ?? 'Go',
  });
  const events = [started, ...body(make)];
  if (made.open) return events;
  const end = failed ? { ok: false, exit_reason: 'agent_error' as const } : { ok: true };
  const money = cost === undefined ? {} : { cost_usd: cost, cost_source: 'agent' as const };
  return [...events, make('run_finished', { model, ...end, ...money })];
}

const say =
  (text: string): Body =>
  (make) => [make('message_finished', { text })];

verifies(
  'SE-1',
  'words, phrases, prefixes, excluded words, parts of identifiers, CJK',
  async () => {
    const { add, hits } = newStore();
    add(1, [
      ...runOf(1, say('The connection was refused by getUserName in cart_total.')),
      ...runOf(2, say('Connection: refused! The HTTPServer of the user name failed.')),
      ...runOf(3, say('全文検索と日本語のテスト. naïve Café')),
      ...runOf(4, say('refused connection, configuration, config')),
    ]);
    const cases: Record<string, string[]> = {
      refused: ['4:2', '2:2', '1:2'],
      'connection refused': ['4:2', '2:2', '1:2'],
      '"connection refused"': ['2:2'],
      '"refused connection"': ['4:2'],
      'refused -configuration': ['2:2', '1:2'],
      'refused -"connection refused"': ['4:2', '1:2'],
      'conf*': ['4:2'],
      config: ['4:2'],
      user: ['2:2', '1:2'],
      getUserName: ['1:2'],
      getusername: ['1:2'],
      GETUSERNAME: ['1:2'],
      // A word of several parts is a phrase.
      UserName: ['2:2', '1:2'],
      getUser: ['1:2'],
      'getUs*': ['1:2'],
      'getus*': ['1:2'],
      // Neither a part nor the whole.
      serN: [],
      cartTotal: ['1:2'],
      cart_total: ['1:2'],
      total: ['1:2'],
      httpserver: ['2:2'],
      server: ['2:2'],
      検索: ['3:2'],
      索: ['3:2'],
      日本語: ['3:2'],
      本日: [],
      テスト: ['3:2'],
      naive: ['3:2'],
      cafe: ['3:2'],
      CAFÉ: ['3:2'],
    };
    for (const [query, expected] of Object.entries(cases))
      expect(await hits(query), query).toEqual(expected);
  },
);

const EVERYWHERE: Body = (make) => [
  make('message_finished', { text: 'pear', role: 'user' }),
  make('message_delta', { text: 'pear' }),
  make('message_finished', { text: 'pear' }),
  make('thinking_finished', { text: 'pear' }),
  make('call_requested', { input: { command: 'cut pear', deep: [{ n: 'pear' }] } }),
  make('call_finished', { output: 'pear\n' }),
  make('call_finished', { output: 'pear\n', ok: false, status: 'error' }),
  make('file_changed', { path: '/home/user/shop/pear.ts' }),
  make('provider_failed', { message: 'no pear' }),
  make('problem', { detail: 'pear' }),
  make('agent_ended', { error: 'pear' }),
];

verifies(
  ['SE-1', 'SE-2'],
  'prompts, answers, thinking, inputs, outputs, paths and errors are found',
  async () => {
    const { add, store } = newStore();
    add(1, runOf(1, EVERYWHERE, { prompt: 'a pear' }));
    const { hits } = await store.search('pear', { hits: 20, sort: 'time' });
    expect(hits.map(({ seq, kind, place }) => `${seq} ${kind} ${place}`)).toEqual([
      '1 run_started prompt',
      '2 message_finished prompt',
      '4 message_finished answer',
      '5 thinking_finished thinking',
      '6 call_requested input',
      '7 call_finished output',
      '8 call_finished error',
      '9 file_changed path',
      '10 provider_failed error',
      '11 problem error',
      '12 agent_ended error',
    ]);
    const [first] = hits;
    expect(first).toEqual({
      run_id: runId(1),
      agent: 'demo',
      model: 'toy',
      project: '/home/user/shop',
      started_ms: 1_780_086_400_000,
      exit_reason: 'ok',
      seq: 1,
      kind: 'run_started',
      place: 'prompt',
      tool: null,
      at_ms: 1_780_086_400_000,
      snippet: { text: 'a pear', marks: [[2, 6]] },
      run_hits: 11,
    });
    const ranked = await store.search('pear', { hits: 20 });
    expect(ranked.hits.map(({ place }) => place)).toEqual([
      ...['prompt', 'prompt', 'answer', 'path', 'input'],
      ...['error', 'error', 'error', 'error', 'output', 'thinking'],
    ]);
  },
);

verifies('SE-1', 'fields restrict runs and events', async () => {
  const { add, hits } = newStore();
  const bash =
    (text: string): Body =>
    (make) => [
      make('call_requested', { tool: 'Bash', input: { command: text }, reads: ['/a/notes.md'] }),
      make('call_requested', { tool: 'Read', input: { file_path: `/home/user/src/${text}.ts` } }),
      make('file_changed', { path: '/home/user/shop/src/cart/Total.ts' }),
    ];
  const claude = { agent: 'claude', model: 'sonnet-5', project: '/home/user/shop' };
  const codex = { agent: 'codex', model: 'gpt-6', project: '/home/user/bank' };
  add(1, [
    ...runOf(1, bash('kiwi'), { ...claude, cost: 0.5, labels: { ci: '1', build: '7' } }),
    ...runOf(2, bash('kiwi'), { ...codex, cost: 2, failed: true, labels: { build: '8' } }),
    ...runOf(3, (make) => [...bash('kiwi')(make), make('problem', { detail: 'x' })], claude),
  ]);
  const all = ['3:2', '3:3', '2:2', '2:3', '1:2', '1:3'];
  const cases: Record<string, string[]> = {
    kiwi: all,
    'kiwi agent:claude': ['3:2', '3:3', '1:2', '1:3'],
    'kiwi -agent:claude': ['2:2', '2:3'],
    'kiwi agent:claude agent:codex': all,
    'kiwi model:GPT': ['2:2', '2:3'],
    'kiwi project:bank': ['2:2', '2:3'],
    'kiwi status:agent_error': ['2:2', '2:3'],
    'kiwi is:failed': ['2:2', '2:3'],
    'kiwi is:ok': ['3:2', '3:3', '1:2', '1:3'],
    'kiwi label:build': ['2:2', '2:3', '1:2', '1:3'],
    'kiwi label:build=7': ['1:2', '1:3'],
    'kiwi label:build label:ci': ['1:2', '1:3'],
    'kiwi cost:>1': ['2:2', '2:3'],
    'kiwi cost:=0.5': ['1:2', '1:3'],
    'kiwi cost:>1 cost:<1': [],
    'kiwi has:problem': ['3:2', '3:3'],
    'kiwi -has:problem is:ok': ['1:2', '1:3'],
    'kiwi tool:Bash': ['3:2', '2:2', '1:2'],
    'kiwi -tool:bash': ['3:3', '2:3', '1:3'],
    'tool:Read agent:codex': ['2:3'],
    'file:cart/total': ['3:4', '2:4', '1:4'],
    'file:notes.md': ['3:2', '2:2', '1:2'],
    'file:kiwi.ts agent:codex': ['2:3'],
    'file:src -file:cart': ['3:3', '2:3', '1:3'],
    // Only fields of runs: each run, at its first event.
    'agent:codex': ['2:1'],
    'has:problem': ['3:1'],
    'is:waiting': [],
    'since:2026-05-31 kiwi': ['3:2', '3:3'],
    'until:2026-05-29 kiwi': ['1:2', '1:3'],
  };
  for (const [query, expected] of Object.entries(cases))
    expect(await hits(query, { sort: 'time' }), query).toEqual(expected);
  expect(await hits('kiwi', { agent: 'codex', sort: 'time' })).toEqual(['2:2', '2:3']);
  const stateOf = (run_id: string) => (run_id === runId(2) ? ('waiting' as const) : null);
  expect(await hits('is:waiting', { stateOf })).toEqual(['2:1']);
  expect(await hits('kiwi -is:waiting tool:Bash', { stateOf })).toEqual(['3:2', '1:2']);
});

test('an unknown agent or project, and only excluded words, are reported with their position', async () => {
  const { add, store } = newStore();
  add(1, runOf(1, say('x')));
  const places: Record<string, [number, number]> = {
    'x agent:nobody': [2, 12],
    'x project:elsewhere': [2, 17],
    'agent:demo -x': [11, 2],
  };
  for (const [query, [offset, length]] of Object.entries(places)) {
    const error = await store.search(query).catch((cause: unknown) => cause);
    expect(error, query).toBeInstanceOf(QueryError);
    expect(error).toMatchObject({ code: 'usage', offset, length, query });
  }
});

verifies('SE-2', 'runs are sorted by relevance or by time, page by page', async () => {
  const { add, store, hits } = newStore();
  add(1, [
    ...runOf(1, say('other'), { prompt: 'plum' }),
    ...runOf(2, (make) => [make('thinking_finished', { text: 'plum' })]),
    ...runOf(3, (make) => [...say('plum')(make), ...say('plum')(make)]),
    ...runOf(4, say('plum')),
  ]);
  expect(await hits('plum')).toEqual(['1:1', '3:2', '3:3', '4:2', '2:2']);
  expect(await hits('plum', { sort: 'time' })).toEqual(['4:2', '3:2', '3:3', '2:2', '1:1']);
  expect(await hits('plum', { hits: 1 })).toEqual(['1:1', '3:2', '4:2', '2:2']);
  for (const [query, sort] of [
    ['plum', 'time'],
    ['plum', 'relevance'],
    ['agent:demo', 'relevance'],
  ] as const) {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.search(query, { sort, limit: 1, hits: 5, cursor });
      seen.push(...page.hits.map(({ run_id, seq }) => `${Number(run_id.slice(-6))}:${seq}`));
      cursor = page.cursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen, query).toEqual(await hits(query, { sort }));
  }
  const { total_runs, total_hits, exact } = await store.search('plum', { limit: 1 });
  expect({ total_runs, total_hits, exact }).toEqual({ total_runs: 4, total_hits: 5, exact: true });
});

verifies(
  ['SE-2', 'SE-4'],
  'more hits than are ranked: pages are complete, totals are lower bounds',
  async () => {
    const { add, hits, store } = newStore();
    const many = (make: MakeEvent) => Array.from({ length: 5 }, () => say('fig')(make)[0] as Event);
    const runs = Array.from({ length: 30 }, (_, at) =>
      runOf(at + 1, many, { labels: at % 10 === 0 ? { rare: '1' } : {} }),
    );
    add(1, runs.flat());
    const whole = await hits('fig label:rare', { sort: 'time' });
    expect(whole).toHaveLength(15);
    for (const probed_runs_max of [1, 100]) {
      useLimits(SEARCH_LIMITS, { ranked_hits_max: 12, probed_runs_max });
      expect(await hits('fig label:rare', { sort: 'time' }), `${probed_runs_max}`).toEqual(whole);
      expect(await hits('fig', { sort: 'time' })).toHaveLength(150);
      const page = await store.search('fig', { limit: 2 });
      expect(page.hits).toHaveLength(6);
      expect(page).toMatchObject({ exact: false });
      expect(page.total_hits).toBeLessThan(150);
    }
  },
);

verifies('SE-3', 'the search index is private, has no texts, and is small', async () => {
  const { add, hits, state } = newStore();
  add(1, runOf(1, say('a sentence about watermelons and the moon')));
  await hits('moon');
  expect(statSync(state.search).mode & 0o777).toBe(0o600);
  const bytes = readFileSync(state.search, 'latin1');
  expect(bytes).not.toContain('watermelons and');
  const db = new DatabaseSync(state.search, { readOnly: true });
  const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all();
  expect(tables.map(({ name }) => name)).not.toContain('text_content');
  db.close();
});

/** All words in the index. */
function wordsIn({ search }: StateDir): Set<string> {
  const db = new DatabaseSync(search);
  db.exec(`CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab('main', 'text', 'row')`);
  const words = db.prepare('SELECT term FROM temp.vocabulary').all();
  db.close();
  return new Set(words.map(({ term }) => String(term)));
}

verifies(
  'SE-3',
  'the words of removed runs are erased from the index, one by one or together',
  async () => {
    for (const erased_events_max of [2, 1_000]) {
      useLimits(SEARCH_LIMITS, { erased_events_max });
      await checkErased();
    }
  },
);

async function checkErased(): Promise<void> {
  const { add, hits, state, store } = newStore();
  add(1, [...runOf(1, say('shared apricot')), ...runOf(2, say('shared blueberry'))]);
  expect(await hits('shared')).toEqual(['2:2', '1:2']);
  expect(wordsIn(state).has('apricot')).toBe(true);
  await store.remove([runId(1)]);
  expect(wordsIn(state).has('apricot')).toBe(false);
  expect(wordsIn(state).has('blueberry')).toBe(true);
  for (const name of readdirSync(state.path).filter((name) => name.startsWith('search.db')))
    expect(readFileSync(join(state.path, name), 'latin1'), name).not.toContain('apricot');
  expect(await hits('shared')).toEqual(['2:2']);
  expect(await hits('apricot')).toEqual([]);
}

verifies(
  'SE-3',
  'a run that was removed without its words is erased with everything, which is rebuilt',
  async () => {
    const { add, hits, state, store } = newStore();
    add(1, [...runOf(1, say('shared apricot')), ...runOf(2, say('shared blueberry'))]);
    await hits('shared');
    const kept = readFileSync(state.search);
    await store.remove([runId(1)]);
    for (const end of ['-wal', '-shm']) rmSync(state.search + end, { force: true });
    writeFileSync(state.search, kept);
    expect(await hits('shared')).toEqual(['2:2']);
    expect(wordsIn(state).has('apricot')).toBe(false);
  },
);

verifies('SE-3', 'a lost, damaged or older index is rebuilt', async () => {
  const { add, hits, state, notices } = newStore();
  add(1, runOf(1, say('grape')));
  await hits('grape');
  const without = () => {
    for (const end of ['-wal', '-shm']) rmSync(state.search + end, { force: true });
  };
  const losses: Record<string, () => void> = {
    removed: () => rmSync(state.search),
    'not a database': () => writeFileSync(state.search, Buffer.alloc(30_000, 0xa5)),
    empty: () => writeFileSync(state.search, ''),
    older: () => {
      const db = new DatabaseSync(state.search);
      db.exec('DROP TABLE pages; PRAGMA user_version = 0');
      db.close();
    },
    'without a table': () => {
      const db = new DatabaseSync(state.search);
      db.exec('DROP TABLE pages');
      db.close();
    },
  };
  for (const [name, lose] of Object.entries(losses)) {
    without();
    lose();
    notices.length = 0;
    expect(await hits('grape'), name).toEqual(['1:2']);
    const damaged = ['not a database', 'without a table'].includes(name);
    expect(notices.filter((text) => text.includes('damaged')).length, name).toBe(damaged ? 1 : 0);
    expect(await hits('grape'), name).toEqual(['1:2']);
  }
});

verifies('SE-3', 'damage inside the index is noticed and repaired', async () => {
  const { add, hits, state } = newStore();
  const letters = (at: number) =>
    at.toString(26).replaceAll(/\d/g, (digit) => 'qrstuvwxyz'[Number(digit)] as string);
  const words = Array.from({ length: 4000 }, (_, at) => `word${letters(at)} lemon`).join(' ');
  add(1, runOf(1, say(words)));
  expect(await hits('lemon')).toEqual(['1:2']);
  for (const end of ['-wal', '-shm']) rmSync(state.search + end, { force: true });
  const bytes = readFileSync(state.search);
  bytes.fill(0xa5, 8192, bytes.length - 8192);
  writeFileSync(state.search, bytes);
  expect(await hits('lemon')).toEqual(['1:2']);
  expect(await hits(`word${letters(3999)}`)).toEqual(['1:2']);
});

verifies(
  'SE-3',
  'a run without an end is found, and the rest of it once it is written',
  async () => {
    const { add, hits } = newStore();
    const events = runOf(1, (make) => ['one', 'two', 'three'].flatMap((text) => say(text)(make)), {
      agent: 'claude',
      project: '/home/user/shop',
    });
    add(1, events.slice(0, 2));
    expect(await hits('one agent:claude')).toEqual(['1:2']);
    expect(await hits('two')).toEqual([]);
    expect(await hits('one agent:codex')).toEqual([]);
    expect(await hits('one is:ok')).toEqual([]);
    add(1, events.slice(0, 4));
    expect(await hits('two OR three'.replace(' OR three', ''))).toEqual(['1:3']);
    add(2, events.slice(4));
    expect(await hits('three is:ok')).toEqual(['1:4']);
    expect(await hits('one')).toEqual(['1:2']);
  },
);

test('events in another order than their segments are indexed once', async () => {
  const { add, hits, store } = newStore();
  const events = runOf(1, (make) => ['one', 'two', 'one'].flatMap((text) => say(text)(make)));
  add(1, events.slice(2));
  add(2, [...events.slice(0, 2), ...events.slice(0, 2)]);
  expect(new Set(await hits('one'))).toEqual(new Set(['1:4', '1:2']));
  expect((await store.search('one')).total_hits).toBe(2);
});

verifies('SE-3', 'catching up stops when its time is up and continues later', async () => {
  const { add, hits, state } = newStore();
  useLimits(SEARCH_LIMITS, { batch_lines: 3 });
  for (let at = 1; at <= 5; at++) add(at, runOf(at, say('quince')));
  let calls = 0;
  for (; !(await updateSearch(state, { budget_ms: 0 })).complete; calls++)
    expect(calls).toBeLessThan(50);
  expect(calls).toBeGreaterThan(0);
  expect(await updateSearch(state)).toEqual({ complete: true, bytes: 0 });
  expect(await hits('quince')).toHaveLength(5);
});

test('several processes may catch up at the same time', async () => {
  const { add, hits, state } = newStore();
  useLimits(SEARCH_LIMITS, { batch_lines: 5 });
  for (let at = 1; at <= 20; at++) add(at, runOf(at, say('lime')));
  await Promise.all([updateSearch(state), updateSearch(state), hits('lime')]);
  expect(await hits('lime')).toHaveLength(20);
});

verifies('SE-3', 'very long texts and encoded data are cut, and this is reported', async () => {
  const { add, hits, store } = newStore();
  useLimits(SEARCH_LIMITS, { text_chars_max: 1000 });
  add(1, [
    ...runOf(1, say(`first ${'filler '.repeat(200)} last`)),
    ...runOf(2, say(`before ${'iVBORw0KGgo'.repeat(30)} after`)),
    ...runOf(3, say(Array.from({ length: 100 }, (_, at) => `id-${at + 1000}`).join(' '))),
  ]);
  expect(await hits('first')).toEqual(['1:2']);
  expect(await hits('last')).toEqual([]);
  expect(await hits('"before after"')).toEqual(['2:2']);
  expect(await hits('1001')).toEqual(['3:2']);
  expect(await hits('1099')).toEqual([]);
  expect((await store.search('first')).cut_runs).toBe(3);
});

test('no phrase spans two values of an input', async () => {
  const { add, hits } = newStore();
  add(
    1,
    runOf(1, (make) => [make('call_requested', { input: { a: 'alpha', b: 'beta' } })]),
  );
  expect(await hits('alpha beta')).toEqual(['1:2']);
  expect(await hits('"alpha beta"')).toEqual([]);
});

test('foreign entries do not stop a search', async () => {
  const { add, hits, state } = newStore();
  add(1, runOf(1, say('melon')));
  const entries = [
    { s: runId(7), o: 'capture', n: 1, e: { kind: 'message_finished', data: 7 } },
    { s: runId(7), o: 'capture', n: 2, e: ['melon'] },
    {
      s: runId(7),
      o: 'capture',
      n: 3,
      e: { kind: 'message_finished', data: { text: { melon: 1 } } },
    },
    { s: runId(8), o: 'other', n: 1, e: { kind: 'message_finished', data: { text: 'melon' } } },
    {
      s: runId(9),
      o: 'capture',
      n: 1,
      e: { kind: 'message_finished', at_ms: -1e300, data: { text: 'melon \ud800' } },
    },
  ];
  const name = `${'2'.padStart(26, '0')}.jsonl`;
  const bytes = Buffer.concat([Buffer.from(HEADER), ...entries.map(journalLine)]);
  writeFileSync(join(state.journal, name), bytes, { mode: 0o600 });
  expect(await hits('melon')).toEqual(['1:2', '9:1']);
});

test('reindex drops the search index, and a store without runs has no hits', async () => {
  const { add, hits, state, store } = newStore();
  expect(await hits('x')).toEqual([]);
  add(1, runOf(1, say('x')));
  expect(await hits('x')).toEqual(['1:2']);
  await store.reindex();
  expect(existsSync(state.search)).toBe(false);
  expect(await hits('x')).toEqual(['1:2']);
  const missing = openStore({ stateDir: join(testFolder(), 'none') });
  expect((await missing.search('x')).hits).toEqual([]);
  await expect(missing.search('x colour:y')).rejects.toThrow('unknown field');
});
