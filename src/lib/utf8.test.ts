import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cpuMs } from '../../test/cpu-ms.ts';
import { fromByteText, toByteText } from './byte-text.ts';
import { isoTime } from './iso-time.ts';
import { checkValue, nestsDeeper } from './json.ts';
import { cutUtf8, utf8Bytes, wellFormed } from './utf8.ts';

test('a text is cut at the limit or before, on a character boundary, and is a prefix of the original', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.integer({ min: 0, max: 80 }),
      (any, most) => {
        const text = wellFormed(any);
        const cut = cutUtf8(text, most);
        expect(text.startsWith(cut)).toBe(true);
        expect(utf8Bytes(cut)).toBeLessThanOrEqual(most);
        const next = [...text.slice(cut.length)][0] ?? '';
        if (next !== '') expect(utf8Bytes(cut + next)).toBeGreaterThan(most);
      },
    ),
    { numRuns: 3_000 },
  );
});

test('byte text converts back to the original text, including keys', () => {
  const value = {
    'ключ 🚀': ['naïve', { deep: '日本語', number: 1, nothing: null }],
    __proto__: null,
  };
  expect(fromByteText(toByteText(value))).toEqual(value);
  expect(toByteText('é')).toBe('\u00c3\u00a9');
  expect(JSON.stringify(toByteText({ a: 'é' }))).toBe(Buffer.from('{"a":"é"}').toString('latin1'));
});

test('nesting is measured without parsing, and brackets in strings do not count', () => {
  expect(nestsDeeper('[[[]]]', 3)).toBe(false);
  expect(nestsDeeper('[[[]]]', 2)).toBe(true);
  expect(nestsDeeper('["[[[[", "\\"[[[["]', 1)).toBe(false);
  expect(nestsDeeper('{"a":"\\\\"}', 1)).toBe(false);
  const deep = '['.repeat(5_000_000);
  const start = cpuMs();
  expect(nestsDeeper(deep, 200)).toBe(true);
  expect(cpuMs() - start).toBeLessThan(1_000);
});

test('a value that is too deep, or has numbers changed by parsing, is reported', () => {
  const nothing = { too_deep: false, lossy_number: false };
  expect(checkValue({ a: [1, 'x', null] }, 3, { ...nothing })).toEqual(nothing);
  expect(checkValue([[[]]], 2, { ...nothing })).toEqual({ too_deep: true, lossy_number: false });
  expect(checkValue(JSON.parse('[9007199254740993]'), 5, { ...nothing })).toEqual({
    too_deep: false,
    lossy_number: true,
  });
  expect(checkValue(JSON.parse('{"a":1e400}'), 5, { ...nothing })).toEqual({
    too_deep: false,
    lossy_number: true,
  });
});

test('ISO times are read as Date.parse reads them', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true }),
      (date) => {
        expect(isoTime(date.toISOString())).toBe(date.getTime());
      },
    ),
  );
  for (const text of [
    '2026-11-15T01:15:17Z',
    '2026-11-15T01:15:17.885+02:00',
    '2026-02-30T10:00:00.000Z',
    '2026-11-15T25:00:00.000Z',
    'x',
    '',
    '2026-11-15Tab:cd:ef.ghiZ',
  ]) {
    const parsed = Date.parse(text);
    expect(isoTime(text), text).toBe(Number.isNaN(parsed) ? undefined : parsed);
  }
});
