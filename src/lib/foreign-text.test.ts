import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createActionsFilter,
  createJsonFilter,
  forActions,
  forColourTerminal,
  forJson,
  forTerminal,
  forXml,
} from './foreign-text.ts';

const SGR = '\u001b[31m';
/** The syntax that the runner interprets: see ActionCommand.cs of actions/runner. */
const COMMAND = /^\s*::|##\[/m;
const UNSAFE_JSON = /[\r\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|##\[/;

/** Random texts in which the relevant characters are frequent. */
const hostile = fc
  .array(
    fc.constantFrom(':', '::', '#', '##[', '[', ' ', '\t', '\n', 'a', 'é', '\u009b', '\u202e', '☃'),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(''));

/** The same text in pieces. */
const pieces = (text: string, at: readonly number[]): string[] => {
  const cuts = [0, ...at.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
  return cuts.slice(1).map((cut, index) => text.slice(cuts[index], cut));
};

describe('forColourTerminal', () => {
  test('our own colours pass, every other sequence is shown as text', () => {
    const own = `${SGR}red\u001b[39m \u001b[1mbold\u001b[22m`;
    expect(forColourTerminal(own)).toBe(own);
    const foreign = '\u001b]52;c;eA==\u0007\u001b[8m\u001b[2J\u001b[38;5;1m';
    expect(forColourTerminal(`${SGR}${foreign}\u009b31m`)).toBe(
      `${SGR}\\u{1b}]52;c;eA==\\u{7}\\u{1b}[8m\\u{1b}[2J\\u{1b}[38;5;1m\\u{9b}31m`,
    );
    expect(forTerminal(SGR)).toBe('\\u{1b}[31m');
  });
});

describe('GitHub Actions', () => {
  test('a command is shown and not executed', () => {
    expect(forActions('::error::x\n \t::add-mask::y\na ::b\n##[set-output]')).toBe(
      ':\\u{3a}error::x\n \t:\\u{3a}add-mask::y\na ::b\n##\\u{5b}set-output]',
    );
    expect(forActions(`${SGR}::error::x`)).toBe(`${SGR}:\\u{3a}error::x`);
  });

  test('a command in pieces is not executed either', () => {
    fc.assert(
      fc.property(hostile, fc.array(fc.nat(40), { maxLength: 5 }), (text, cuts) => {
        const filter = createActionsFilter();
        const shown = pieces(text, cuts).map(filter).join('');
        expect(shown).not.toMatch(COMMAND);
        expect(shown).toBe(forActions(text));
      }),
    );
  });

  test('many blank lines take linear time', () => {
    const begun = performance.now();
    forActions('\n'.repeat(1_000_000));
    forActions(' '.repeat(1_000_000));
    expect(performance.now() - begun).toBeLessThan(5_000);
  });
});

describe('forJson', () => {
  test('the value is the same, without anything that a terminal or Actions executes', () => {
    fc.assert(
      fc.property(fc.oneof(hostile, fc.string({ unit: 'binary' })), (text) => {
        const value = { [text]: [`##[${text}\u009b\u061c\u2066\u007f`] };
        const line = forJson(JSON.stringify(value)).toString('utf8');
        expect(line).not.toMatch(UNSAFE_JSON);
        expect(JSON.parse(line)).toEqual(value);
      }),
    );
  });

  test('other text is not copied, and brackets of arrays stay', () => {
    const plain = Buffer.from('{"a":["#","##",["é☃"]]}\n');
    expect(forJson(plain).buffer).toBe(plain.buffer);
    expect(forJson('{"a":"##["}').toString()).toBe('{"a":"#\\u0023["}');
    expect(forJson('{"a":1,\r"b":2}').toString()).toBe('{"a":1, "b":2}');
  });

  test('pieces give the same bytes as the whole, wherever it is cut', () => {
    fc.assert(
      fc.property(hostile, fc.array(fc.nat(200), { maxLength: 5 }), (text, cuts) => {
        const whole = Buffer.from(`${JSON.stringify([text, '##', ['[']])}\n`);
        const filter = createJsonFilter();
        const made = pieces(whole.toString('latin1'), cuts).map((piece) =>
          Buffer.from(filter(Buffer.from(piece, 'latin1'))),
        );
        expect(Buffer.concat(made)).toEqual(forJson(whole));
      }),
    );
  });
});

test('XML keeps the value as character references', () => {
  expect(forXml('a\n ::error::x ##[b\u009b\u202e')).toBe(
    'a\n :&#58;error::x ##&#91;b&#155;&#8238;',
  );
});
