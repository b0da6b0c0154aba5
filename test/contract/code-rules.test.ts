/** Rules for code that starts and runs fast (CONTRIBUTING.md), and the allowed exceptions, each with its reason. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { breaches, type Rule } from './code-rules.ts';

const root = join(import.meta.dirname, '../..');

interface Allowed {
  rule: Rule;
  path: string;
  /** Number of places in this file. */
  places: number;
  reason: string;
}

const QUEUE = 'a Map as a queue';

/** A queue is allowed up to 500 entries; above that, deletion becomes measurably slow. */
const ALLOWED: readonly Allowed[] = [
  {
    rule: QUEUE,
    path: 'src/agents/kit/opencode-family/texts.ts',
    places: 1,
    reason: 'all texts are dropped together, at a total length or at 1,000 texts',
  },
  {
    rule: QUEUE,
    path: 'src/capture/call-states.ts',
    places: 1,
    reason: 'half of the Map is dropped when it reaches twice its limit',
  },
  {
    rule: QUEUE,
    path: 'src/lib/bounded.ts',
    places: 3,
    reason: 'the helper itself; RecentMap and RecentSet drop half at once',
  },
  {
    rule: 'V8 flag at run time',
    path: 'src/lib/memory.ts',
    places: 4,
    reason:
      'gc, growth of young space, age of code, calls before TurboFan: V8 rereads each at every use',
  },
  {
    rule: QUEUE,
    path: 'src/live/collector/long-lines.ts',
    places: 1,
    reason: 'iterates over connections that wait for a place: at most 512',
  },
  {
    rule: QUEUE,
    path: 'src/projections/live/calls.ts',
    places: 1,
    reason: 'the first open call is read, not deleted',
  },
  {
    rule: QUEUE,
    path: 'src/projections/live/texts.ts',
    places: 1,
    reason: 'texts streamed at the same time: at most 256',
  },
  {
    rule: 'table at load',
    path: 'src/redact/rules.ts',
    places: 2,
    reason: 'the first two bytes of each kind of key: 22 entries in a table of bytes',
  },
];

const sources = () =>
  globSync('src/**/*.ts', { cwd: root })
    .filter((path) => !path.endsWith('.test.ts') && !path.includes('/generated/'))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

test('no file breaks a rule, except where listed with a reason', () => {
  const found = breaches(sources());
  const left = found.filter(
    ({ rule, path }) => !ALLOWED.some((one) => one.rule === rule && one.path === path),
  );
  expect(left).toEqual([]);
  const counted = ALLOWED.map(({ rule, path }) => ({
    rule,
    path,
    places: found.filter((one) => one.rule === rule && one.path === path).length,
  }));
  expect(counted).toEqual(ALLOWED.map(({ rule, path, places }) => ({ rule, path, places })));
  for (const { reason } of ALLOWED) expect(reason.length).toBeGreaterThan(20);
});

const rulesOf = (text: string, path = 'src/app/some.ts') =>
  breaches([{ path, text }]).map(({ rule }) => rule);

describe('each rule finds its target', () => {
  test('Intl objects and Unicode expressions created when a file is loaded', () => {
    for (const text of [
      'const segmenter = new Intl.Segmenter();',
      'const made: Intl.Collator = (() => { return new Intl.Collator(); })();',
      'const TABLE = { collator: new Intl.Collator() };',
    ])
      expect(rulesOf(text)).toEqual(['Intl at load']);
    for (const text of [
      'const LETTER = /\\p{L}/u;',
      'const EMOJI = /^[\\q{a}]$/v;',
      'export const T = { a: [/x/, /[\\p{Cc}/]/gu] };',
      "const LETTER = new RegExp('\\\\p{L}', 'u');",
      `const LETTER = new RegExp(\`^\${x}\\\\P{L}\`, "u");`,
    ])
      expect(rulesOf(text)).toEqual(['Unicode expression at load']);
  });

  test('tables computed when a file is loaded', () => {
    const calls = Array.from({ length: 101 }, (_, n) => `make(${n})`).join(', ');
    for (const text of [
      `const T = [${calls}];`,
      `const T = new Map([${calls.replaceAll('make(', "['a', f(").replaceAll(')', ')]')}]);`,
      'const T = Array.from({ length: 1000 }, (_, n) => n * n);',
      'const T = new Uint32Array(65536);',
      'const T = [];\nfor (let n = 0; n < 9; n++) T.push(n);',
    ])
      expect(rulesOf(text)).toEqual(['table at load']);
  });

  test('the first key of a Map, taken repeatedly', () => {
    for (const text of [
      'function f() { map.delete(map.keys().next().value); }',
      'class A { f() { return this.#map.entries().next().value; } }',
      'function f() { for (const key of map.keys()) { if (map.size < 9) break; map.delete(key); } }',
      'function f() { for (const [key] of this.#map) { this.#map.delete(key); return; } }',
      'function f() { dropOldest(map, 10); }',
    ])
      expect(rulesOf(text)).toEqual([QUEUE]);
  });

  test('V8 flags set at run time', () => {
    const text = "function f() { setFlagsFromString('--no-opt'); }";
    expect(rulesOf(text)).toEqual(['V8 flag at run time']);
  });

  test('opening, listing or reading inside a loop over runs', () => {
    for (const text of [
      'function f() { for (const run of runs) { using index = openIndex(state); } }',
      'async function f() { for await (const id of state.run_ids) await readSession(journal, id); }',
      'const sizes = (rows: Row[]) => rows.map((row) => statSync(row.path).size);',
      'const f = () => index.runs.filter(isOld).forEach((run) => { listSegments(run.journal); });',
    ])
      expect(rulesOf(text)).toEqual(['work in a loop over runs']);
  });
});

test('the rules accept all other code', () => {
  for (const text of [
    'const segmenter = lazy(() => new Intl.Segmenter());',
    'function f(): Intl.Segmenter { return new Intl.Segmenter(); }',
    'class A { readonly made = new Intl.Segmenter(); }',
    'const f = (x: string) => x.replace(/\\p{L}/gu, "");',
    `// new Intl.Segmenter(), /\\p{L}/u\nconst s = 'Intl.Segmenter';\nconst t = \`Intl \${1} \\\\p{L}\`;`,
    'const half = a / b;\nconst PLAIN = /[a-z/]+/g;',
    'const T = { a: 1, b: [2, 3], c: new Set(["x"]) };',
    'function f() { for (const key of map.keys()) use(key); }',
    'function f() { for (const key of map.keys()) { map.delete(key); } }',
    'function f() { using index = openIndex(state); for (const run of runs) index.get(run); }',
    'function f() { for (const segment of segments) scanSegment(segment); }',
  ])
    expect(rulesOf(text), text).toEqual([]);
  const loop = 'function f() { for (const run of runs) readSession(run); }';
  expect(rulesOf(loop, 'src/store/index/some.ts')).toEqual([]);
});
