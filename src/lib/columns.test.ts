import { describe, expect, test } from 'vitest';
import { characters, columns } from './columns.ts';

/** Widths as terminals show them, checked once against string-width 8.3 over every code point and 3 million mixed texts. */
const WIDTHS: [text: string, columns: number][] = [
  ['', 0],
  ['plain ASCII ~', 13],
  ['Zażółć gęślą jaźń', 17],
  ['Ελληνικά Кириллица', 18],
  ['… – — ‘’ “” • → ✓ │ ─ ≤ €', 25],
  ['日本語', 6],
  ['ひらがな カタカナ 中文 한국어', 29],
  ['全角ＡＢ', 8],
  ['ｶﾞｷﾞ', 4],
  ['e\u0301', 1],
  ['e\u0301\u0323\u20dd', 1],
  ['\u0301', 0],
  ['\u00ad\u200b\u2060\ufeff', 0],
  ['\u0000\u0007\u007f\u0085', 0],
  ['a\tb\nc', 3],
  ['\ud800', 0],
  ['\u1112\u1161\u11ab', 2],
  ['\u1100\u1100\u1161', 4],
  ['\u1161', 1],
  ['क्षि', 2],
  ['ไทยก็', 4],
  ['עברית', 5],
  ['🚀🎉', 4],
  ['❤', 1],
  ['❤️', 2],
  ['©', 1],
  ['©️', 2],
  ['1️⃣', 2],
  ['1\u20e3', 2],
  ['👍🏽', 2],
  ['👩‍👩‍👧‍👦', 2],
  ['🏳️‍🌈', 2],
  ['❤\u200d🔥', 2],
  ['🇵🇱🇯🇵', 4],
  ['🇦', 1],
  ['🏴󠁧󠁢󠁥󠁮󠁧󠁿', 2],
  ['⌚⏩♈⚡', 8],
  ['\u{20000}\u{3fffd}', 4],
  ['\u001b[31mred\u001b[0m', 3],
  ['\u001b[38;5;196m日\u001b[39m', 2],
  ['\u001b]8;;https://example.org\u0007link\u001b]8;;\u0007', 4],
  ['\u001b]0;title\u001b\\x', 1],
  ['\u009b1mx\u009b0m', 1],
  ['\u001b7x\u001b8', 1],
];

describe('the columns of a text', () => {
  test('match the width on terminals', () => {
    expect(WIDTHS.map(([text]) => [text, columns(text)])).toEqual(WIDTHS);
  });

  test('are the same for a text and for its characters', () => {
    for (const [text] of WIDTHS.filter(([text]) => !/[\u001b\u009b]/.test(text))) {
      const sum = [...characters(text)].reduce((all, { segment }) => all + columns(segment), 0);
      expect(columns(text)).toBe(sum);
    }
  });
});

describe('characters', () => {
  test('match the segmenter, in every script', () => {
    const segmenter = new Intl.Segmenter();
    for (const [text] of WIDTHS)
      expect([...characters(text)].map(({ segment, index }) => [index, segment])).toEqual(
        Array.from(segmenter.segment(text), ({ segment, index }) => [index, segment]),
      );
  });

  test('of simple text are its units, in any combination', () => {
    const simple: string[] = [];
    for (let code = 0x20; code < 0xd800; code++) {
      const unit = String.fromCharCode(code);
      // A segmenter object has the whole text as `input`.
      const [found] = characters(unit);
      if (found !== undefined && !('input' in found)) simple.push(unit);
    }
    expect(simple.length).toBeGreaterThan(40_000);
    const segmenter = new Intl.Segmenter();
    for (const step of [1, 7, 101, 9973]) {
      const text = simple.map((_, at) => simple[(at * step) % simple.length]).join('');
      expect(Array.from(segmenter.segment(text)).length).toBe(text.length);
    }
  });
});
