import { expect, test } from 'vitest';
import { linesOf, moveOf, readKeys } from './keys.ts';

test('named keys are recognised in all of their forms, and all others are characters', () => {
  const typed = 'k\u001b[A\u001bOA\u001b[5~\u001b[H\u001b[1~\r\n\t\u007f\u0003\u001b[Zé🚀';
  expect(readKeys('', typed)).toEqual({
    keys: [
      'k',
      '<up>',
      '<up>',
      '<page_up>',
      '<home>',
      '<home>',
      '<enter>',
      '<enter>',
      '<tab>',
      '<backspace>',
      '<interrupt>',
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
});

test('moves have the same keys everywhere', () => {
  const keys = ['<up>', 'j', 'b', ' ', 'g', '<end>', 'q', 'constructor'];
  expect(keys.map(moveOf)).toEqual([
    'up',
    'down',
    'page_up',
    'page_down',
    'first',
    'last',
    null,
    null,
  ]);
  expect([linesOf('page_down', 20), linesOf('up', 20), linesOf('last', 20)]).toEqual([
    19,
    -1,
    null,
  ]);
});
