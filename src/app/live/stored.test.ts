/** Sessions by the names that `tacho tail` shows. */
import { expect, test } from 'vitest';
import { isOf } from './stored.ts';

test('a session is chosen by its id, or by the beginning of an id that tacho made', () => {
  const run = `r_01m7fgt0mx${'a'.repeat(16)}`;
  const of = (name: string, session_id = run) => isOf({ sessions: [name] }, session_id);
  for (const name of [run, '01m7fgt0mx', 'r_01m7fgt0mx', '01m7fgt0mxaa'])
    expect([name, of(name)]).toEqual([name, true]);
  for (const name of ['a'.repeat(10), '01m7fgt0my', 'r_'])
    expect([name, of(name)]).toEqual([name, false]);
  expect([of('build-7', 'build-7'), of('build-7', 'build-70')]).toEqual([true, false]);
});
