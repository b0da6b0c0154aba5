import { expect, test } from 'vitest';
import { createColours } from './colours.ts';
import { forColourTerminal } from './foreign-text.ts';

const colours = createColours(true);

test('each colour begins and ends with a sequence that may reach a terminal', () => {
  const painted = Object.values(colours).map((paint) => paint('x'));
  expect(painted.map((text) => forColourTerminal(text))).toEqual(painted);
  expect(painted.map((text) => text.replaceAll('\u001b', '^')).join(' ')).toBe(
    '^[1mx^[22m ^[2mx^[22m ^[7mx^[27m ^[31mx^[39m ^[32mx^[39m ^[33mx^[39m ^[36mx^[39m',
  );
});

test('a colour inside another does not end it', () => {
  expect(colours.dim(`a${colours.bold('b')}c`)).toBe(
    '\u001b[2ma\u001b[1mb\u001b[22m\u001b[2mc\u001b[22m',
  );
  expect(colours.red(`a${colours.green('b')}c`)).toBe(
    '\u001b[31ma\u001b[32mb\u001b[31mc\u001b[39m',
  );
});

test('texts are unchanged when colours are off', () => {
  expect(Object.values(createColours(false)).map((paint) => paint('x'))).toEqual(
    Array(7).fill('x'),
  );
});
