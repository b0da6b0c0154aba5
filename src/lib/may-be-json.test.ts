import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mayBeJson } from './json.ts';

test('every text that parses may be JSON', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom('', ' ', '\t', '\r', ' \r\n'), (text, space) => {
      expect(mayBeJson(space + text + space)).toBe(true);
    }),
  );
  for (const text of ['{}', '[]', '""', '0', '-1', '1e5', 'null', 'true', 'false', ' {} '])
    expect(mayBeJson(text), text).toBe(true);
});

test('short lines that are not JSON are recognised without parsing', () => {
  for (const text of [
    '',
    ' ',
    'y',
    'n',
    '{',
    '[',
    '"',
    '}',
    '-',
    '[INFO] x',
    '12 m',
    'nul',
    '{a',
    'a}',
  ])
    expect(mayBeJson(text), text).toBe(false);
});
