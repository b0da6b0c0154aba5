/** Eval files: YAML in AgentV's form (EV-11). Every mistake is told with file, line, column and field. */
import {
  anything,
  distance,
  type Fields,
  figure,
  flag,
  inside,
  isMap,
  listOf,
  map,
  mapOf,
  oneOf,
  type Place,
  type Read,
  ratio,
  readMap,
  scalar,
  seconds,
  text,
  unused,
  whole,
} from './fields.ts';
import { GRADERS, MODEL_FIELDS } from './registry.ts';
import { createReport, type Report, readJsonl, readYaml, type Source } from './source.ts';
import {
  type Assertion,
  type EvalFile,
  type EvalTest,
  type Message,
  type Repeat,
  STRATEGIES,
  THRESHOLD,
} from './types.ts';

/** Files that an eval file names. */
export interface Files {
  /** The text of `name` as seen from the file `from`; null when there is no such file. */
  open(from: string, name: string): { path: string; text: string } | null;
  /** The folder of `from`, or one below. */
  folder(from: string, name: string | undefined): string;
}

/** What holds for a whole file. */
interface Suite {
  source: Source;
  files: Files;
  report: Report;
  threshold: number;
  repeat: Repeat;
  target: string | null;
  timeout_ms: number | null;
  input: readonly Message[];
  assertions: readonly Assertion[];
  model: Readonly<Record<string, unknown>>;
}

const ONCE: Repeat = { count: 1, strategy: 'pass_all' };
const NESTING_MAX = 8;
const STRATEGY_WORDS: Readonly<Record<string, Repeat['strategy']>> = { pass_at_k: 'pass_any' };

const repeat: Read = (value, place) => {
  if (!isMap(value)) return { ...ONCE, count: whole(value, place) };
  const found = readMap(value, REPEAT, place) ?? {};
  const { strategy = 'pass_all', count = 1 } = found as { strategy?: string; count?: number };
  return { count, strategy: STRATEGY_WORDS[strategy] ?? strategy };
};
const REPEAT: Fields = {
  count: { read: whole, required: true },
  strategy: { read: oneOf([...STRATEGIES, ...Object.keys(STRATEGY_WORDS)]) },
  early_exit: { read: unused('has no effect') },
  cost_limit_usd: { read: unused('has no effect') },
};

const target: Read = (value, place) => {
  if (!isMap(value)) return text(value, place);
  if (typeof value.name !== 'string') place.mistake(place.at, 'must be a text, or a map with name');
  return value.name;
};
const NONE = 'has no effect: targets of tacho.yaml say where and how an agent runs';
const none = { read: unused(NONE) };
const data = { read: anything };

const EXECUTION: Fields = {
  target: { read: target },
  targets: none,
  skip_defaults: { read: flag },
  threshold: { read: ratio },
  workers: none,
  cache: none,
  budget_usd: none,
  fail_on_error: none,
  trials: none,
};
const RUN: Fields = {
  threshold: { read: ratio },
  repeat: { read: repeat },
  timeout_seconds: { read: seconds },
  budget_usd: none,
};
const SHARED: Fields = {
  input: data,
  assertions: { ...data, also: ['assert', 'evaluators', 'graders'] },
  threshold: { read: ratio },
  repeat: { read: repeat },
  timeout_seconds: { read: seconds },
  target: { read: target },
  execution: { read: mapOf(EXECUTION) },
  input_files: none,
  workspace: none,
  metadata: { read: map },
  tags: data,
  suite: data,
  preprocessors: none,
  budget_usd: none,
};
const FILE: Fields = {
  ...SHARED,
  name: data,
  description: data,
  version: data,
  author: data,
  license: data,
  requires: data,
  category: data,
  tests: { ...data, required: true, also: ['cases', 'eval_cases', 'evalcases'] },
  grader: { read: mapOf(MODEL_FIELDS) },
  experiment: { read: (value) => (isMap(value) ? value : {}) },
};
const TEST: Fields = {
  ...SHARED,
  id: { read: scalar, required: true },
  description: data,
  criteria: { read: text, also: ['expected_outcome'] },
  expected_output: data,
  run: { read: mapOf(RUN) },
  vars: none,
  conversation_id: none,
  depends_on: none,
  on_dependency_failure: none,
};

const contentOf = (value: unknown, place: Place, suite: Suite): string => {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return JSON.stringify(value, null, 2) ?? '';
  const parts = value.map((part: unknown, i) => {
    const here = inside(place, i);
    if (typeof part === 'string') return part;
    const { type, value: content, text: words } = isMap(part) ? part : {};
    if (type === 'file' && typeof content === 'string') return fileText(content, here, suite);
    if (type === 'text' && typeof (content ?? words) === 'string') return String(content ?? words);
    here.mistake(here.at, 'must be a text, or a map with type text or file, and value');
    return '';
  });
  return parts.join('\n');
};

function fileText(name: string, place: Place, { files, source }: Suite): string {
  const found = files.open(source.path, name);
  if (found === null) place.mistake(place.at, `names a file that cannot be read: ${name}`);
  return found?.text ?? '';
}

/** A text, a message, a list of messages, or anything else as JSON. */
function messagesOf(value: unknown, place: Place, suite: Suite): Message[] {
  if (value === undefined) return [];
  if (typeof value === 'string') return [{ role: 'user', content: value }];
  const list = Array.isArray(value) ? value : [value];
  return list.map((item: unknown, i) => {
    const here = Array.isArray(value) ? inside(place, i) : place;
    if (typeof item === 'string') return { role: 'user', content: item };
    if (!isMap(item) || item.role === undefined)
      return { role: 'user', content: contentOf(item, here, suite) };
    return {
      role: String(item.role),
      content: contentOf(item.content, inside(here, 'content'), suite),
    };
  });
}

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
  assertions: { ...data, required: true, also: ['assert', 'graders', 'evaluators'] },
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
  const known = Object.keys(GRADERS);
  const near = known.find((one) => distance(one, name) <= 3);
  const hint = near === undefined ? `known are ${known.join(', ')}` : `did you mean ${near}?`;
  here.mistake(here.at, `is no known grader "${type}"; ${hint}`);
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
  const kind = GRADERS[type] as (typeof GRADERS)[string];
  const {
    type: _,
    name,
    weight,
    required,
    min_score,
    negate,
    ...rest
  } = readMap(given, FIELDS_OF[type] as Fields, place) ?? {};
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
  if (GRADERS[type]?.members) {
    const { assertions, ...rest } = given;
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

function assertionsOf(value: unknown, place: Place, suite: Suite): Assertion[] {
  if (value === undefined) return [];
  const list = listOf((item, here) => assertionOf(item, here, suite))(value, place);
  return (list as (Assertion | null)[]).filter((item) => item !== null);
}

/** As it is spelt in the file, for its place. */
const spelt = (value: unknown, names: readonly string[]) =>
  names.find((name) => isMap(value) && Object.hasOwn(value, name)) ?? (names[0] as string);
const ASSERTIONS = ['assertions', 'assert', 'evaluators', 'graders'];
const TESTS = ['tests', 'cases', 'eval_cases', 'evalcases'];

type Found = Record<string, unknown>;
const first = <T>(...values: unknown[]): T | undefined =>
  values.find((value) => value !== undefined && value !== null) as T | undefined;

function testOf(value: unknown, place: Place, suite: Suite): EvalTest | null {
  const found = readMap(value, TEST, place);
  if (found === null) return null;
  const execution = (found.execution ?? {}) as Found;
  const run = (found.run ?? {}) as Found;
  const alone = execution.skip_defaults === true;
  const own = assertionsOf(found.assertions, inside(place, spelt(value, ASSERTIONS)), suite);
  const assertions = [...own, ...(alone ? [] : suite.assertions)];
  if (assertions.length === 0 && found.assertions === undefined)
    place.mistake(place.at, 'asserts nothing: add assertions, such as {type: llm-grader}');
  else if (assertions.length === 0 && (found.assertions as unknown[]).length === 0)
    place.mistake(inside(place, spelt(value, ASSERTIONS)).at, 'asserts nothing: the list is empty');
  const timeout = first<number>(found.timeout_seconds, run.timeout_seconds);
  const input = messagesOf(found.input, inside(place, 'input'), suite);
  return {
    id: String(found.id ?? ''),
    line: suite.source.placeOf(place.at).line,
    input: [...(alone ? [] : suite.input), ...input],
    criteria: first<string>(found.criteria) ?? null,
    expected_output: found.expected_output ?? null,
    metadata: (found.metadata as Found | undefined) ?? {},
    assertions,
    threshold:
      first<number>(found.threshold, run.threshold, execution.threshold) ?? suite.threshold,
    repeat: first<Repeat>(found.repeat, run.repeat) ?? suite.repeat,
    target: first<string>(found.target, execution.target) ?? suite.target,
    timeout_ms: timeout === undefined ? suite.timeout_ms : Math.round(timeout * 1000),
  };
}

function testsOf(value: unknown, place: Place, suite: Suite): EvalTest[] {
  if (!Array.isArray(value)) {
    place.mistake(place.at, 'must be a list of tests, or the name of a file with one');
    return [];
  }
  if (value.length === 0) place.mistake(place.at, 'is empty: there is nothing to test');
  const ids = new Set<string>();
  return value.flatMap((item: unknown, i) => {
    const here = inside(place, i);
    const test = testOf(item, here, suite);
    if (test === null) return [];
    if (ids.has(test.id)) here.mistake([...here.at, 'id'], `"${test.id}" is there already`);
    ids.add(test.id);
    return [test];
  });
}

/** The tests of the file itself, or of the file of cases that it names. */
async function allTests(given: unknown, place: Place, suite: Suite): Promise<EvalTest[]> {
  if (typeof given !== 'string') return testsOf(given, place, suite);
  const found = suite.files.open(suite.source.path, given);
  if (found === null) {
    place.mistake(place.at, `names a file that cannot be read: ${given}`);
    return [];
  }
  const { path, text: words } = found;
  const source = path.endsWith('.jsonl') ? readJsonl(path, words) : await readYaml(path, words);
  return testsOf(source.value, suite.report.place(source), { ...suite, source });
}

/** `model`: the judging model where the file names none. Contract: throws a TachoError with every mistake in the file. */
export async function parseEvalFile(
  path: string,
  words: string,
  files: Files,
  model: Suite['model'],
): Promise<EvalFile> {
  const source = await readYaml(path, words);
  const report = createReport();
  const place = report.place(source);
  const found = readMap(source.value, FILE, place) ?? {};
  const execution = (found.execution ?? {}) as Found;
  const experiment = (found.experiment ?? {}) as Found;
  const suite: Suite = {
    source,
    files,
    report,
    threshold: first<number>(found.threshold, execution.threshold) ?? THRESHOLD,
    repeat: first<Repeat>(found.repeat) ?? ONCE,
    target: first<string>(found.target, execution.target, experiment.target) ?? null,
    timeout_ms:
      found.timeout_seconds === undefined ? null : Math.round(Number(found.timeout_seconds) * 1000),
    input: [],
    assertions: [],
    model: { ...model, ...(found.grader as Found | undefined) },
  };
  const whole_file: Suite = {
    ...suite,
    input: messagesOf(found.input, inside(place, 'input'), suite),
    assertions: assertionsOf(
      found.assertions,
      inside(place, spelt(source.value, ASSERTIONS)),
      suite,
    ),
  };
  const tests_at = inside(place, spelt(source.value, TESTS));
  const tests = found.tests === undefined ? [] : await allTests(found.tests, tests_at, whole_file);
  report.end();
  const name = typeof found.name === 'string' ? found.name : (path.split('/').at(-1) ?? path);
  return { path, name, tests, notes: report.notes };
}
