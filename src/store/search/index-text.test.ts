import { expect, test } from 'vitest';
import { splitText, toolMark, withoutData } from './index-text.ts';

const words = (text: string) =>
  splitText(text)
    .text.split(/[\s_]+/)
    .filter((word) => word !== '');

test('identifiers are split into their parts and kept as a whole', () => {
  const cases: Record<string, [parts: string[], whole: string[]]> = {
    getUserName: [['get', 'User', 'Name'], ['getUserName']],
    user_name: [['user', 'name'], ['username']],
    HTTPServer: [['HTTP', 'Server'], ['HTTPServer']],
    parseURL: [['parse', 'URL'], ['parseURL']],
    utf8Text: [['utf8', 'Text'], ['utf8Text']],
    MAX_BYTES: [['MAX', 'BYTES'], ['MAXBYTES']],
    sha256: [['sha256'], []],
    plain: [['plain'], []],
  };
  for (const [text, [parts, whole]] of Object.entries(cases)) {
    expect(words(text), text).toEqual(parts);
    expect(splitText(text).whole, text).toEqual(whole);
  }
});

test('every CJK character is a word, also beyond the first plane', () => {
  expect(words('検索test')).toEqual(['検', '索', 'test']);
  expect(words('한국어')).toEqual(['한', '국', '어']);
  expect(words('a\u{20bb7}野')).toEqual(['a', '\u{20bb7}', '野']);
});

test('other text is unchanged, and private characters are removed', () => {
  expect(splitText('naïve — don’t "x" 1.5').text).toBe('naïve — don’t "x" 1.5');
  expect(splitText('a\ue001b').text).toBe('a b');
  expect(splitText('e\u0301').text).toBe('\u00e9');
});

test('the mark of a tool is one word', () => {
  expect(toolMark('mcp__toy__add')).toBe('\ue001mcp\ue002\ue002toy\ue002\ue002add');
  expect(toolMark('Bash')).toBe('\ue001Bash');
});

test('encoded data is left out wherever it begins', () => {
  const data = 'iVBORw0KGgo+/'.repeat(20);
  for (let before = 0; before < 450; before += 7) {
    const words = 'ab '.repeat(200).slice(0, before);
    expect(withoutData(`${words} ${data}, after`)).toBe(`${words}  , after`);
  }
  expect(withoutData('a'.repeat(199))).toBe('a'.repeat(199));
  expect(withoutData(`${data} x ${data}`)).toBe('  x  ');
});

test('beyond a number, further words with digits are left out', () => {
  const found = splitText('id1a id2b sha256Sum id1a id3c v2 end', 2);
  expect(found.text.replaceAll('\ue000', '#').split(/\s+/)).toEqual([
    'id1a',
    'id2b',
    '#',
    'id1a',
    '#',
    'v2',
    'end',
  ]);
  expect(found).toMatchObject({ whole: [], cut: true });
  expect(splitText('sha256Sum x', 2)).toEqual({
    text: 'sha256 Sum x',
    whole: ['sha256Sum'],
    cut: false,
  });
});
