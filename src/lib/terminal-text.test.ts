import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { columns, forTerminal, oneLine, takeColumns, wrapLines } from './terminal-text.ts';

const FORBIDDEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|\p{Cs}/u;
const anyText = fc.string({ unit: 'binary', maxLength: 300 });

describe('forTerminal', () => {
  test('shows escape sequences instead of passing them on', () => {
    expect(forTerminal('\u001b[31mred\u001b[0m \u009b2J\u0007')).toBe(
      '\\u{1b}[31mred\\u{1b}[0m \\u{9b}2J\\u{7}',
    );
  });

  test('shows reordering, invisible and tag characters and lone surrogates', () => {
    expect(forTerminal('a\u202eb\u2066c\u200bd\ufeffe\u{e0041}f\ud800g\u00adh')).toBe(
      'a\\u{202e}b\\u{2066}c\\u{200b}d\\u{feff}e\\u{e0041}f\\u{d800}g\\u{ad}h',
    );
  });

  test('leaves ordinary text of any script unchanged', () => {
    const text = 'Zażółć gęślą jaźń\n\t日本語 עברית العربية ไทย é e\u0301 ✓ →';
    expect(forTerminal(text)).toBe(text);
  });

  test('leaves complete emoji with their joiners and selectors unchanged', () => {
    const text = '👩‍👩‍👧 🏳️‍🌈 ❤️ 👍🏽 🇵🇱 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿';
    expect(forTerminal(text)).toBe(text);
    expect(forTerminal('x\u200dy\ufe0f')).toBe('x\\u{200d}y\\u{fe0f}');
  });

  test('turns CRLF into LF and shows a lone CR', () => {
    expect(forTerminal('one\r\ntwo\rthree')).toBe('one\ntwo\\u{d}three');
  });

  test('lets no control character through, whatever the code point', () => {
    const came: string[] = [];
    for (let page = 0; page <= 0x10ffff; page += 0x100) {
      const codes = Array.from({ length: 0x100 }, (_, index) => page + index);
      const safe = forTerminal(codes.map((code) => String.fromCodePoint(code)).join(' '));
      if (FORBIDDEN.test(safe)) came.push(`within U+${page.toString(16)} and the next 255`);
    }
    expect(came).toEqual([]);
  });

  test('lets no control character through in any text, and gives the same when applied twice', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const safe = forTerminal(text);
        return (
          !FORBIDDEN.test(safe.replaceAll(/\p{RGI_Emoji}/gv, '')) && forTerminal(safe) === safe
        );
      }),
    );
  });
});

describe('oneLine', () => {
  test('collapses white space and leaves text that fits', () => {
    expect(oneLine('  a \n\t b  ', 10)).toBe('a b');
    expect(oneLine('0123456789', 10)).toBe('0123456789');
  });

  test('cuts by columns, not by characters', () => {
    expect(oneLine('0123456789a', 10)).toBe('012345678…');
    expect(oneLine('日本語日本語', 8)).toBe('日本語…');
    expect(oneLine('日本語', 6)).toBe('日本語');
    expect(oneLine('👩‍👩‍👧👩‍👩‍👧', 3)).toBe('👩‍👩‍👧…');
    expect(oneLine('abcdef', 5, '...')).toBe('ab...');
    expect(oneLine('abc', 2, '...')).toBe('..');
    expect(oneLine('abc', 0)).toBe('');
  });

  test('never exceeds its columns, for any text', () => {
    fc.assert(
      fc.property(anyText, fc.nat(120), (text, width) => {
        const line = oneLine(text, width);
        return columns(line) <= width && !line.includes('\n');
      }),
    );
  });

  test('cuts a text of many megabytes immediately', () => {
    expect(oneLine('x'.repeat(8_000_000), 4)).toBe('xxx…');
  });
});

describe('wrapLines', () => {
  test('keeps line ends, expands tabs and breaks a word that is longer than a line', () => {
    expect(wrapLines('abcdef\n\n\tx', 4)).toEqual(['abcd', 'ef', '', '    ', 'x']);
    expect(wrapLines('日本語', 4)).toEqual(['日本', '語']);
    expect(wrapLines('日', 1)).toEqual(['日']);
  });

  test('breaks between words', () => {
    expect(wrapLines('a misspelt variable is here', 14)).toEqual([
      'a misspelt',
      'variable is',
      'here',
    ]);
    expect(wrapLines('  see /a/long/path  ok', 12)).toEqual(['  see', '/a/long/path', 'ok']);
    expect(wrapLines('Größe ändern für alle', 12)).toEqual(['Größe ändern', 'für alle']);
  });

  test('breaks East Asian text between characters, and not before a full stop', () => {
    expect(wrapLines('これは日本語の文章です。次 hello world', 10)).toEqual([
      'これは日本',
      '語の文章で',
      'す。次',
      'hello',
      'world',
    ]);
  });

  test('loses nothing but line ends and the spaces around them, and stays within the width', () => {
    const words = fc.string({ unit: fc.constantFrom('a', ' ', 'é', '日', '。', '👩‍👧', '\n') });
    fc.assert(
      fc.property(fc.oneof(anyText, words), fc.integer({ min: 2, max: 40 }), (text, width) => {
        const safe = forTerminal(text).replaceAll('\t', '    ');
        const lines = wrapLines(text, width);
        const bare = (all: string) => all.replaceAll(/[ \n]/g, '');
        expect(bare(lines.join(''))).toBe(bare(safe));
        for (const line of lines) expect(columns(line)).toBeLessThanOrEqual(width);
      }),
    );
  });
});

test('takeColumns takes whole characters only', () => {
  expect(takeColumns('a日b', 2)).toBe('a');
  expect(takeColumns('e\u0301x', 1)).toBe('e\u0301');
  expect(takeColumns('abc', -1)).toBe('');
});
