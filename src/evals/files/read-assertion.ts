/** Assertions of an eval file: of a known type, with the fields of that type. */
import { own } from '../../lib/own.ts';
import { GRADERS } from '../graders/registry.ts';
import { type Assertion, THRESHOLD } from '../types.ts';
import {
  anything,
  distance,
  type Fields,
  figure,
  flag,
  inside,
  isMap,
  listOf,
  type Place,
  ratio,
  readMap,
  scalar,
} from './fields.ts';
import { fileText } from './read-input.ts';
import type { Suite } from './suite.ts';

/** The name of the list, and how else it is spelt. */
export const ASSERTIONS = ['assertions', 'assert', 'evaluators', 'graders'];
const NESTING_MAX = 8;

const COMMON: Fields = {
  type: { read: anything, required: true },
  name: { read: scalar },
  weight: { read: figure },
  required: {
    read: (value, place) => (typeof value === 'boolean' ? value : ratio(value, place)),
  },
  min_score: { read: ratio },
  negate: { read: flag },
};
const MEMBERS: Fields = {
  assertions: { read: anything, required: true, also: ASSERTIONS.slice(1) },
};

const FIELDS_OF: Readonly<Record<string, Fields>> = Object.fromEntries(
  Object.entries(GRADERS).map(([type, { members, fields }]) => [
    type,
    { ...COMMON, ...(members && MEMBERS), ...fields },
  ]),
);

function typeOf(value: Record<string, unknown>, place: Place): string | null {
  const { type } = value;
  const here = Object.hasOwn(value, 'type') ? inside(place, 'type') : place;
  if (type === undefined) place.mistake(place.at, 'lacks the field type');
  if (typeof type !== 'string') {
    if (type !== undefined) here.mistake(here.at, 'must be a text');
    return null;
  }
  const name = type.replaceAll('_', '-');
  if (Object.hasOwn(GRADERS, name)) return name;
  here.mistake(here.at, () => {
    const known = Object.keys(GRADERS);
    const near = known.find((one) => distance(one, name) <= 3);
    const hint = near === undefined ? `known are ${known.join(', ')}` : `did you mean ${near}?`;
    return `is no known grader "${type}"; ${hint}`;
  });
  return null;
}

function assertionOf(value: unknown, place: Place, suite: Suite): Assertion | null {
  if (place.at.length > NESTING_MAX * 2) {
    place.mistake(place.at, 'is nested too deep');
    return null;
  }
  // A text is a criterion for a judging model.
  const given = typeof value === 'string' ? { type: 'llm-grader', criteria: value } : value;
  if (!isMap(given)) {
    place.mistake(place.at, 'must be a map with a type, or a text');
    return null;
  }
  const type = typeOf(given, place);
  if (type === null) return null;
  const kind = own(GRADERS, type) as (typeof GRADERS)[string];
  const {
    type: _,
    name,
    weight,
    required,
    min_score,
    negate,
    ...rest
  } = readMap(given, own(FIELDS_OF, type) as Fields, place) ?? {};
  const options = optionsOf(type, rest, place, suite);
  const wrong = kind.check?.(options);
  if (wrong) place.mistake(place.at, wrong);
  return {
    type,
    name: (name as string | undefined) ?? type,
    weight: (weight as number | undefined) ?? 1,
    required: required === true ? THRESHOLD : required ? (required as number) : null,
    min_score: (min_score as number | undefined) ?? THRESHOLD,
    negate: negate === true,
    options,
  };
}

/** Options with what the file gives for all, members read, and names of files made whole. */
function optionsOf(
  type: string,
  given: Record<string, unknown>,
  place: Place,
  suite: Suite,
): Record<string, unknown> {
  const { files, source } = suite;
  if (own(GRADERS, type)?.members) {
    const { assertions, ...rest } = given;
    if (Array.isArray(assertions) && assertions.length === 0)
      place.mistake([...place.at, 'assertions'], 'is empty: there is nothing to assert');
    return { ...rest, members: assertionsOf(assertions, inside(place, 'assertions'), suite) };
  }
  if (type === 'code-grader')
    return { ...given, cwd: files.folder(source.path, given.cwd as string | undefined) };
  if (type !== 'llm-grader' && type !== 'rubrics') return given;
  const { prompt } = given;
  const named = typeof prompt === 'string' && /^[^\n]+\.(md|txt)$/.test(prompt);
  const here = inside(place, 'prompt');
  return {
    ...suite.model,
    ...given,
    ...(named && { prompt: fileText(prompt as string, here, suite) }),
  };
}

export function assertionsOf(value: unknown, place: Place, suite: Suite): Assertion[] {
  if (value === undefined) return [];
  const list = listOf((item, here) => assertionOf(item, here, suite))(value, place);
  return (list as (Assertion | null)[]).filter((item) => item !== null);
}
