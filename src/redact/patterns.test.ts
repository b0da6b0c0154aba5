import { expect, test } from 'vitest';
import { cpuMs } from '../../test/cpu-ms.ts';
import { verifies } from '../../test/e2e/verifies.ts';
import { secretHash } from '../store/journal/hash.ts';
import { createRedactor } from './redact.ts';

const redactor = (patterns: string[]) =>
  createRedactor({ env: {}, secret_env: [], patterns, hash: secretHash(Buffer.alloc(32, 1)) });

/** The maximum number of patterns of a kind that are accepted together. */
function greatestList(pattern: (at: number) => string): string[] {
  const list: string[] = [];
  for (let at = 0; at < 64; at++) {
    try {
      redactor([...list, pattern(at)]);
    } catch {
      break;
    }
    list.push(pattern(at));
  }
  return list;
}

const KINDS: ((at: number) => string)[] = [
  (at) => `[a-z]{0,20}!${at}`,
  (at) => `(?:a|b${at})c`,
  // Its cost does not show in any sample.
  (at) => `b(?:a[^zc]*z${at})?`,
];

verifies('ST-7', 'the largest accepted list of patterns reads every text quickly', () => {
  const slow: string[] = [];
  for (const kind of KINDS) {
    const list = greatestList(kind);
    expect(list.length).toBeGreaterThan(0);
    for (const [what, parts] of [
      ['whole', ['ab'.repeat(2 ** 13)]],
      ['letters', [...'ab'.repeat(2_000)]],
      ['long words', [...`${'a'.repeat(255)} `.repeat(4)]],
    ] as const) {
      const tool = redactor(list);
      const start = cpuMs();
      for (const part of parts) tool.delta('k', part);
      tool.flush('k');
      const ms = cpuMs() - start;
      // Up to 0.4 s on an idle machine.
      if (ms > 6_000) slow.push(`${list.length} like ${list[0]}, ${what}: ${ms} ms`);
    }
  }
  expect(slow).toEqual([]);
});

verifies('ST-7', 'a text that uses up the steps of all patterns is given up immediately', () => {
  // The cost of each shows in no sample, and exceeds the budget in one pass of this text.
  const list = greatestList((at) => `ab[^zc]{0,200}z${at}`);
  expect(list.length).toBeGreaterThan(20);
  const tool = redactor(list);
  const start = cpuMs();
  expect(tool.text('ab'.repeat(2 ** 16))).not.toContain('ab');
  // 0.5 s on an idle machine; 20 s if each pattern reads all of it.
  expect(cpuMs() - start).toBeLessThan(6_000);
});

test('a list is refused at the pattern that makes it too expensive, and many cheap ones are accepted', () => {
  const costly = ['[a-f0-9]{64}', '[a-f0-9]{65}', '[a-f0-9]{66}', '[a-f0-9]{67}', '[a-f0-9]{68}'];
  expect(() => redactor(costly)).toThrow(
    /"\[a-f0-9\]\{67\}" takes too many steps together with the 3 before it/,
  );
  const many = Array.from({ length: 65 }, (_, at) => `ACME${at}-[0-9]{8,}`);
  expect(() => redactor(many.slice(1))).not.toThrow();
  expect(() => redactor(many)).toThrow('at most 64 are allowed');
});

test('patterns find the same in pieces of any size as in the whole text', () => {
  const tool = redactor(['ACME-[0-9]{4,}', 'pin [a-z]{3}', '[0-9]+[a-z]+!']);
  const text = `x ACME-12345 1${'a'.repeat(300)}! pin abc ${'ab '.repeat(2_000)}${'b'.repeat(5_000)} ACME-1234`;
  for (const size of [1, 2, 7, 100, 5_000]) {
    let given = '';
    for (let at = 0; at < text.length; at += size)
      given += tool.delta('k', text.slice(at, at + size));
    expect(given + tool.flush('k')).toBe(tool.text(text));
  }
});
