import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { secretHash } from '../store/journal/hash.ts';
import { createRedactor } from './redact.ts';

const hash = secretHash(Buffer.alloc(32, 1));
const redactorOf = (value: string) =>
  createRedactor({ env: { MY_SECRET: value }, secret_env: [], hash });

const unit = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
const each = (text: string, form: (char: string) => string) => text.split('').map(form).join('');
const json = (text: string) => JSON.stringify(text).slice(1, -1);
const base64 = (text: string) => Buffer.from(text).toString('base64');
const wrapped = (text: string, width: number, line_end: string) =>
  text.match(new RegExp(`.{1,${width}}`, 'g'))?.join(line_end) ?? '';
const bytesOf = (text: string, form: (byte: string) => string) =>
  [...Buffer.from(text)].map((byte) => form(byte.toString(16).padStart(2, '0'))).join('');
const octal = (byte: number) => byte.toString(8).padStart(3, '0');
const hexByte = (char: string) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
/** Latin-1 lacks characters for some texts. */
const latin1 = (text: string) => (/[^\u0000-\u00ff]/.test(text) ? 'utf8' : 'latin1');
const html = (text: string) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

/** As printed by other programs. */
const ENCODINGS: Record<string, (text: string) => string> = {
  'as it is': (text) => text,
  'JSON of JavaScript': json,
  'JSON of Go': (text) => json(text).replace(/[&<>\u2028\u2029]/g, unit),
  'JSON of PHP': (text) => each(json(text).replaceAll('/', '\\/'), (c) => (c > '~' ? unit(c) : c)),
  'JSON of Python': (text) => each(json(text), (char) => (char > '~' ? unit(char) : char)),
  'JSON with capital digits': (text) => each(text, (c) => unit(c).toUpperCase().replace('U', 'u')),
  'JSON, every character escaped': (text) => each(text, unit),
  'JSON in JSON': (text) => json(json(text)),
  'JSON in JSON in JSON': (text) => json(json(json(text))),
  'JSON of Go in JSON of PHP': (text) =>
    json(json(text).replace(/[&<>]/g, unit)).replaceAll('/', '\\/'),
  'every character escaped, in JSON in JSON': (text) => json(json(each(text, unit))),
  'percent-encoded': (text) => encodeURIComponent(text),
  'percent-encoded, small digits': (text) =>
    encodeURIComponent(text).replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
  'percent-encoded, all of it': (text) => bytesOf(text, (byte) => `%${byte}`),
  'percent-encoded like a path': (text) => encodeURI(text),
  'a form': (text) => encodeURIComponent(text).replaceAll('%20', '+'),
  'percent-encoded in JSON': (text) => json(encodeURIComponent(text)),
  'percent-encoded twice': (text) => encodeURIComponent(encodeURIComponent(text)),
  hex: (text) => Buffer.from(text).toString('hex'),
  'hex with capital digits': (text) => Buffer.from(text).toString('hex').toUpperCase(),
  'hex in lines': (text) => wrapped(Buffer.from(text).toString('hex'), 60, '\n'),
  'bytes as \\x': (text) => bytesOf(text, (byte) => `\\x${byte}`),
  'bytes in octal': (text) => bytesOf(text, (byte) => `\\${octal(Number.parseInt(byte, 16))}`),
  'bytes of Latin-1 as \\x': (text) => each(text, (char) => (char > '\xff' ? char : hexByte(char))),
  'code points as \\U': (text) => each(text, (char) => `\\U0000${unit(char).slice(2)}`),
  'code points as \\u{}': (text) => each(text, (char) => `\\u{${unit(char).slice(2)}}`),
  base64,
  'base64, one byte before': (text) => base64(`x${text}`),
  'base64, two bytes before': (text) => base64(`xy${text}`),
  'base64, user and password': (text) => base64(`user:${text}`),
  base64url: (text) => Buffer.from(text).toString('base64url'),
  'base64 of base64': (text) => base64(base64(text)),
  'base64 of base64, one byte before': (text) => base64(`x${base64(text)}`),
  'base64 of hex': (text) => base64(Buffer.from(text).toString('hex')),
  'hex of base64': (text) => Buffer.from(base64(text)).toString('hex'),
  'hex of hex': (text) => Buffer.from(Buffer.from(text).toString('hex')).toString('hex'),
  'base64 of Latin-1': (text) => Buffer.from(text, latin1(text)).toString('base64'),
  'hex of Latin-1': (text) => Buffer.from(text, latin1(text)).toString('hex'),
  'percent-encoded Latin-1': (text) => (latin1(text) === 'utf8' ? text : escape(text)),
  CSV: (text) => text.replaceAll('"', '""'),
  SQL: (text) => text.replaceAll("'", "''"),
  'a shell': (text) => text.replaceAll("'", "'\\''"),
  'a shell, with other quotes': (text) => text.replaceAll("'", `'"'"'`),
  'base64 of JSON': (text) => base64(json(text)),
  'hex of JSON': (text) => Buffer.from(json(text)).toString('hex'),
  'base64 in lines of 76': (text) => wrapped(base64(`${'x'.repeat(50)}${text}`), 76, '\n'),
  'base64 in lines of 64, CRLF': (text) => wrapped(base64(`${'x'.repeat(40)}${text}`), 64, '\r\n'),
  'base64 in short lines': (text) => wrapped(base64(text), 5, '\n'),
  'base64 in indented lines': (text) => wrapped(base64(text), 16, '\n    '),
  'base64 in lines, in JSON': (text) => json(wrapped(base64(text), 16, '\r\n')),
  'base64 in JSON of PHP': (text) => base64(text).replaceAll('/', '\\/'),
  HTML: html,
  'HTML, decimal': (text) => each(text, (char) => `&#${char.charCodeAt(0)};`),
  'HTML, hex': (text) => each(text, (char) => `&#x${char.charCodeAt(0).toString(16)};`),
  'HTML, names of letters': (text) =>
    html(text).replaceAll('ä', '&auml;').replaceAll('ß', '&szlig;'),
  'HTML in JSON': (text) => json(html(text)),
  'HTML of HTML': (text) => html(html(text)),
};
const FORMS = Object.entries(ENCODINGS);

const CHARS = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'];
const MARKS = [...'/+&<>="\'\\ %-_.:@!#$()[]{}|~`^*;,?äß€'];
const secret = fc
  .array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...CHARS) }, fc.constantFrom(...MARKS)), {
    minLength: 6,
    maxLength: 60,
  })
  .map((chars) => chars.join('').trim())
  // A value of few different characters may match its own surroundings.
  .filter((text) => text.length >= 6 && new Set(text.match(/[A-Za-z0-9]/g)).size >= 4)
  .filter((text) => text.replace(/[\\%&]+$/, '').length >= 6)
  // Paths are not secrets.
  .filter((text) => !/^(?:\.\.?\/|~\/|[A-Za-z]:\\)/.test(text));

/** Surroundings that are not part of an encoding. */
const AROUND = ['', ' ', '\n', '"', 'The key is: ', '{"k":"', ' (see above) ', '<td>', '\n\n'];

describe('encodings of a known secret', () => {
  verifies('ST-7', 'a secret is found under five levels of escapes', () => {
    const value = 'q7Zk"9+Vw\\x2=Lm8';
    const encoded = encodeURIComponent(json(json(json(value)))).replaceAll('%', '&#37;');
    expect(redactorOf(value).text(`before ${encoded} after`)).toBe(
      `before [REDACTED:env:${hash(value)}] after`,
    );
  });

  verifies(
    'ST-7',
    'base64 characters that contain some bits of a secret are redacted with it',
    () => {
      const value = 'q7Zk9VwxY2Lm8Jte';
      const tool = redactorOf(value);
      const mark = `[REDACTED:env:${hash(value)}]`;
      const [behind, around] = [base64(`${value}yz`), base64(`x${value}y`)];
      expect(tool.text(`(${behind})`)).toBe(`(${mark}${behind.slice(22)})`);
      expect(tool.text(`(${around})`)).toBe(`(${around[0]}${mark}${around.slice(23)})`);
    },
  );

  verifies('ST-7', 'a known secret is found in each encoding, with the same mark', () => {
    const value = 'q7Zk/9+Vw&x<Y>2=Lm8Jt"e\\P ä\'0';
    const mark = `[REDACTED:env:${hash(value)}]`;
    const missed: string[] = [];
    for (const [name, form] of FORMS) {
      const tool = redactorOf(value);
      const text = `before ${form(value)} after`;
      const safe = tool.text(text);
      if (safe.includes(form(value)) || !safe.includes(mark)) missed.push(`${name}: ${safe}`);
    }
    expect(missed).toEqual([]);
  });

  verifies('ST-7', 'no secret passes, in any encoding and cut into any pieces', () => {
    fc.assert(
      fc.property(
        secret,
        fc.constantFrom(...FORMS),
        fc.tuple(fc.constantFrom(...AROUND), fc.constantFrom(...AROUND)),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
        (value, [, form], [before, after], sizes) => {
          const encoded = form(value);
          const text = `${before}${encoded}${after}`;
          const tool = redactorOf(value);
          expect(tool.text(text)).not.toContain(encoded);
          let given = '';
          for (let at = 0, i = 0; at < text.length; i++) {
            const size = sizes[i % sizes.length] as number;
            given += tool.delta('k', text.slice(at, at + size));
            at += size;
          }
          given += tool.flush('k');
          expect(given).toBe(tool.text(text));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('text that only looks encoded is left unchanged', () => {
    const tool = redactorOf('Zq81mKpXv0tRs5Wd9Lb2');
    const texts = [
      String.raw`C:\new\users\test && printf "%s %d%%\n" \d+ \w{3} \u00e9 &amp; &lt;b&gt; 100%25`,
      `${base64('some other text that is long enough to be wrapped').slice(0, 40)}\nand more words`,
      'a\nb\nc\nd\n',
    ];
    for (const text of texts) expect(tool.text(text)).toBe(text);
  });

  test('surroundings of a secret are kept', () => {
    const value = 'Zq81mKpXv0tRs5Wd9Lb2';
    const mark = `[REDACTED:env:${hash(value)}]`;
    const tool = redactorOf(value);
    expect(tool.text(`{"a":"x\\n${each(value, unit)}\\ty"}`)).toBe(`{"a":"x\\n${mark}\\ty"}`);
    expect(tool.text(`k=${bytesOf(value, (byte) => `%${byte}`)}&l=%20`)).toBe(`k=${mark}&l=%20`);
    expect(tool.text(`x ${wrapped(base64(value), 8, '\n')} y`)).toMatch(
      /^x \[REDACTED:env:[0-9a-f]{8}\]=? y$/,
    );
  });
});
