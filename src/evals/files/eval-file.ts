/** Eval files: YAML in AgentV's form (EV-11). Every mistake is told with file, line, column and field. */
import { own } from '../../lib/own.ts';
import { MODEL_FIELDS } from '../graders/registry.ts';
import { type EvalFile, type EvalTest, type Repeat, STRATEGIES, THRESHOLD } from '../types.ts';
import {
  anything,
  type Fields,
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
import { ASSERTIONS, assertionsOf } from './read-assertion.ts';
import { filled, messagesOf } from './read-input.ts';
import { createReport, readJsonl, readYaml } from './source.ts';
import type { Files, Suite } from './suite.ts';

const ONCE: Repeat = { count: 1, strategy: 'pass_all' };
const STRATEGY_WORDS: Readonly<Record<string, Repeat['strategy']>> = { pass_at_k: 'pass_any' };

const repeat: Read = (value, place) => {
  if (!isMap(value)) return { ...ONCE, count: whole(value, place) };
  const found = readMap(value, REPEAT, place) ?? {};
  const { strategy = 'pass_all', count = 1 } = found as { strategy?: string; count?: number };
  return { count, strategy: own(STRATEGY_WORDS, strategy) ?? strategy };
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

/** A folder, or a map that names one as its template. */
const workspace: Read = (value, place) =>
  isMap(value) ? (readMap(value, WORKSPACE, place)?.template ?? null) : text(value, place);
const WORKSPACE: Fields = {
  template: { read: text },
  path: none,
  isolation: none,
  repos: none,
  hooks: none,
  mode: none,
  docker: none,
};

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
  assertions: { ...data, also: ASSERTIONS.slice(1) },
  threshold: { read: ratio },
  repeat: { read: repeat },
  timeout_seconds: { read: seconds },
  target: { read: target },
  execution: { read: mapOf(EXECUTION) },
  input_files: none,
  workspace: { read: workspace },
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
  prompts: {
    read: (value, place) => (typeof value === 'string' ? [value] : listOf(anything)(value, place)),
  },
  experiment: { read: (value) => (isMap(value) ? value : {}) },
};
const TEST: Fields = {
  ...SHARED,
  id: { read: scalar, required: true },
  description: data,
  criteria: { read: text, also: ['expected_outcome'] },
  expected_output: data,
  run: { read: mapOf(RUN) },
  vars: { read: map },
  conversation_id: none,
  depends_on: none,
  on_dependency_failure: none,
};

/** As it is spelt in the file, for its place. */
const spelt = (value: unknown, names: readonly string[]) =>
  names.find((name) => isMap(value) && Object.hasOwn(value, name)) ?? (names[0] as string);
const TESTS = ['tests', 'cases', 'eval_cases', 'evalcases'];

type Found = Record<string, unknown>;
const first = <T>(...values: unknown[]): T | undefined =>
  values.find((value) => value !== undefined && value !== null) as T | undefined;

const folderOf = (name: unknown, { files, source }: Suite) =>
  files.folder(source.path, name as string);

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
  const vars = (found.vars ?? {}) as Found;
  const given = found.input ?? suite.prompt ?? vars.input;
  const input = messagesOf(given, inside(place, 'input'), suite);
  return {
    id: String(found.id ?? ''),
    line: suite.source.placeOf(place.at).line,
    input: filled([...(alone ? [] : suite.input), ...input], vars),
    criteria: first<string>(found.criteria) ?? null,
    expected_output: found.expected_output ?? null,
    metadata: (found.metadata as Found | undefined) ?? {},
    assertions,
    threshold:
      first<number>(found.threshold, run.threshold, execution.threshold) ?? suite.threshold,
    repeat: first<Repeat>(found.repeat, run.repeat) ?? suite.repeat,
    target: first<string>(found.target, execution.target) ?? suite.target,
    timeout_ms: timeout === undefined ? suite.timeout_ms : Math.round(timeout * 1000),
    workspace: found.workspace == null ? suite.workspace : folderOf(found.workspace, suite),
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
    workspace: null,
    input: [],
    prompt: (found.prompts as unknown[] | undefined)?.[0],
    assertions: [],
    model: { ...model, ...(found.grader as Found | undefined) },
  };
  const whole_file: Suite = {
    ...suite,
    workspace: found.workspace == null ? null : folderOf(found.workspace, suite),
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
