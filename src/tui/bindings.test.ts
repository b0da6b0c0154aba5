import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fullScreenGuide } from '../../scripts/full-screen-guide.ts';
import { createMaker } from '../../test/build-events.ts';
import { bodyOf, frameOf, linesOf, press } from '../../test/tui-frame.ts';
import { actionOf, type Binding, HELP_KEYS, keysText, LIST_KEYS, runKeys } from './bindings.ts';

const PLACES = ['live', 'ended', 'past'] as const;
const VIEWS: [string, readonly Binding[]][] = [
  ...PLACES.flatMap((place): [string, readonly Binding[]][] => [
    [`a run: ${place}`, runKeys(place, false)],
    [`a page: ${place}`, runKeys(place, true)],
  ]),
  ['the list of runs', LIST_KEYS],
  ['the help', HELP_KEYS],
];
const keysOf = (bindings: readonly Binding[]) =>
  bindings.flatMap(({ on }) => Object.values(on).flat());

describe.each(VIEWS)('%s', (_, bindings) => {
  test('a key has one effect, and every line fits into 80 columns of help', () => {
    const keys = keysOf(bindings);
    expect(new Set(keys).size).toBe(keys.length);
    expect(actionOf(bindings, 'constructor')).toBe(null);
    for (const binding of bindings) expect(binding.does.length).toBeLessThanOrEqual(45);
    for (const binding of bindings) expect(keysText(binding).length).toBeLessThanOrEqual(33);
  });
});

describe.each(PLACES)('the view of a run: %s', (place) => {
  const make = createMaker();
  const frame = () => ({
    ...frameOf([make('run_started'), make('call_requested')], { cols: 200, rows: 40 }),
    place,
  });

  test('its help and its footer show exactly the keys that work', () => {
    for (const page of [false, true]) {
      const shown = frame();
      if (page) press(shown, '<enter>');
      const footer = linesOf(shown).at(-1) ?? '';
      const names = runKeys(place, page).flatMap((binding) => keysText(binding).split(/ +/));
      const hints = footer.split(/ · | {2,}/).map((hint) => hint.trim().split(' ')[0] ?? '');
      const known = [...names, 'following', 'end', '1', ''];
      expect(hints.filter((hint) => !known.includes(hint))).toEqual([]);
      press(shown, '?');
      const help = bodyOf(shown).map((line) => line.slice(103));
      expect(help.filter((line) => line.includes('  '))).toEqual(
        runKeys(place, page).map((binding) => expect.stringContaining(keysText(binding))),
      );
    }
  });

  test('a key that is not listed changes nothing', () => {
    const untouched = frame();
    const before = linesOf(untouched);
    const listed = keysOf(runKeys(place, false));
    for (const key of [...'abcdfgjkmoprstuvwxyABCDEFXYZ0123456789!#%', '<f1>'])
      if (!listed.includes(key)) expect(press(untouched, key)).toBe(null);
    expect(linesOf(untouched)).toEqual(before);
  });
});

test('the guide lists the same keys', () => {
  const file = join(import.meta.dirname, '../../docs/guide/full-screen.md');
  const page = readFileSync(file, 'utf8');
  expect(fullScreenGuide(page)).toBe(page);
});
