import { expect, test } from 'vitest';
import { readKeys } from './keys.ts';

test('letters, arrows and paging keys are known in both of their forms', () => {
  const typed =
    'kjgG b\u001b[A\u001bOA\u001b[B\u001b[5~\u001b[6~\u001b[H\u001b[F\u001b[1~\u001b[4~q\u0003';
  expect(readKeys('', typed)).toEqual({
    keys: [
      'up',
      'down',
      'first',
      'last',
      'page_down',
      'page_up',
      'up',
      'up',
      'down',
      'page_up',
      'page_down',
      'first',
      'last',
      'first',
      'last',
      'interrupt',
      'interrupt',
    ],
    held: '',
  });
});

test('a sequence that comes in two reads is one key', () => {
  const first = readKeys('', 'j\u001b[');
  expect(first).toEqual({ keys: ['down'], held: '\u001b[' });
  expect(readKeys(first.held, '5~')).toEqual({ keys: ['page_up'], held: '' });
});

test('what is not known is ignored, and a lone escape swallows nothing', () => {
  expect(readKeys('', 'xé🚀\u001b[200~\u001b[1;5C\u001bq')).toEqual({
    keys: ['interrupt'],
    held: '',
  });
  expect(readKeys('', 'constructor')).toEqual({ keys: [], held: '' });
});
