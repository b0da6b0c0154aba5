import { expect, test } from 'vitest';
import { createErrorFilter, createTextFilter } from './io.ts';

const RED = '\u001b[31mred\u001b[39m';

test('colours pass if they are enabled; otherwise, and in Actions, they are ordinary text', () => {
  expect(createTextFilter({}, () => true)(RED)).toBe(RED);
  expect(createTextFilter({}, () => false)(RED)).toBe('\\u{1b}[31mred\\u{1b}[39m');
  const actions = createTextFilter({ GITHUB_ACTIONS: 'true' }, () => true);
  expect(actions(`${RED} ##[error]x\n::set-output::y\n`)).toBe(
    `${RED} ##\\u{5b}error]x\n:\\u{3a}set-output::y\n`,
  );
  expect(createTextFilter({}, () => true)('\u001b]52;c;x\u0007')).not.toContain('\u001b');
});

test('the word error is red where colours are enabled, and the rest of the message is escaped', () => {
  const message = `error: ${RED}\n`;
  const escaped = '\\u{1b}[31mred\\u{1b}[39m\n';
  expect(createErrorFilter({ FORCE_COLOR: '1' })(message)).toBe(
    `\u001b[31merror:\u001b[39m ${escaped}`,
  );
  expect(createErrorFilter({ NO_COLOR: '1' })(message)).toBe(`error: ${escaped}`);
  expect(createErrorFilter({ FORCE_COLOR: '1' })('no error: x')).toBe('no error: x');
});
