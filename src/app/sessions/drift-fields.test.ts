import { expect, test } from 'vitest';
import { kindBy } from '../../lib/shape.ts';
import { FieldWatch } from './drift-fields.ts';

const watch = () =>
  new FieldWatch(
    {
      kindOf: kindBy('type'),
      opaque: [],
      stdout: { say: 'type blocks{<text> type text <call> type id} row"{id}' },
      session: {},
      unrecorded: {
        stdout: { say: 'mood?{level?} blocks{lang? <call> state?}', think: 'type? text?' },
      },
    },
    'stdout',
    (text) => text,
  );

const freshIn = (record: Record<string, unknown>) => {
  const fields = watch();
  fields.record(record, []);
  return [...fields.fresh.keys()];
};

test('unrecorded fields are not new if they are listed, whatever they contain', () => {
  expect(freshIn({ type: 'say', mood: { level: 1, colour: 2 } })).toEqual([]);
  const blocks = [
    { type: 'text', text: '', lang: 'en', state: 1 },
    { type: 'call', id: 'c', lang: 'en', state: 1 },
  ];
  expect(freshIn({ type: 'say', blocks })).toEqual(['say: blocks<text>.state']);
});

test('an unrecorded kind is not compared, although some of its fields are listed', () => {
  expect(freshIn({ type: 'think', text: '', mood: 1 })).toEqual([]);
});

test('a text is read as JSON only if it is declared as such', () => {
  const json = (more: object) => JSON.stringify({ type: 'text', id: 1, ...more });
  expect(freshIn({ type: 'say', row: json({ mood: 1 }) })).toEqual([
    'say: row.type',
    'say: row.mood',
  ]);
  expect(freshIn({ type: 'say', blocks: json({ mood: 1 }) })).toEqual([]);
});
