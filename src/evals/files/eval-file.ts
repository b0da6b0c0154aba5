/** Eval files: YAML in AgentV's form (EV-11). Every mistake is reported with file, line, column and field. */
import { LIMITS } from '../../lib/limits.ts';
import { isMap, own } from '../../lib/own.ts';
import { readJsonl } from '../../lib/schema/json.ts';
import { type Place, quoted, Report, type Source } from '../../lib/schema/mistakes.ts';
import * as is from '../../lib/schema/read.ts';
import { type Fields, type Read, readMap } from '../../lib/schema/read.ts';
import { utf8Bytes } from '../../lib/utf8.ts';
import { MODEL_FIELDS } from '../graders/registry.ts';
import { type EvalFile, type EvalTest, type Repeat, STRATEGIES, THRESHOLD } from '../types.ts';
import { ASSERTIONS, assertionsOf } from './read-assertion.ts';
import { filled, messagesOf } from './read-input.ts';
import type { Files, Known, Suite } from './suite.ts';
import { checkToolNames } from './tool-names.ts';

const ONCE: Repeat = { count: 1, strategy: 'pass_all' };
const STRATEGY_WORDS: Readonly<Record<string, Repeat['strategy']>> = { pass_at_k: 'pass_any' };

export const REPEAT = {
  count: is.required(is.whole(1)),
  strategy: is.oneOf([...STRATEGIES, ...Object.keys(STRATEGY_WORDS)]),
  early_exit: is.unused('has no effect'),
  cost_limit_usd: is.unused('has no effect'),
} satisfies Fields;
const repeat: Read<Repeat> = (value, place) => {
  if (!isMap(value)) return { ...ONCE, count: is.whole(1)(value, place) };
  const { strategy = ONCE.strategy, count } = is.mapOf(REPEAT)(value, place);
  return { count, strategy: own(STRATEGY_WORDS, strategy) ?? (strategy as Repeat['strategy']) };
};

const target: Read<string> = (value, place) => {
  const name = isMap(value) ? value.name : value;
  if (typeof name === 'string' && name !== '') return name;
  place.mistake('must be a string, or a map with name');
  return '';
};
const none = is.unused('has no effect: targets of tacho.yaml define where and how an agent runs');
const data = is.anything;

const alike = <N extends string, R>(read: R, ...names: N[]) =>
  Object.fromEntries(names.map((name) => [name, read])) as Record<N, R>;

export const WORKSPACE = {
  template: is.text,
  ...alike(none, 'path', 'isolation', 'repos', 'hooks', 'mode', 'docker'),
} satisfies Fields;
/** A folder, or a map that names one as its template. */
const workspace: Read<string | undefined> = (value, place) =>
  isMap(value) ? is.mapOf(WORKSPACE)(value, place).template : is.text(value, place);

export const EXECUTION = {
  target,
  skip_defaults: is.flag,
  threshold: is.ratio,
  ...alike(none, 'targets', 'workers', 'cache', 'budget_usd', 'fail_on_error', 'trials'),
} satisfies Fields;
export const RUN = {
  threshold: is.ratio,
  repeat,
  timeout_seconds: is.over0(),
  budget_usd: none,
} satisfies Fields;
const SHARED = {
  ...RUN,
  assertions: is.optional(is.anything, ...ASSERTIONS.slice(1)),
  target,
  execution: is.mapOf(EXECUTION),
  workspace,
  metadata: is.map,
  ...alike(data, 'input', 'tags', 'suite', 'description'),
  ...alike(none, 'input_files', 'preprocessors'),
} satisfies Fields;
const TESTS = ['tests', 'cases', 'eval_cases', 'evalcases'];
export const FILE = {
  ...SHARED,
  ...alike(data, 'name', 'version', 'author', 'license', 'requires', 'category'),
  tests: is.required(is.anything, ...TESTS.slice(1)),
  grader: is.mapOf(MODEL_FIELDS),
  tools: is.texts,
  prompts: is.when(
    (value) => typeof value === 'string',
    (value) => [value],
    is.listOf(is.anything),
  ),
  experiment: (value: unknown) => (isMap(value) ? value : {}),
} satisfies Fields;
export const TEST = {
  ...SHARED,
  id: is.required(is.written(is.text)),
  criteria: is.optional(is.text, 'expected_outcome'),
  expected_output: data,
  run: is.mapOf(RUN),
  vars: is.map,
  ...alike(none, 'conversation_id', 'depends_on', 'on_dependency_failure'),
} satisfies Fields;

/** The spelling in the file, for its position. */
const spelt = (value: unknown, names: readonly string[]) =>
  names.find((name) => isMap(value) && Object.hasOwn(value, name)) ?? (names[0] as string);

const inMs = (seconds: number | undefined) =>
  seconds === undefined ? null : Math.round(seconds * 1000);

const folderOf = (name: string | undefined, { files, source }: Suite) =>
  name === undefined ? null : files.folder(source.path, name);

function testOf(value: unknown, place: Place, suite: Suite): EvalTest | null {
  const found = readMap(value, TEST, place);
  if (found === null) return null;
  const { execution, run, vars = {} } = found;
  const alone = execution?.skip_defaults === true;
  const here = place.inside(spelt(value, ASSERTIONS));
  const own = assertionsOf(found.assertions, here, suite);
  const assertions = [...own, ...(alone ? [] : suite.assertions)];
  if (assertions.length === 0 && found.assertions === undefined)
    place.mistake('asserts nothing: add assertions, such as {type: llm-grader}');
  else if (assertions.length === 0 && (found.assertions as unknown[]).length === 0)
    here.mistake('asserts nothing: the list is empty');
  const given = found.input ?? suite.prompt ?? vars.input;
  const input = messagesOf(given, place.inside('input'), suite);
  return {
    id: found.id ?? '',
    line: suite.source.positionOf(place.at).line,
    input: filled([...(alone ? [] : suite.input), ...input], vars),
    criteria: found.criteria ?? null,
    expected_output: found.expected_output ?? null,
    metadata: found.metadata ?? {},
    assertions,
    threshold: found.threshold ?? run?.threshold ?? execution?.threshold ?? suite.threshold,
    repeat: found.repeat ?? run?.repeat ?? suite.repeat,
    target: found.target ?? execution?.target ?? suite.target,
    timeout_ms: inMs(found.timeout_seconds ?? run?.timeout_seconds) ?? suite.timeout_ms,
    workspace: folderOf(found.workspace, suite) ?? suite.workspace,
  };
}

function testsOf(value: unknown, place: Place, suite: Suite): EvalTest[] {
  if (!Array.isArray(value)) {
    place.mistake('must be a list of tests, or the name of a file with one');
    return [];
  }
  if (value.length === 0) place.mistake('is empty: there is nothing to test');
  const ids = new Set<string>();
  return value.flatMap((item: unknown, i) => {
    const here = place.inside(i);
    const test = testOf(item, here, suite);
    if (test === null) return [];
    if (ids.has(test.id)) here.inside('id').mistake(() => `${quoted(test.id)} is already used`);
    ids.add(test.id);
    return [test];
  });
}

/** Reads YAML, or JSON lines for a file of cases. */
async function sourceOf(path: string, words: string, jsonl: boolean): Promise<Source> {
  if (jsonl) return readJsonl(path, words);
  const { readYaml } = await import('../../lib/schema/yaml.ts');
  const most = LIMITS.eval_yaml_bytes_max;
  if (utf8Bytes(words) <= most) return readYaml(path, words, { merge: true });
  const message = `is larger than ${most} bytes: put the tests into a .jsonl file`;
  const start = { line: 1, col: 1 };
  return { path, value: undefined, faults: [{ ...start, message }], positionOf: () => start };
}

/** The tests of the file, or of the file of cases that it names. */
async function allTests(given: unknown, place: Place, suite: Suite): Promise<EvalTest[]> {
  if (typeof given !== 'string') return testsOf(given, place, suite);
  const found = suite.files.open(suite.source.path, given);
  if (found === null) {
    place.mistake(`names a file that cannot be read: ${given}`);
    return [];
  }
  const source = await sourceOf(found.path, found.text, found.path.endsWith('.jsonl'));
  return testsOf(source.value, suite.report.open(source), { ...suite, source });
}

/** Contract: throws a TachoError with every mistake in the file. */
export async function parseEvalFile(
  path: string,
  words: string,
  files: Files,
  known: Known,
): Promise<EvalFile> {
  const source = await sourceOf(path, words, false);
  const report = new Report('eval', { loose: true });
  const place = report.open(source);
  const found = is.mapOf(FILE)(source.value, place);
  const { execution, experiment } = found;
  const suite: Suite = {
    source,
    files,
    report,
    threshold: found.threshold ?? execution?.threshold ?? THRESHOLD,
    repeat: found.repeat ?? ONCE,
    target: found.target ?? execution?.target ?? (experiment?.target as string | undefined) ?? null,
    timeout_ms: inMs(found.timeout_seconds),
    workspace: null,
    input: [],
    prompt: found.prompts?.[0],
    assertions: [],
    model: { ...known.model, ...found.grader },
    named_tools: [],
  };
  const whole_file: Suite = {
    ...suite,
    workspace: folderOf(found.workspace, suite),
    input: messagesOf(found.input, place.inside('input'), suite),
    assertions: assertionsOf(
      found.assertions,
      place.inside(spelt(source.value, ASSERTIONS)),
      suite,
    ),
  };
  const tests_at = place.inside(spelt(source.value, TESTS));
  const tests = found.tests === undefined ? [] : await allTests(found.tests, tests_at, whole_file);
  if (known.toolNames !== undefined)
    await checkToolNames(suite.named_tools, found.tools ?? [], known.toolNames);
  report.end();
  const name = typeof found.name === 'string' ? found.name : (path.split('/').at(-1) ?? path);
  return { path, name, tests, notes: report.notes.all() };
}
