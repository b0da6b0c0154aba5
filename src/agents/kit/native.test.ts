import { expect, test } from 'vitest';
import {
  type Both,
  type Claim,
  type Inside,
  isList,
  isNative,
  listOf,
  type Merged,
  nativeOf,
  type Open,
  textOf,
} from './native.ts';

interface Records {
  said: {
    readonly uuid?: unknown;
    readonly message?: Claim<{
      readonly id?: unknown;
      readonly content?: Claim<{ readonly text?: unknown; readonly input?: Claim<Open> }>;
    }>;
  };
  'end/ok': { readonly cost?: unknown; readonly error?: Claim<{ readonly name?: unknown }> };
  'end/bad': { readonly reason?: unknown; readonly error?: Claim<{ readonly code?: unknown }> };
}

const said: Records['said'] = JSON.parse(
  '{"uuid":"u","message":{"id":"m","content":[{"text":"a","input":{"command":"ls"}},7]}}',
);

test('a claimed object is read by its fields; another name does not compile', () => {
  const message = nativeOf(said.message);
  // @ts-expect-error the record has no such field
  expect(said.uid).toBeUndefined();
  // @ts-expect-error the object has no such field
  expect(message?.contents).toBeUndefined();
  expect([textOf(said.uuid), textOf(message?.id)]).toEqual(['u', 'm']);
});

test('the objects of a claimed list are read by their fields', () => {
  const content = nativeOf(said.message)?.content;
  const read = listOf(content).map((block) => {
    // @ts-expect-error the object has no such field
    expect(nativeOf(block)?.txt).toBeUndefined();
    if (!isNative(block)) return block;
    // @ts-expect-error the same after a check in place
    expect(block.txt).toBeUndefined();
    return [textOf(block.text), textOf(nativeOf(block.input)?.command)];
  });
  expect(read).toEqual([['a', 'ls'], 7]);
  // @ts-expect-error the same for items of a checked list
  expect(isList(content) && nativeOf(content[0])?.txt).toBeUndefined();
});

test('a claim does not guarantee the type of the value', () => {
  const claims: Claim<{ readonly name?: unknown }>[] = ['text', 1, true, null];
  expect(claims.map((claim) => nativeOf(claim))).toEqual([null, null, null, null]);
  expect(claims.flatMap((claim) => listOf(claim))).toEqual([]);
  const [first] = claims;
  expect(typeof first === 'string' && first.toUpperCase()).toBe('TEXT');
});

test('a value without a claim may have any field', () => {
  const values: unknown[] = [{ anything: 1 }, []];
  expect(values.map((value) => nativeOf(value)?.anything)).toEqual([1, undefined]);
  expect(values.map((value) => isNative(value) && value.anything)).toEqual([1, false]);
});

test('records of several kinds are read by the fields of all of them', () => {
  const end: Merged<Records, `end/${string}`> = JSON.parse('{"reason":"r","error":{"code":1}}');
  const error: Inside<Records['end/bad']['error']> | null = nativeOf(end.error);
  // @ts-expect-error a field of another kind
  expect(end.uuid).toBeUndefined();
  // @ts-expect-error a field of no kind
  expect(nativeOf(end.error)?.kode).toBeUndefined();
  const read = [end.reason, end.cost, error?.code, nativeOf(end.error)?.name];
  expect(read).toEqual(['r', undefined, 1, undefined]);
});

test('a record of two channels is read by the fields of either channel', () => {
  type Others = { said: { readonly id?: unknown; readonly message?: Claim<{ at?: unknown }> } };
  const either: Both<Records, Others>['said'] = said;
  // @ts-expect-error neither has it
  expect(either.uid).toBeUndefined();
  const message = nativeOf(either.message);
  expect([either.uuid, either.id, message?.id, message?.at]).toEqual([
    'u',
    undefined,
    'm',
    undefined,
  ]);
});
