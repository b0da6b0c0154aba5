import { expect, test } from 'vitest';
import { kindBy, parseShape, type Shape } from './shape.ts';

const plain = (shape: Shape | null): unknown =>
  shape &&
  Object.fromEntries(
    [...shape].map(([kind, { path, fields }]) => [
      kind,
      {
        path,
        fields: Object.fromEntries(
          [...fields].map(([name, { inner, ...marks }]) => [
            name,
            { ...marks, inner: plain(inner) },
          ]),
        ),
      },
    ]),
  );

test('a shape lists the fields, whether each is always present, and the kinds of nested objects', () => {
  const text = 'id title?\n  input* usage?{input} row"{id} content{<text> text <call> id input?*}';
  const leaf = { always: true, opaque: false, json: false, inner: null };
  expect(plain(parseShape(text, 'say: '))).toEqual({
    '': {
      path: 'say: ',
      fields: {
        id: leaf,
        title: { ...leaf, always: false },
        input: { ...leaf, opaque: true },
        usage: {
          ...leaf,
          always: false,
          inner: { '': { path: 'say: usage', fields: { input: leaf } } },
        },
        row: {
          ...leaf,
          json: true,
          inner: { '': { path: 'say: row', fields: { id: leaf } } },
        },
        content: {
          ...leaf,
          inner: {
            text: { path: 'say: content<text>', fields: { text: leaf } },
            call: {
              path: 'say: content<call>',
              fields: { id: leaf, input: { ...leaf, always: false, opaque: true } },
            },
          },
        },
      },
    },
  });
});

test('an invalid shape throws', () => {
  for (const text of ['a}', '{b}', 'a{b}}'])
    expect(() => parseShape(text, 'x: '), text).toThrow('shape of x');
});

test("an object's kind consists of its text fields", () => {
  const kindOf = kindBy('type', 'subtype');
  expect([{ type: 'a', subtype: 'b' }, { type: 'a' }, { type: 1 }, {}].map(kindOf)).toEqual([
    'a/b',
    'a',
    '',
    '',
  ]);
});
