/** Reads the assertions of an eval file: each has a known type and the fields of that type. */
import { isMap, own } from '../../lib/own.ts';
import type { Place } from '../../lib/schema/mistakes.ts';
import * as is from '../../lib/schema/read.ts';
import { type Fields, readMap, unknownWord } from '../../lib/schema/read.ts';
import { GRADERS, type GraderKind } from '../graders/registry.ts';
import { type Assertion, THRESHOLD } from '../types.ts';
import { fileText } from './read-input.ts';
import type { Suite } from './suite.ts';

/** The name of the list and its other spellings. */
export const ASSERTIONS = ['assertions', 'assert', 'evaluators', 'graders'];
const NESTING_MAX = 8;

export const COMMON = {
  type: is.required(is.anything),
  name: is.written(is.text),
  weight: is.figure(0),
  required: is.when((value) => typeof value === 'boolean', is.flag, is.ratio),
  min_score: is.ratio,
  negate: is.flag,
} satisfies Fields;
export const MEMBERS = { assertions: is.required(is.anything, ...ASSERTIONS.slice(1)) };

const FIELDS_OF: Readonly<Record<string, typeof COMMON>> = Object.fromEntries(
  Object.entries(GRADERS).map(([type, { members, fields }]) => [
    type,
    { ...COMMON, ...(members && MEMBERS), ...fields },
  ]),
);

function typeOf(value: Record<string, unknown>, place: Place): string | null {
  const { type } = value;
  const here = place.inside('type');
  if (type === undefined) place.mistake('lacks the field type');
  else if (typeof type !== 'string') here.mistake('must be a string');
  if (typeof type !== 'string') return null;
  const name = type.replaceAll('_', '-');
  if (Object.hasOwn(GRADERS, name)) return name;
  here.mistake(() => unknownWord('assertion type', type, Object.keys(GRADERS), 3), ': ');
  return null;
}

function assertionOf(value: unknown, place: Place, suite: Suite): Assertion | null {
  if (place.at.length > NESTING_MAX * 2) {
    place.mistake('is nested too deep');
    return null;
  }
  // A text is a criterion for a judging model.
  const given = typeof value === 'string' ? { type: 'llm-grader', criteria: value } : value;
  if (!isMap(given)) {
    place.mistake('must be a map with a type, or a string');
    return null;
  }
  const type = typeOf(given, place);
  if (type === null) return null;
  const found = readMap(given, own(FIELDS_OF, type) as typeof COMMON, place);
  const { type: _, name, weight, required, min_score, negate, ...rest } = found ?? {};
  const options = optionsOf(type, rest, place, suite);
  const { check, tools } = own(GRADERS, type) as GraderKind;
  const wrong = check?.(options);
  if (wrong) place.mistake(wrong);
  for (const { name, at } of tools?.(options) ?? [])
    suite.named_tools.push({
      name,
      place: at.reduce((here: Place, key) => here.inside(key), place),
    });
  return {
    type,
    name: name ?? type,
    weight: weight ?? 1,
    required: required === true ? THRESHOLD : required || null,
    min_score: min_score ?? THRESHOLD,
    negate: negate === true,
    options,
  };
}

/** Options with the defaults of the file, members read, and file names resolved. */
function optionsOf(type: string, given: Record<string, unknown>, place: Place, suite: Suite) {
  const { files, source } = suite;
  if (own(GRADERS, type)?.members) {
    const { assertions, ...rest } = given;
    if (Array.isArray(assertions) && assertions.length === 0)
      place.inside('assertions').mistake('is empty: there is nothing to assert');
    return { ...rest, members: assertionsOf(assertions, place.inside('assertions'), suite) };
  }
  if (type === 'code-grader')
    return { ...given, cwd: files.folder(source.path, given.cwd as string | undefined) };
  if (type !== 'llm-grader' && type !== 'rubrics') return given;
  const { prompt } = given;
  const named = typeof prompt === 'string' && /^[^\n]+\.(md|txt)$/.test(prompt);
  return {
    ...suite.model,
    ...given,
    ...(named && { prompt: fileText(prompt, place.inside('prompt'), suite) }),
  };
}

export function assertionsOf(value: unknown, place: Place, suite: Suite): Assertion[] {
  if (value === undefined) return [];
  const list = is.listOf((item, here) => assertionOf(item, here, suite))(value, place);
  return list.filter((item) => item !== null);
}
