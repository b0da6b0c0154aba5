import { expect, test } from 'vitest';
import { Room, RoomMap } from './room.ts';

const sizes = { count: 4, chars: 100 };

test('parts share the total, and an entry fits only if both have room', () => {
  const whole = new Room(sizes);
  const parts = [whole.part(3 / 4), whole.part(3 / 4)].map((room) => new RoomMap<number>(room));
  const [first, second] = parts as [RoomMap<number>, RoomMap<number>];
  for (const key of ['a', 'b', 'c']) first.set(key, 1);
  expect([first.fits('d', 1), second.fits('d', 1), whole.count]).toEqual([false, true, 3]);
  second.set('d', 1);
  expect(second.fits('e', 1)).toBe(false);
  first.delete('a');
  expect([second.fits('e', 1), second.fits('e'.repeat(76), 1)]).toEqual([true, false]);
});

test('an entry counts once, however often it is set, and not after it is deleted', () => {
  const room = new Room(sizes);
  const map = new RoomMap<number>(room);
  for (let at = 0; at < 10; at++) map.set('a', at);
  expect([room.count, map.get('a')]).toEqual([1, 9]);
  map.delete('a');
  map.delete('a');
  expect(room.count).toBe(0);
  for (const key of ['a', 'b', 'c', 'd']) map.set(key, 1);
  map.clear();
  expect([room.count, map.fits('x'.repeat(100), 1)]).toEqual([0, true]);
});

test('a removed map takes no room, whatever is added to it later', () => {
  const room = new Room(sizes);
  const map = new RoomMap<number>(room);
  map.set('a', 1);
  map.leave();
  expect([room.count, map.size, map.fits('b', 1)]).toEqual([0, 1, false]);
  map.set('b', 1);
  map.delete('a');
  map.leave();
  expect(room.count).toBe(0);
});
