import { expect, test } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { keptName, tokensOf } from '../lib/foreign.ts';
import type { Decoder } from '../model/agent.ts';
import type { Draft } from '../model/draft.ts';
import { decodeEnd, decodeLine } from './decode.ts';

const decoder: Decoder = {
  record(value, out) {
    const record = value as { say?: string; fault?: boolean };
    if (record.fault) throw new Error('broken decoder');
    if (record.say === undefined) out.push({ kind: 'problem', data: unknown });
    else out.push({ kind: 'notice', data: { code: 'say', text: record.say } });
  },
  end() {},
};
const unknown = {
  stage: 'decode' as const,
  code: 'unknown_record' as const,
  detail: 'x',
  bytes: null,
  sha256: null,
  excerpt: null,
};

function decoded(text: string, context: Partial<Parameters<typeof decodeLine>[2]> = {}): string[] {
  const out: Draft[] = [];
  decodeLine(
    text,
    decoder,
    { channel: 'stdout', terminated: true, invalid_utf8: false, ...context },
    out,
  );
  return out.map((draft) => {
    if (draft.kind === 'problem') return draft.data.code;
    return draft.kind === 'notice' ? `${draft.data.code} ${draft.data.text}` : draft.kind;
  });
}

verifies(
  'RO-8',
  'malformed lines are skipped with a problem, and whole records in them are salvaged',
  () => {
    expect(decoded('{"say":"a"}')).toEqual(['say a']);
    expect(decoded('plain text')).toEqual(['not_json']);
    expect([decoded('  \t '), decoded('\0 \0')]).toEqual([[], ['not_json']]);
    expect(decoded('{"say":')).toEqual(['not_json']);
    expect(decoded('12')).toEqual(['not_json']);
    expect(decoded('null')).toEqual(['not_json']);
    expect(decoded('{"say":', { terminated: false })).toEqual(['torn_line']);
    expect(decoded('{"seq":3,"text":"hal{"say":"b"}')).toEqual(['salvaged_line', 'say b']);
    expect(decoded('\u0000\u0000')).toEqual(['not_json']);
    expect(decoded('{"other":1}')).toEqual(['unknown_record']);
  },
);

verifies(
  'AG-2',
  'a failing decoder is distinguished from bad input, and does not stop the run',
  () => {
    expect(decoded('{"fault":true}')).toEqual(['decoder_fault']);
  },
);

const codesOf = (out: readonly Draft[]) =>
  out.map((draft) => (draft.kind === 'problem' ? draft.data.code : draft.kind));

verifies('AG-2', 'a decoder that fails at the end of its input does not stop the run', () => {
  const out: Draft[] = [];
  const end = () => {
    throw new Error('broken decoder');
  };
  decodeEnd({ ...decoder, end }, out);
  expect(codesOf(out)).toEqual(['decoder_fault']);
});

test('a figure refused at the end or in a text is reported there and not in the next run', () => {
  const out: Draft[] = [];
  decodeEnd({ ...decoder, end: () => void tokensOf(-1) }, out);
  expect(codesOf(out)).toEqual(['figure_invalid']);
  const context = { channel: 'stdout' as const, terminated: true, invalid_utf8: false };
  const text = () => (tokensOf(-1) === null ? [] : null);
  const texts: Draft[] = [];
  decodeLine('input: -1', { ...decoder, text }, context, texts);
  expect(codesOf(texts)).toEqual(['figure_invalid']);
  expect(decoded('{"say":"a"}')).toEqual(['say a']);
  tokensOf(-1);
  expect(decoded('{"say":"a"}'), 'refused before the record').toEqual(['say a']);
});

test('records completed by a line without JSON are decoded, and a failure affects only one record', () => {
  const out: Draft[] = [];
  const context = { channel: 'stdout' as const, terminated: true, invalid_utf8: false };
  const text = (line: string) => (line === 'two' ? [{ say: 'a' }, { fault: true }, 7] : null);
  decodeLine('two', { ...decoder, text }, context, out);
  decodeLine('none', { ...decoder, text }, context, out);
  expect(out.map(({ kind }) => kind)).toEqual(['notice', 'problem', 'problem', 'problem']);
  expect(codesOf(out.slice(1))).toEqual(['decoder_fault', 'unknown_record', 'not_json']);
});

verifies(
  ['AG-2', 'ST-7'],
  'a refused figure is reported by its number or type, because its text may be a secret',
  () => {
    const refusedIn = (values: readonly unknown[]) => {
      const out: Draft[] = [];
      decodeEnd({ ...decoder, end: () => void values.map(tokensOf) }, out);
      return out.map((draft) => (draft.kind === 'problem' ? draft.data.detail : ''));
    };
    const before = 'impossible figures, recorded as unknown:';
    const values = ['Zq81mKpXv0tRs5Wd9Lb2', ['Zq81mKpXv0tRs5Wd9Lb2'], -1, -1, 'another'];
    expect(refusedIn(values)).toEqual([`${before} of type string, of type object, -1`]);
    const many = Array.from({ length: 100 }, (_, n) => -1 - n);
    expect(refusedIn(many)).toEqual([`${before} ${many.slice(0, 10).join(', ')}`]);
  },
);

test('a name shortened before a record is not reported with that record', () => {
  keptName('x'.repeat(10_000));
  expect(decoded('{"say":"a"}')).toEqual(['say a']);
});

test('a record that nests too deep is refused before it is parsed', () => {
  expect(decoded(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)).toEqual(['too_deep']);
});

verifies('RO-7', 'stderr is kept as text, and a JSON record on it is decoded', () => {
  const channel = 'stderr';
  expect(decoded('warning: x', { channel })).toEqual(['stderr warning: x']);
  expect(decoded('{"say":"a"}', { channel })).toEqual(['say a']);
  expect(decoded('{"other":1}', { channel })).toEqual(['stderr {"other":1}']);
  expect(decoded('{broken', { channel })).toEqual(['stderr {broken']);
});
