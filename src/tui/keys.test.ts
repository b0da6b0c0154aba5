import { expect, test } from 'vitest';
import { keyName, readKeys } from './keys.ts';

test('named keys are recognised in all of their forms, and all others are characters', () => {
  const typed =
    'k\u001b[A\u001bOA\u001b[C\u001bOD\u001b[5~\u001b[H\u001b[1~\r\n\t\u007f\u0003\u001b[Zé🚀';
  expect(readKeys('', typed)).toEqual({
    keys: [
      'k',
      '<up>',
      '<up>',
      '<right>',
      '<left>',
      '<page_up>',
      '<home>',
      '<home>',
      '<enter>',
      '<enter>',
      '<tab>',
      '<backspace>',
      '<ctrl_c>',
      '<backtab>',
      'é',
      '🚀',
    ],
    held: '',
  });
});

test('a sequence split over two reads is one key', () => {
  const first = readKeys('', 'j\u001b[');
  expect(first).toEqual({ keys: ['j'], held: '\u001b[' });
  expect(readKeys(first.held, '5~')).toEqual({ keys: ['<page_up>'], held: '' });
});

test('unknown sequences are ignored, and a lone escape does not swallow the next key', () => {
  expect(readKeys('', '\u001b[200~\u001b[1;5C\u0001\u001bq')).toEqual({
    keys: ['<escape>', 'q'],
    held: '',
  });
  expect(readKeys('', '\u001b')).toEqual({ keys: [], held: '\u001b' });
  expect(readKeys('', '\u001b\u001b')).toEqual({ keys: ['<escape>'], held: '\u001b' });
  expect(readKeys('\u001b', '\u001b[A')).toEqual({ keys: ['<escape>', '<up>'], held: '' });
});

test('keys have the names that people use', () => {
  const keys = ['<up>', '<page_down>', ' ', '<escape>', '<backtab>', '<ctrl_c>', 'G', '?'];
  expect(keys.map(keyName).join(' ')).toBe('Up PgDn Space Esc Shift-Tab Ctrl-C G ?');
});
