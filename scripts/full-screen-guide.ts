/** The keys of the full-screen views, for the guide. */
import { type Binding, HELP_KEYS, keyGroups, LIST_KEYS, runKeys } from '../src/tui/bindings.ts';
import { markdownTable, withMarked } from './markdown.ts';

/** Each binding is listed once, with the first of these places that has it in every view. */
const PLACES: readonly [string, readonly (readonly Binding[])[]][] = [
  ['', [runKeys('live', false), runKeys('live', true), LIST_KEYS]],
  ['in a run and on a page', [runKeys('live', false), runKeys('past', true)]],
  ['in a run', [runKeys('live', false), runKeys('ended', false), runKeys('past', false)]],
  ['while the run is recorded', [runKeys('live', false)]],
  ['after its end', [runKeys('ended', false)]],
  ['in a run opened from the list', [runKeys('past', false)]],
  ['on an opened page', [runKeys('past', true)]],
  ['in the list of runs', [LIST_KEYS]],
  ['in the help', [HELP_KEYS]],
];

const coded = (keys: string) =>
  keys
    .split(' ')
    .map((key) => `\`${key}\``)
    .join(' ');

/** The guide's page with the table of keys. */
export function fullScreenGuide(before: string): string {
  const listed = new Set<Binding>();
  const rows = PLACES.flatMap(([place, views]) => {
    const [first = [], ...others] = views;
    const here = first.filter(
      (binding) => !listed.has(binding) && others.every((view) => view.includes(binding)),
    );
    for (const binding of here) listed.add(binding);
    return here.map((binding) => [keyGroups(binding).map(coded).join(', '), binding.does, place]);
  });
  return withMarked(before, 'keys', markdownTable(['key', 'effect', ''], rows));
}
