/** Plain objects are not lookup tables for foreign words (CONTRIBUTING.md). */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Source, unguardedLookups } from './lookups.ts';

const root = join(import.meta.dirname, '../..');

function sources(): Source[] {
  return globSync('src/**/*.ts', { cwd: root })
    .filter((path) => !path.endsWith('.test.ts'))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

test('no table is indexed by a word that it might inherit: use own() of lib/own.ts, or a Map', () => {
  expect(unguardedLookups(sources())).toEqual([]);
});

const found = (...texts: string[]) =>
  unguardedLookups(texts.map((text, n) => ({ path: `${n}.ts`, text }))).length;

test('the rule finds such lookups', () => {
  const tables = [
    'const TABLE: Record<string, number> = { a: 1 };',
    'const TABLE: Readonly<Record<string, number>> = { a: 1 };',
    "const TABLE: Partial<Record<'a' | 'b', number>> = { a: 1 };",
    "const TABLE: Readonly<Partial<Record<'a' | 'b', number>>> = { a: 1 };",
    'const TABLE: { [word: string]: number } = { a: 1 };',
    'type Words = Readonly<Record<string, number>>;\nconst TABLE: Words = { a: 1 };',
  ];
  for (const table of tables) {
    expect(found(`${table}\nconst x = TABLE[word];`)).toBe(1);
    expect(found(`${table}\nconst x = TABLE[textOf(item.status) ?? ''] ?? null;`)).toBe(1);
    expect(found(`${table}\nTABLE[word] = (TABLE[word] ?? 0) + 1;`)).toBe(2);
    expect(found(`${table}\nif (word in TABLE) use(word);`)).toBe(1);
    const exported = table.replace('const TABLE', 'export const TABLE');
    expect(found(exported, "import { TABLE } from './0.ts';\nuse(TABLE[word]);")).toBe(1);
  }
  const field =
    'class A { readonly #on: Record<string, Handler> = {};\n f() { this.#on[type](); } }';
  expect(found(field)).toBe(1);
  expect(found('const T = { a: 1 };\nconst x = T[word as keyof typeof T];')).toBe(1);
});

test('the rule accepts all other code', () => {
  const table = 'const TABLE: Record<string, number> = { a: 1 };\n';
  expect(found(`${table}const x = own(TABLE, word);`)).toBe(0);
  expect(found(`${table}const x = Object.hasOwn(TABLE, word) ? TABLE[word] : 0;`)).toBe(0);
  expect(found(`${table}const x = TABLE['a'];`)).toBe(0);
  expect(found('const LIST: number[] = [];\nconst x = LIST[at];')).toBe(0);
  expect(found(`${table}// TABLE[word]`)).toBe(0);
  expect(found(`${table}for (const word in TABLE) use(word);`)).toBe(0);
});
